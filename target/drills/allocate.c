// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * allocate - what it costs to get memory, over its size: figures 3 to 5 of Arm, Bradac, Kaczmarczyk
 * (2016). malloc in user space, kmalloc in the kernel; vmalloc.c includes this for vmalloc.
 *
 * A repetition begins before the allocation and ends behind it; the line is up meanwhile. The memory
 * is given back before the next one. Sizes take turns, so that whatever drifts meets all of them:
 * 64 bytes, twice that, and so on to 1 MiB.
 */
#define DRILL_PREPARE
#include "drill.h"

#define ALLOCATE_SIZES 15
#define ALLOCATE_SMALLEST 64u

#ifdef __KERNEL__
#include <linux/slab.h>

#ifdef ALLOCATE_PAGES
#define ALLOCATE(size) vmalloc(size)
#define GIVE_BACK(memory) vfree(memory)
#else
#define ALLOCATE(size) kmalloc(size, GFP_KERNEL)
#define GIVE_BACK(memory) kfree(memory)
#endif

static int drill_prepare(void)
{
	return 0;
}

static void drill_release(void)
{
}
#else
#include <malloc.h>

#define ALLOCATE(size) malloc(size)
#define GIVE_BACK(memory) free(memory)

/* The heap is as large as it will be, locked, and never given back: no page faults, as in LXRT. */
static int drill_prepare(void)
{
	void *all;

	if (!mallopt(M_MMAP_MAX, 0) || !mallopt(M_TRIM_THRESHOLD, -1))
		return -1;
	all = malloc(ALLOCATE_SMALLEST << ALLOCATE_SIZES);
	if (!all)
		return -1;
	memset(all, 1, ALLOCATE_SMALLEST << ALLOCATE_SIZES);
	free(all);
	return 0;
}
#endif

static void drill_run(void)
{
	u64 now_ns = drill_now();
	u64 next_ns = now_ns;
	u64 begin_ns;
	void *volatile memory;
	u32 size;

	while (drill.done < drill.repetitions) {
		size = ALLOCATE_SMALLEST << drill.done % ALLOCATE_SIZES;
		next_ns = drill_next(next_ns, now_ns);
		drill_sleep_until(next_ns);
		drill_line(1);
		begin_ns = drill_now();
		memory = ALLOCATE(size);
		now_ns = drill_now();
		drill_line(0);
		drill_keep(begin_ns, now_ns);
		if (!memory)
			drill.header.failures++;
		GIVE_BACK(memory);
		now_ns = drill_now();
	}
}
