// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * periodic - a task that wakes up at a fixed period: tables 1 to 9 of Arm, Bradac, Kaczmarczyk (2016).
 *
 * A repetition begins when the task runs again, and ends when it has shown that on the line. A
 * period that was over before the task ran is skipped and counted as an overrun.
 */
#define DRILL_HRTIMER
#include "drill.h"

static inline void periodic_show(u64 now_ns)
{
	drill_line(1);
	drill_line(0);
	drill_keep(now_ns, drill_now());
}

static void drill_run(void)
{
	u64 now_ns = drill_now();
	u64 next_ns = now_ns;

	while (drill.done < drill.repetitions) {
		next_ns = drill_next(next_ns, now_ns);
		drill_sleep_until(next_ns);
		now_ns = drill_now();
		periodic_show(now_ns);
		now_ns = drill_now();
	}
}

#ifdef __KERNEL__
static DECLARE_COMPLETION(periodic_over);

static enum hrtimer_restart periodic_tick(struct hrtimer *timer)
{
	periodic_show(drill_now());
	if (drill.done == drill.repetitions) {
		complete(&periodic_over);
		return HRTIMER_NORESTART;
	}
	/* from when it was to be on, not from when it was: nothing drifts */
	drill.header.overruns += hrtimer_forward_now(timer, ns_to_ktime(drill.period_ns)) - 1;
	return HRTIMER_RESTART;
}

static void drill_start_timer(void)
{
	static struct hrtimer timer;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, periodic_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	timer.function = periodic_tick;
#endif
	hrtimer_start(&timer, ns_to_ktime(drill_now() + drill.period_ns), HRTIMER_MODE_ABS_HARD);
	wait_for_completion(&periodic_over);
	hrtimer_cancel(&timer);
}
#endif
