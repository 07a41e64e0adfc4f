/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every drill has in common, in the kernel and in user space. A drill is one C file that
 * includes this and defines
 *
 *	static void drill_run(void)	does the thing drill.repetitions times, and calls drill_keep()
 *	static void drill_other(void)	a second thread, where DRILL_OTHER is defined before
 *	static int drill_prepare(void)	where DRILL_PREPARE is: before anything is measured; 0, or an error
 *	static void drill_release(void)	where DRILL_PREPARE is: behind all of it, in the kernel
 *
 * It times itself with drill_now() and shows each repetition on the reply line, drill_line(), where
 * the instrument outside stamps it. Nothing is allocated or printed while it measures.
 */
#ifndef DRILL_H
#define DRILL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* What is known of a repetition, in ns: since the last one began, and until this one ended. */
struct drill_repetition {
	u32 since_last, duration;
};

/* What goes before the repetitions; all of it little-endian. */
struct drill_header {
	u32 version, repetitions;
	u64 overruns; /* periods that nobody saw begin, because the one before was not over */
	u64 page_faults; /* while it measured */
	u64 failures; /* repetitions in which the kernel refused */
	u64 clock_ns, line_ns, loop_ns; /* what OVERHEADS of each take together */
	u64 first_ns; /* the clock when the first repetition began */
};

#define DRILL_VERSION 1
#define OVERHEADS 1000

static struct {
	struct drill_header header;
	struct drill_repetition *kept;
	u32 repetitions, period_ns;
	u32 done;
	u64 last_ns;
} drill;

static void drill_run(void);
#ifdef DRILL_OTHER
static void drill_other(void);
#endif
#ifdef DRILL_PREPARE
static int drill_prepare(void);
#ifdef __KERNEL__
static void drill_release(void);
#endif
#endif

/* Keep a repetition; times longer than 4 s are kept as 4 s, which is told by their value. */
static inline void drill_keep(u64 begin_ns, u64 end_ns)
{
	u64 since = drill.done ? begin_ns - drill.last_ns : 0;
	u64 duration = end_ns - begin_ns;
	struct drill_repetition *kept = &drill.kept[drill.done];

	if (!drill.done)
		drill.header.first_ns = begin_ns;
	kept->since_last = since > 0xffffffff ? 0xffffffff : since;
	kept->duration = duration > 0xffffffff ? 0xffffffff : duration;
	drill.last_ns = begin_ns;
	drill.done++;
}

/* The begin of the period after one that began at last, which is to be past now. */
static inline u64 drill_next(u64 last_ns, u64 now_ns)
{
	u64 next = last_ns + drill.period_ns;

	while (next <= now_ns) {
		next += drill.period_ns;
		drill.header.overruns++;
	}
	return next;
}

#ifdef __KERNEL__
#include "drill-kernel.h"
#else
#include "drill-user.h"
#endif

/* What measuring costs by itself; the line is written low, so that nobody sees it. */
static inline void drill_overheads(void)
{
	u64 begin = drill_now();
	volatile int i;

	for (i = 0; i < OVERHEADS; i++)
		;
	drill.header.loop_ns = drill_now() - begin;
	begin = drill_now();
	for (i = 0; i < OVERHEADS; i++)
		drill_now();
	drill.header.clock_ns = drill_now() - begin;
	begin = drill_now();
	for (i = 0; i < OVERHEADS; i++)
		drill_line(0);
	drill.header.line_ns = drill_now() - begin;
}

#endif
