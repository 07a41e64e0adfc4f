/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtual clock: QEMU's TimersState, as far as it is looked at. QEMU 7 to 11 have it so. */
#ifndef TENNIS_CLOCK_H
#define TENNIS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

extern int64_t icount_get_raw(void);
extern char timers_state[];
extern int use_icount; /* 0: without -icount, where the clock is the host's */

struct timers {
	int64_t ticks_prev, ticks_offset;
	uint32_t sequence, lock;
	int16_t ticks_enabled, shift; /* an instruction takes 1 << shift ns */
	int64_t last_delta, bias, warp_start, clock_offset, instructions;
};

static inline struct timers *timers(void)
{
	return (struct timers *)timers_state;
}

/* Whether what is there is what QEMU's own functions say; all instructions are on the clock. */
static inline bool clock_is_known(int64_t now)
{
	struct timers *t = timers();
	int64_t raw = icount_get_raw();

	return t->shift >= 0 && t->shift <= 2 && t->instructions == raw &&
	       t->bias + (raw << t->shift) == now;
}

#endif
