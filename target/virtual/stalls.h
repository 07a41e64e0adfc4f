/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor that waits while virtual time goes on: see stalls.c. */
#ifndef TENNIS_STALLS_H
#define TENNIS_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/*
 * Find where QEMU counts a vCPU's instructions, then call back: in the vCPU's thread, between two
 * blocks of code. It tries for some ms of virtual time, and ends QEMU where that fails.
 */
void stalls_learn(void *cpu, void (*learned)(void));
/* In code that the vCPU executes: it waits as long as so many instructions take. */
void stall(int64_t instructions);
/* How many instructions QEMU has executed, and those of the block that has just begun. */
int64_t stalls_executed(void);
/* A block of code begins: what was due during the one before has been met. */
void stalls_settled(void);
/* This block of code was looked at: see stalls_went_on(). */
void stalls_seen(void);
/* 1 << this: ns of an instruction. */
int stalls_shift(void);

/* QEMU's budget of instructions, in three fields; what was seen of two when a block began. */
struct budget {
	int64_t *all, *extra;
	uint16_t *low, low_seen;
	bool look; /* closely, when the next block begins: a deadline is met too late, or else */
	int64_t seen, instruction_ns;
};
extern struct budget budget;

/*
 * Whether this block, of so many instructions, begins just behind the one at which was looked: that
 * one was executed to its end, and QEMU has not put its instructions on the clock.
 */
static inline bool stalls_went_on(uint16_t count)
{
	return timers()->instructions == budget.seen &&
	       *budget.low == (uint16_t)(budget.low_seen - count);
}

/* Stall for so many instructions, or give their time back, where the budget lasts. */
static inline void stall_at_once(int64_t instructions)
{
	struct timers *t = timers();

	__atomic_store_n(&t->bias, t->bias + instructions * budget.instruction_ns,
			 __ATOMIC_RELAXED);
	*budget.extra -= instructions;
	*budget.all -= instructions;
}

#endif
