// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an instruction takes, by its class. A part of the plugin memory.c.
 *
 * QEMU's clock gives each instruction the same time. A profile with a clock has cycles for each class
 * of instructions, for a branch that was predicted wrong, and for an exception. What a class takes
 * beyond QEMU's own time for an instruction is charged when the block begins. If it takes less, time
 * is given back then. A guest reads the time at the end of a block only, so it never sees it go back.
 *
 * A block may end early: a fault, or an access to a device, after which QEMU translates the rest of
 * it once more. The exact number of executed instructions tells so when the next block begins, and
 * what was not executed is given back.
 *
 * The predictor: counters of two bits by a branch's address (none: backward branches are taken), a
 * stack of return addresses, and the last target of each other indirect branch.
 */
#include "cycles.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

_Noreturn void fail(const char *message);

static const char *const class_names[CLASSES] = {
	"plain",	"load",
	"store",	"branch",
	"barrier",	"system",
	"atomic",	"exception_return",
	"mispredicted", "exception_entry",
};
struct class_costs class_costs;
int64_t predictor_counters, predictor_returns, predictor_targets;

struct timed_block *last_timed;
int64_t last_began;
int32_t owed_ps, instruction_ps;
static struct timed_block *newest;
static uint64_t counted[CLASSES]; /* of blocks: corrections only */

/* --- classes --- */

const char *class_name(enum class of)
{
	return class_names[of];
}

static enum class class_of(uint32_t code)
{
	if ((code & 0xFFFFF01F) == 0xD503301F)
		return BARRIER;
	if ((code & 0xFFFFF01F) == 0xD503201F) /* hints: NOP, WFI, PAC */
		return PLAIN;
	if ((code & 0xFFC00000) == 0xD5000000)
		return SYSTEM;
	if (code == 0xD69F03E0)
		return EXCEPTION_RETURN;
	if ((code & 0x1C000000) == 0x14000000 && code >> 24 != 0xD4)
		return BRANCH;
	/* exclusives and compare-and-swap, but not the ordered ones; the atomics of Armv8.1 */
	if ((code & 0x3F000000) == 0x08000000 && (code & 0x00A00000) != 0x00800000)
		return ATOMIC;
	if ((code & 0x3B200C00) == 0x38200000)
		return ATOMIC;
	if ((code & 0x0A000000) == 0x08000000) {
		if ((code & 0x3B000000) == 0x18000000) /* of a literal */
			return LOAD;
		if ((code & 0x3A000000) == 0x28000000 || (code & 0x3F000000) == 0x08000000)
			return code & 1 << 22 ? LOAD : STORE; /* pairs; ordered ones */
		return code & (code & 1 << 26 ? 1 << 22 : 3 << 22) ? LOAD : STORE;
	}
	return PLAIN;
}

static int64_t offset_of(uint32_t code, int low, int bits)
{
	return (int64_t)((uint64_t)code << (64 - low - bits)) >> (64 - bits) << 2;
}

static enum end end_of(uint32_t code, uint64_t at, uint64_t *target)
{
	*target = 0;
	if ((code & 0x7C000000) == 0x14000000) {
		*target = at + offset_of(code, 0, 26);
		return code >> 31 ? CALLS : JUMPS;
	}
	if ((code & 0x7E000000) == 0x34000000 || (code & 0xFF000000) == 0x54000000) {
		*target = at + offset_of(code, 5, 19);
		return DECIDES;
	}
	if ((code & 0x7E000000) == 0x36000000) {
		*target = at + offset_of(code, 5, 14);
		return DECIDES;
	}
	if (code == 0xD69F03E0)
		return LEAVES;
	if ((code & 0xFE000000) == 0xD6000000)
		return (code >> 21 & 3) == 2 ? RETURNS
		       : (code >> 21 & 3)    ? CALLS_INDIRECT
					     : INDIRECT;
	return STRAIGHT;
}

static uint8_t *counters, unread;

static uint8_t *counter_of(const struct timed_block *block)
{
	return &counters[(block->next >> 2) & (predictor_counters - 1)];
}

static int64_t beyond_ps(enum class of)
{
	return class_costs.ps[of] - instruction_ps;
}

struct timed_block *timed_block_of(const uint32_t *codes, size_t count, uint64_t address,
				   int64_t an_instruction_ps)
{
	size_t size = (sizeof(struct timed_block) + count + 63) & ~(size_t)63;
	struct timed_block *block = aligned_alloc(64, size);
	int64_t of_class[CLASSES] = { 0 }, extra_ps = 0;

	if (!block)
		fail("no memory");
	memset(block, 0, size);
	instruction_ps = an_instruction_ps;
	block->older = newest;
	newest = block;
	block->address = address;
	block->next = address + count * 4;
	block->count = count;
	block->end = end_of(codes[count - 1], block->next - 4, &block->target);
	for (size_t i = 0; i < count; i++) {
		enum class of = class_of(codes[i]);

		block->classes[i] = of;
		of_class[of] += beyond_ps(of);
		extra_ps += beyond_ps(of);
		if (of_class[of] > of_class[block->mostly])
			block->mostly = of;
	}
	block->counts = block->end == DECIDES && predictor_counters;
	block->extra = extra_ps / instruction_ps;
	block->extra_ps = extra_ps % instruction_ps;
	block->more_ps = block->extra < 0 ? 1 : instruction_ps;
	block->less_ps = block->extra > 0 ? -1 : -instruction_ps;
	block->counter = block->counts ? counter_of(block) : &unread;
	return block;
}

