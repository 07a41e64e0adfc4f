/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction takes by its class, in cycles of a profile's clock: see cycles.c. */
#ifndef TENNIS_CYCLES_H
#define TENNIS_CYCLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* tennis/explain/stalls.py has the same order. The last two are no instructions. */
enum class {
	PLAIN,
	LOAD,
	STORE,
	BRANCH,
	BARRIER,
	SYSTEM,
	ATOMIC,
	EXCEPTION_RETURN,
	MISPREDICTED,
	EXCEPTION_ENTRY,
	CLASSES,
};
const char *class_name(enum class of);
/* Parameters: ps of one of a class (0: no clock), and the predictor's entries (0: it has none). */
struct class_costs {
	int64_t ps[CLASSES];
};
extern struct class_costs class_costs;
extern int64_t predictor_counters, predictor_returns, predictor_targets;

struct timed_block;

void cycles_take_parameters(void);
/* Of so many A64 instructions at a virtual address; each takes an_instruction_ps anyway. */
struct timed_block *timed_block_of(const uint32_t *codes, size_t count, uint64_t address,
				   int64_t an_instruction_ps);
/*
 * A block begins, before which the processor executed so many instructions in all. Charges go to
 * pay(), in ps, and may be negative; of CLASSES: the block before was not executed to its end.
 */
void timed_block_begins(struct timed_block *block, int64_t executed, int64_t an_instruction_ps,
			void (*pay)(int64_t ps, enum class of));
/* The processor has executed so many instructions, and executes no more. */
void timed_blocks_end(int64_t executed);
size_t timed_block_count(const struct timed_block *block); /* instructions */
/* How many of a class there were. */
uint64_t cycles_counted(enum class of);

#endif
