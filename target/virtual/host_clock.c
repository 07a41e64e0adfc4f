// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's time of day, kept from QEMU. The instrument is loaded before QEMU's own libraries
 * (LD_PRELOAD), and QEMU gets these functions in place of the C library's and of GLib's.
 *
 * QEMU makes a vCPU's TLB smaller if little of it was used for 100 ms of the host's time
 * (tlb_mmu_resize_locked in accel/tcg/cputlb.c), and a smaller TLB forgets other entries. Linux may
 * loosen an entry of a page table without telling all vCPUs: one that still has the old entry takes
 * a fault, one that forgot it does not. So two rallies of one seed differed, with several vCPUs
 * under stress. Here a thread's time goes on by its own calls: QEMU makes one for each flush.
 */
#include "host_clock.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

#include "qemu.h"

#define BEGIN_US 1767225600000000 /* 1 January 2026, as -rtc */
#define CALL_US 100

static __thread int64_t calls;

EXPORT int64_t g_get_real_time(void)
{
	return BEGIN_US + CALL_US * calls++;
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	int64_t now = g_get_real_time();

	time->tv_sec = now / 1000000;
	time->tv_usec = now % 1000000;
	return 0;
}

/* Who was not preloaded calls the C library's. */
bool host_clock_is_kept(void)
{
	struct timeval time;
	int64_t before = calls;

	gettimeofday(&time, NULL);
	return calls != before;
}
