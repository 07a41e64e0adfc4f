/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* The lines of the virtual bench: the first ping, the second reply. */
#ifndef RACQUET_H
#define RACQUET_H

#include "slothful.h"

enum { PING = 1, REPLY = 2, TASKS_GPIO = PING | REPLY };
#define GPIO(at) REGISTER(GPIO_AT + (at))
#define GPIO_LINES(lines) GPIO((uint32_t)(lines) << 2) /* the address masks the others */

void gpio_forward(uint32_t lines);

#endif
