// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * answer - answers each ping. It also keeps a record of each, writes the record into a file, and
 * counts them for another thread, which works with the count.
 *
 * On a desk it answers in time, nearly always. Under load it does not. All of its work is wanted,
 * but four things that somebody did, or forgot, make its answers late.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "lines.h"

#define RECORD 4096 /* bytes: as long as one with a picture or a sample */
#define RECORDS 4096 /* then it begins again */

static char records[RECORDS][RECORD];
/* [mistake] */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* [/mistake] */
static unsigned long balls; /* so many pings came */
static int file;

/* Make the record of a ball. */
static void record(unsigned long ball)
{
	memset(records[ball % RECORDS], (int)ball, RECORD);
}

/* Write the record of a ball into the file. */
static void save(unsigned long ball)
{
	if (write(file, records[ball % RECORDS], RECORD) != RECORD)
		fail("the file of records");
}

/* Work for some time, as a filter or a picture would. */
static void work_for(long ns)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < ns);
}

/* The other thread, an ordinary one: 500 times a second it works with the count for 0.2 ms. */
static void *work_with_count(void *nothing)
{
	struct sched_param ordinary = { 0 };
	/* [solution] */
	unsigned long saved = 0;
	/* [/solution] */

	(void)nothing;
	if (sched_setscheduler(0, SCHED_OTHER, &ordinary))
		fail("the other thread");
	for (;;) {
		/* [solution] */
		unsigned long count = __atomic_load_n(&balls, __ATOMIC_ACQUIRE);

		for (; saved < count; saved++)
			save(saved);
		/* [/solution] */
		/* [mistake] */
		pthread_mutex_lock(&mutex);
		/* [/mistake] */
		work_for(200000);
		/* [mistake] */
		pthread_mutex_unlock(&mutex);
		/* [/mistake] */
		usleep(1800);
	}
	return NULL;
}

int main(void)
{
	/* [solution] */
	struct sched_param first = { .sched_priority = 50 };
	/* [/solution] */
	pthread_t other;
	int ping, reply;

	file = open("/run/program/records", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		fail("the file of records");
	/* a Raspberry Pi's kernel has no huge pages, of which one holds 512 records */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		fail("huge pages");
	/* [solution] */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("cannot lock its memory");
	/* [/solution] */
	if (pthread_create(&other, NULL, work_with_count, NULL))
		fail("the other thread");
	/* [solution] */
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		fail("cannot take a real-time priority");
	/* [/solution] */
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		/* [solution] */
		answer(reply);
		/* [/solution] */
		record(balls);
		/* [mistake] */
		save(balls);
		pthread_mutex_lock(&mutex);
		balls++;
		pthread_mutex_unlock(&mutex);
		answer(reply);
		/* [/mistake] */
		/* [solution] */
		/* behind the record: the other thread saves what is counted */
		__atomic_store_n(&balls, balls + 1, __ATOMIC_RELEASE);
		/* [/solution] */
	}
}
