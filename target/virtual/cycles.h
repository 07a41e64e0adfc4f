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

/* Before CALLS there is nothing to predict; from RETURNS on it may lead anywhere. */
enum end { STRAIGHT, JUMPS, CALLS, DECIDES, RETURNS, INDIRECT, CALLS_INDIRECT, LEAVES };

/* What each execution looks at is in one line of the host's. */
struct timed_block {
	uint64_t address, next, target; /* virtual; target: of a direct branch at its end */
	uint64_t times;
	void *line; /* for memory.c */
	uint8_t *counter; /* of the branch that decides at its end; else one that nobody reads */
	/* of all its instructions, beyond QEMU's time for them: whole instructions, and a rest */
	int32_t extra, extra_ps, more_ps, less_ps;
	uint16_t count; /* instructions */
	uint8_t end; /* enum end */
	bool counts; /* it decides by a counter */
	uint8_t mostly; /* enum class */
	struct timed_block *older;
	uint8_t classes[];
} __attribute__((aligned(64)));

/* The block that was executed last, and how many instructions were executed before it. */
extern struct timed_block *last_timed;
extern int64_t last_began;
/* The ring of return addresses. */
extern uint64_t *returns, depth;
/* Less than an instruction: what is not yet paid, or what was paid too early. */
extern int32_t owed_ps, instruction_ps;

/*
 * Take what a block takes for paid: how many whole instructions, and what is owed then. It divides by
 * an instruction's time, towards 0: both parts of what a block takes have one sign, and the limits
 * in the block say from which rest on the quotient is one more, or one less.
 */
static inline int64_t pays_for(const struct timed_block *block, int32_t *owes_ps)
{
	int32_t ps = owed_ps + block->extra_ps;
	int32_t more = (ps >= block->more_ps) - (ps <= block->less_ps);

	*owes_ps = ps - more * instruction_ps;
	return block->extra + more;
}

/* A counter of two bits, which says that a branch is taken if it is 2 or 3, once it is known. */
static inline uint8_t counter_after(uint8_t value, bool taken)
{
	static const uint8_t on[2][4] = { { 0, 0, 1, 2 }, { 1, 2, 3, 3 } };

	return on[taken][value];
}

/* Linux has a table of vectors for each way to enter it; an exception leads to one of them. */
#define TABLE_BYTES 2048ull
#define VECTOR_BYTES 128ull

void cycles_take_parameters(void);
/* Of so many A64 instructions at a virtual address; each takes an_instruction_ps anyway. */
struct timed_block *timed_block_of(const uint32_t *codes, size_t count, uint64_t address,
				   int64_t an_instruction_ps);
/*
 * A block begins, before which the processor executed so many instructions in all. Charges go to
 * pay(), in instructions, and may be negative; of CLASSES: the block before was not executed to its
 * end.
 */
typedef void (*paying)(int64_t instructions, enum class of);
void timed_block_begins(struct timed_block *block, int64_t executed, paying pay);
/* The processor has executed so many instructions, and executes no more. */
void timed_blocks_end(int64_t executed);
/* How many of a class there were. */
uint64_t cycles_counted(enum class of);

#endif
