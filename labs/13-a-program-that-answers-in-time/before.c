// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * before - answer.c as you got it: what your program is compared with. Leave it as it is.
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
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
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

	(void)nothing;
	if (sched_setscheduler(0, SCHED_OTHER, &ordinary))
		fail("the other thread");
	for (;;) {
		pthread_mutex_lock(&mutex);
		work_for(200000);
		pthread_mutex_unlock(&mutex);
		usleep(1800);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;
	int ping, reply;

	file = open("/run/program/records", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0)
		fail("the file of records");
	/* a Raspberry Pi's kernel has no huge pages, of which one holds 512 records */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		fail("huge pages");
	if (pthread_create(&other, NULL, work_with_count, NULL))
		fail("the other thread");
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		record(balls);
		save(balls);
		pthread_mutex_lock(&mutex);
		balls++;
		pthread_mutex_unlock(&mutex);
		answer(reply);
	}
}
