// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When interrupts were masked: where each stretch began and ended, with the count of instructions.
 *
 * What changes PSTATE.I is MSR DAIFSet, DAIFClr and DAIF, ERET, and an exception. Callbacks come
 * before their instruction is counted.
 */
#include "sections.h"

#define SYNC_KERNEL 0x200 /* offset in the vectors */
#define SYNC_USER 0x400

static bool masked;
static struct record stretch;
/* what MSR SPSR_EL1 wrote last: of no use to gdb, so it has no number */
static uint64_t return_state;
static bool abort_is_fresh; /* ESR_EL1 was not read since the last synchronous exception */
static uint64_t abort_count;

void masks_begin(bool masked_now, uint64_t pc)
{
	masked = masked_now;
	stretch =
		(struct record){ .kind = STRETCH, .began_how = AT_BEGIN, .began_place = pc - base };
}

static void begin_stretch(uint64_t count, uint64_t pc, int how)
{
	if (masked)
		return;
	masked = true;
	stretch = (struct record){ .kind = STRETCH,
				   .began = count,
				   .began_how = how,
				   .began_place = pc - base,
				   .began_caller = read_register(cpu, LINK) - base };
}

static void end_stretch(uint64_t count, uint64_t pc, int how)
{
	uint32_t preempt_count = 0;

	if (!masked)
		return;
	masked = false;
	if (task && how != BY_RETURN_TO_USER)
		read_memory(cpu, task + preempt, &preempt_count, sizeof(preempt_count));
	stretch.value = preempt_count | (task && task == idle_task ? IDLE : 0);
	stretch.count = count;
	stretch.place = pc - base;
	stretch.caller = read_register(cpu, LINK) - base;
	stretch.how = how;
	keep(stretch);
}

void sets_mask(unsigned int vcpu, void *pc)
{
	begin_stretch(*executed + 1, (uintptr_t)pc, BY_SET);
}

void clears_mask(unsigned int vcpu, void *pc)
{
	end_stretch(*executed + 1, (uintptr_t)pc, BY_CLEAR);
}

void writes_mask(unsigned int vcpu, void *data)
{
	const struct place *place = data;

	if (operand(place) & MASK_I)
		begin_stretch(*executed + 1, place->pc, BY_WRITE);
	else
		end_stretch(*executed + 1, place->pc, BY_WRITE);
}

void writes_return_state(unsigned int vcpu, void *data)
{
	return_state = operand(data);
}

void returns(unsigned int vcpu, void *pc)
{
	bool to_kernel = return_state & 0xC;

	if (return_state & MASK_I)
		begin_stretch(*executed + 1, (uintptr_t)pc, BY_RETURN);
	else
		end_stretch(*executed + 1, (uintptr_t)pc,
			    to_kernel ? BY_RETURN : BY_RETURN_TO_USER);
}

void enters_vector(unsigned int vcpu, void *pc)
{
	int offset = (uintptr_t)pc & (VECTORS_SIZE - 1);

	abort_is_fresh = offset == SYNC_KERNEL || offset == SYNC_USER;
	abort_count = *executed;
	begin_stretch(*executed, (uintptr_t)pc, BY_VECTOR + offset);
}

/* Behind MRS Xt, ESR_EL1. What met a data abort was counted here, and not by QEMU. */
void has_read_syndrome(unsigned int vcpu, void *data)
{
	enum { SYSTEM_CALL = 0x15, FETCH_USER = 0x20, FETCH, DATA_USER = 0x24, DATA };
	const struct place *place = data;
	uint64_t syndrome = operand(place);
	unsigned int class = syndrome >> 26 & 0x3F;

	if (!abort_is_fresh)
		return;
	abort_is_fresh = false;
	if (class == DATA_USER || class == DATA) {
		(*executed)--;
		if (masked && stretch.began_how > BY_VECTOR && stretch.began == abort_count)
			stretch.began--;
	} else if (class != SYSTEM_CALL && class != FETCH_USER && class != FETCH) {
		note(DOUBT, *executed, syndrome, place->pc);
	}
}
