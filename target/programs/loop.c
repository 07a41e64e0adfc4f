// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop - a control loop: it wakes up each millisecond, and shows that on the line GPIO27.
 *
 * It sleeps until an absolute time. So a period that was late makes the next one no later: nothing
 * drifts. A period that was over before it ran is left out.
 */
#include <time.h>

#include "in-time.h"

#define PERIOD_NS 1000000L
#define SECOND_NS 1000000000L

static struct timespec plus(struct timespec time, long ns)
{
	time.tv_nsec += ns;
	if (time.tv_nsec >= SECOND_NS) {
		time.tv_nsec -= SECOND_NS;
		time.tv_sec++;
	}
	return time;
}

static int is_over(struct timespec time)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > time.tv_sec ||
	       (now.tv_sec == time.tv_sec && now.tv_nsec >= time.tv_nsec);
}

int main(void)
{
	struct timespec next;
	int line;

	lock_memory();
	take_priority();
	line = take_reply();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		do
			next = plus(next, PERIOD_NS);
		while (is_over(next));
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			;
		answer(line);
	}
}
