// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * priority - what it costs that a thread changes its own priority, down and up in turn: one of the
 * services of Arm, Bradac, Kaczmarczyk (2016). Of SCHED_OTHER it is the nice value. A module may
 * choose between two real-time priorities only, 1 and 50.
 *
 * A repetition begins before the change and ends behind it; the line is up meanwhile.
 */
#include "drill.h"

#ifdef __KERNEL__
static inline void priority_change(bool down)
{
	if (down)
		sched_set_fifo_low(current);
	else
		sched_set_fifo(current);
}
#else
static inline void priority_change(bool down)
{
	if (sched_getscheduler(0) == SCHED_FIFO) {
		struct sched_param parameters = { .sched_priority = DRILL_PRIORITY - down };

		sched_setparam(0, &parameters);
	} else {
		setpriority(PRIO_PROCESS, 0, down);
	}
}
#endif

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
		priority_change(!(drill.done & 1));
		now_ns = drill_now();
		drill_line(0);
		drill_keep(begin_ns, now_ns);
		now_ns = drill_now();
	}
}
