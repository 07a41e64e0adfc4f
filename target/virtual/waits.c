// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What keeps a thread from running that an interrupt woke: preempt_count is not 0, or the kernel
 * does not ask who is to run, or another task holds bottom halves, which are a lock on PREEMPT_RT.
 *
 * A function of the kernel's that asks is a chance. Its time is behind the instruction that reads
 * preempt_count and, in the same word, whether somebody else is to run: an interrupt that comes
 * before it is in time.
 */
#include "sections.h"

bool threads;
struct functions functions;

static bool held; /* preempt_count is not 0 */

void writes_preempt_count(unsigned int vcpu, void *data)
{
	const struct place *place = data;
	uint32_t value = operand(place);

	if (read_register(cpu, place->rn) != task || !!value == held)
		return;
	held = value;
	keep((struct record){ .kind = PREEMPT,
			      .count = *executed + 1,
			      .value = value,
			      .place = place->pc - base,
			      .caller = read_register(cpu, LINK) - base });
}

void may_switch(unsigned int vcpu, void *pc)
{
	keep((struct record){ .kind = CHANCE,
			      .count = *executed + 1,
			      .place = (uintptr_t)pc - base,
			      .caller = read_register(cpu, LINK) - base });
}

/* __local_bh_disable_ip(place, how many) */
void holds_bottom(unsigned int vcpu, void *pc)
{
	keep((struct record){ .kind = BOTTOM,
			      .count = *executed,
			      .value = (uint32_t)read_register(cpu, 1),
			      .place = (uintptr_t)pc - base,
			      .caller = read_register(cpu, LINK) - base,
			      .how = 1 });
}

/* __local_bh_enable(how many, whether the lock, too) */
void lets_bottom_go(unsigned int vcpu, void *pc)
{
	keep((struct record){ .kind = BOTTOM,
			      .count = *executed,
			      .value = (uint32_t)read_register(cpu, 0),
			      .place = (uintptr_t)pc - base,
			      .caller = read_register(cpu, LINK) - base });
}
