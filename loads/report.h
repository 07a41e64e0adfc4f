/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the loads' programs share: one line in a file says how far they are, for their health
 * checks, and signals end them.
 *
 * The line is "NANOSECONDS COUNT COUNT": the monotonic clock and two counters since the start.
 */
#ifndef TENNIS_REPORT_H
#define TENNIS_REPORT_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL
#define REPORT_EVERY_NS (SECOND_NS / 4)

static inline int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static inline struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS };
}

/* The whole line at once, so that nobody reads half of one. */
static inline bool report(int file, uint64_t first, uint64_t second)
{
	char line[80];
	int length = snprintf(line, sizeof(line), "%020lld %020llu %020llu\n",
			      (long long)monotonic_ns(), (unsigned long long)first,
			      (unsigned long long)second);

	return pwrite(file, line, length, 0) == length;
}

/* The signals that end a load; blocked, also in the threads that are created from now on. */
static inline sigset_t block_ending_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	return signals;
}

/* Wait for such a signal; false if none came until it is time for the next report. */
static inline bool told_to_end(const sigset_t *signals)
{
	struct timespec limit = to_timespec(REPORT_EVERY_NS);

	return sigtimedwait(signals, NULL, &limit) > 0;
}

/* A number from the command line, or the end of the program. */
static inline int64_t number(const char *program, const char *option, const char *text,
			     int64_t least, int64_t most)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most) {
		fprintf(stderr, "%s: %s %s: give a number from %lld to %lld\n", program, option,
			text, (long long)least, (long long)most);
		exit(2);
	}
	return value;
}

#endif
