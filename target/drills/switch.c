// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * switch - from a thread that signals a semaphore to the one that waited for it: tables 11 and 12 of
 * Arm, Bradac, Kaczmarczyk (2016).
 *
 * A repetition begins before the signal in the first thread and ends behind the wait in the second;
 * the line is up meanwhile. The second thread has the higher priority, where threads have one.
 */
#define DRILL_OTHER
#include "drill.h"

DRILL_SEMAPHORE(there);
DRILL_SEMAPHORE(back);
static u64 switch_begin_ns;

static void drill_other(void)
{
	u32 left = drill.repetitions;
	u64 end_ns;

	while (left--) {
		drill_wait(&there);
		end_ns = drill_now();
		drill_line(0);
		drill_keep(switch_begin_ns, end_ns);
		drill_post(&back);
	}
}

static void drill_run(void)
{
	u64 now_ns = drill_now();
	u64 next_ns = now_ns;
	u32 left = drill.repetitions;

	while (left--) {
		next_ns = drill_next(next_ns, now_ns);
		drill_sleep_until(next_ns);
		drill_line(1);
		switch_begin_ns = drill_now();
		drill_post(&there);
		drill_wait(&back);
		now_ns = drill_now();
	}
}
