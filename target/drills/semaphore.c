// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * semaphore - what it costs to signal a semaphore that nobody waits for: tables 13 and 14 of Arm,
 * Bradac, Kaczmarczyk (2016).
 *
 * A repetition begins before the signal and ends behind it; the line is up meanwhile. It is taken
 * again before the next one, a period later.
 */
#include "drill.h"

DRILL_SEMAPHORE(signalled);

static void drill_run(void)
{
	u64 now_ns = drill_now();
	u64 next_ns = now_ns;
	u64 begin_ns;

	while (drill.done < drill.repetitions) {
		next_ns = drill_next(next_ns, now_ns);
		drill_sleep_until(next_ns);
		drill_line(1);
		begin_ns = drill_now();
		drill_post(&signalled);
		now_ns = drill_now();
		drill_line(0);
		drill_keep(begin_ns, now_ns);
		drill_wait(&signalled);
		now_ns = drill_now();
	}
}
