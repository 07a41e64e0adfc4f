// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad-mutex - its mistake: a mutex without priority inheritance. A thread of no priority holds it
 * for 0.2 ms every 2 ms, and nobody lends it a priority while the answer waits for it: any other
 * program goes first.
 */
#include <pthread.h>
#include <time.h>

#include "in-time.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* PTHREAD_PRIO_NONE */
static unsigned long counted;

static void *count_slowly(void *nothing)
{
	struct sched_param ordinary = { 0 };

	(void)nothing;
	if (sched_setscheduler(0, SCHED_OTHER, &ordinary))
		fail("the slow thread");
	for (;;) {
		struct timespec now, until;

		pthread_mutex_lock(&mutex);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 200000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		do {
			counted++;
			clock_gettime(CLOCK_MONOTONIC, &now);
		} while (now.tv_sec < until.tv_sec ||
			 (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
		pthread_mutex_unlock(&mutex);
		usleep(1800);
	}
	return NULL;
}

int main(void)
{
	pthread_t slow;
	int ping, reply;

	lock_memory();
	if (pthread_create(&slow, NULL, count_slowly, NULL))
		fail("the slow thread");
	take_priority();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		pthread_mutex_lock(&mutex);
		counted = 0;
		answer(reply);
		pthread_mutex_unlock(&mutex);
	}
}
