/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual time while the guest sleeps: see idle.c. */
#ifndef TENNIS_IDLE_H
#define TENNIS_IDLE_H

void idle_watch(void *block); /* of each block that QEMU translates */

#endif
