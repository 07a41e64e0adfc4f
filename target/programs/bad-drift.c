// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad-drift - loop.c with one mistake: it sleeps for a millisecond, and not until one is over. What
 * its work takes, and how late it wakes, are added to each period.
 */
#include <time.h>

#include "in-time.h"

int main(void)
{
	struct timespec period = { .tv_nsec = 1000000 };
	int line;

	lock_memory();
	take_priority();
	line = take_reply();
	for (;;) {
		nanosleep(&period, NULL);
		answer(line);
	}
}
