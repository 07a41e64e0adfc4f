/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where pings were taken and answered: see places.c. */
#ifndef TENNIS_PLACES_H
#define TENNIS_PLACES_H

#include <stddef.h>
#include <stdint.h>

/* of one processor, as wire.py's PLACE has it */
struct __attribute__((packed)) place {
	uint32_t pings, replies, busy;
};

void places_served(void); /* a ping is about to rise */
void places_rose(void); /* its reply does */
void places_fell(void); /* its reply does, and completes the ball */
/* The processors, the first one first; of one alone there is nothing to tell. */
const struct place *places_told(size_t *size);

#endif
