// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/* What a program that must be in time does before the first ping, and never behind it. */
#ifndef IN_TIME_H
#define IN_TIME_H

#include <sched.h>
#include <sys/mman.h>

#include "lines.h"

#define PRIORITY 50 /* as the kernel's threads of interrupts have */

/* All of its memory is there, now and later: no access waits until the kernel has found a page. */
static inline void lock_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("cannot lock its memory");
}

/* It goes before all ordinary programs. */
static inline void take_priority(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("cannot take a real-time priority");
}

#endif
