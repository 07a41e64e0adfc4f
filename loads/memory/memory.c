// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memory - a SCHED_FIFO thread with a period of 1 us that does a lot of work in memory: the load of
 * J. Arm, Z. Bradac, V. Kaczmarczyk, "Real-time capabilities of Linux RTAI" (2016), section 4.
 *
 *   memory [-p PRIORITY] [-t PERIOD_US] [-k SIZE-KB] [-s SHARE-PERCENT] [-r REPORT-FILE]
 *
 * Nobody can copy memory and be ready again within 1 us, there or here: the thread is always late,
 * so it runs whenever nothing of a higher priority does. All of the CPU would starve the kernel's
 * own threads (the timers' on PREEMPT_RT, at SCHED_FIFO 1) and with them every shell and timeout
 * of the target. Linux' RT throttling takes 50 ms out of each second from such a thread, in one
 * piece, and from all others of its kind with it; this one takes its rest before: out of each 10 ms
 * it runs SHARE percent.
 *
 * It ends on SIGINT, SIGTERM and SIGHUP (exit code 0). The report (report.h) counts activations
 * and bytes copied.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../report.h"

#define SLICE_NS 10000000LL

static int64_t priority = 10, period_us = 1, size_kb = 256, share_percent = 95;
static atomic_bool ending;
static atomic_ullong activations, bytes;

static void sleep_until(int64_t when)
{
	struct timespec then = to_timespec(when);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
}

static void *work(void *memory)
{
	size_t half = size_kb * 512;
	char *from = memory, *to = from + half;
	int64_t slice = monotonic_ns(), next = slice, now;

	while (!ending) {
		memcpy(to, from, half);
		memset(from, (int)activations, half);
		activations++;
		bytes += 2 * half;
		next += period_us * 1000;
		now = monotonic_ns();
		if (now < next) {
			sleep_until(next);
		} else {
			next = now; /* late: releases that are over do not come again */
		}
		if (now - slice >= SLICE_NS / 100 * share_percent) {
			slice += SLICE_NS;
			if (slice < now) /* others ran for so long: no rest is due */
				slice = now;
			else
				sleep_until(slice);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sched_param parameters;
	pthread_attr_t attributes;
	const char *path = NULL;
	int option, error, file = -1;
	sigset_t signals;
	pthread_t thread;
	void *memory;

	while ((option = getopt(argc, argv, "p:t:k:s:r:")) != -1) {
		if (option == 'p')
			priority = number("memory", "-p", optarg, 1, 99);
		else if (option == 't')
			period_us = number("memory", "-t", optarg, 1, 1000000);
		else if (option == 'k')
			size_kb = number("memory", "-k", optarg, 1, 65536);
		else if (option == 's')
			share_percent = number("memory", "-s", optarg, 1, 99);
		else if (option == 'r')
			path = optarg;
		else
			return 2;
	}
	memory = malloc(size_kb * 1024);
	if (!memory || mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("memory: cannot have and lock its memory");
		return 1;
	}
	memset(memory, 1, size_kb * 1024);
	if (path) {
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (file < 0) {
			fprintf(stderr, "memory: %s: %s\n", path, strerror(errno));
			return 1;
		}
	}
	signals = block_ending_signals();
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	parameters.sched_priority = priority;
	pthread_attr_setschedparam(&attributes, &parameters);
	error = pthread_create(&thread, &attributes, work, memory);
	if (error) {
		fprintf(stderr, "memory: cannot create its thread: %s\n", strerror(error));
		return 1;
	}
	while (!told_to_end(&signals)) {
		if (file >= 0 && !report(file, activations, bytes)) {
			error = errno;
			fprintf(stderr, "memory: cannot write its report: %s\n", strerror(error));
			break;
		}
	}
	ending = true;
	pthread_join(thread, NULL);
	if (path)
		unlink(path);
	return error ? 1 : 0;
}