/* --- the predictor --- */

uint64_t *returns, depth;
static uint64_t *sources, *targets;

static void *entries(int64_t count, size_t size)
{
	void *made = calloc(count ? count : 1, size);

	if (count < 0 || count & (count - 1))
		fail("a predictor's number of entries is no power of two");
	if (!made)
		fail("no memory");
	return made;
}

void cycles_take_parameters(void)
{
	counters = entries(predictor_counters, sizeof(*counters));
	returns = entries(predictor_returns, sizeof(*returns));
	sources = entries(predictor_targets, sizeof(*sources));
	targets = entries(predictor_targets, sizeof(*targets));
}

static bool decides_right(const struct timed_block *block, bool taken)
{
	bool right = *block->counter >> 1 == taken;

	if (!predictor_counters)
		return (block->target < block->next) == taken;
	*block->counter = counter_after(*block->counter, taken);
	return right;
}

static bool goes_right(uint64_t from, uint64_t to)
{
	uint64_t i = (from >> 2) & (predictor_targets - 1);
	bool right;

	if (!predictor_targets)
		return false;
	right = sources[i] == from && targets[i] == to;
	sources[i] = from;
	targets[i] = to;
	return right;
}

static void calls(uint64_t back_to)
{
	if (predictor_returns)
		returns[depth++ & (predictor_returns - 1)] = back_to;
}

static bool returns_right(uint64_t to)
{
	return predictor_returns && returns[--depth & (predictor_returns - 1)] == to;
}

/* Whether the branch at the end of a block was predicted, now that it is known where it went. */
static bool was_predicted(const struct timed_block *block, uint64_t to)
{
	if (block->end == DECIDES)
		return decides_right(block, to != block->next);
	if (block->end == RETURNS)
		return returns_right(to);
	if (block->end == CALLS || block->end == CALLS_INDIRECT)
		calls(block->next);
	return (block->end != INDIRECT && block->end != CALLS_INDIRECT) ||
	       goes_right(block->next, to);
}

/* --- exceptions --- */

#define VECTORS 8 /* tables of vectors; Linux has one for each way to enter it */
static uint64_t vectors[VECTORS];

/*
 * Whether an exception led to a place, where the code before would have gone on at other ones. After
 * an indirect branch only a table that is known tells so.
 */
static bool enters(uint64_t to, bool anywhere)
{
	uint64_t table = to & ~(TABLE_BYTES - 1);
	size_t i = 0;

	if (to & (VECTOR_BYTES - 1))
		return false;
	while (i < VECTORS && vectors[i] && vectors[i] != table)
		i++;
	if (i < VECTORS && !vectors[i] && !anywhere)
		vectors[i] = table;
	return i < VECTORS && vectors[i] == table;
}

/* --- a block after the other --- */

/* What is less than QEMU's time for an instruction waits for more, or for less. */
static void charges(int64_t ps, enum class of, paying pay)
{
	int64_t instructions = (owed_ps + ps) / instruction_ps;

	owed_ps += ps - instructions * instruction_ps;
	pay(instructions, of);
}

static void gives_back(const struct timed_block *block, size_t executed, paying pay)
{
	for (size_t i = executed; i < block->count; i++) {
		counted[block->classes[i]]--;
		charges(-beyond_ps(block->classes[i]), CLASSES, pay);
	}
}

static void ends(const struct timed_block *block, size_t executed, uint64_t to, paying pay)
{
	bool whole = executed >= block->count;
	uint64_t next = whole ? block->next : block->address + executed * 4;
	bool expected = to == next || (whole && block->target && to == block->target);
	bool anywhere = whole && block->end >= RETURNS;

	if (!whole)
		gives_back(block, executed, pay);
	if (!expected && enters(to, anywhere)) {
		counted[EXCEPTION_ENTRY]++;
		charges(class_costs.ps[EXCEPTION_ENTRY], EXCEPTION_ENTRY, pay);
	} else if (whole && !was_predicted(block, to)) {
		counted[MISPREDICTED]++;
		charges(class_costs.ps[MISPREDICTED], MISPREDICTED, pay);
	}
}

void timed_block_begins(struct timed_block *block, int64_t executed, paying pay)
{
	if (last_timed)
		ends(last_timed, executed - last_began, block->address, pay);
	last_timed = block;
	last_began = executed;
	block->times++;
	pay(pays_for(block, &owed_ps), block->mostly);
}

void timed_blocks_end(int64_t executed)
{
	const struct timed_block *last = last_timed;

	for (size_t i = last ? executed - last_began : 0; last && i < last->count; i++)
		counted[last->classes[i]]--;
}

uint64_t cycles_counted(enum class of)
{
	uint64_t sum = counted[of];

	for (const struct timed_block *block = newest; block; block = block->older) {
		for (size_t i = 0; i < block->count; i++)
			sum += block->classes[i] == of ? block->times : 0;
	}
	return sum;
}
