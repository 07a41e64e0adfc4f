/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the plugin share that notes when interrupts were masked: sections.c counts and
 * tells the host, masks.c knows masked stretches, waits.c what keeps a thread from running,
 * watched.c which instructions are looked at.
 */
#ifndef TENNIS_SECTIONS_H
#define TENNIS_SECTIONS_H

#include "inside.h"

/* --- what the host gets: a record after the other, in the order in which it happened --- */
struct __attribute__((packed)) record {
	uint64_t count; /* instructions since the first record */
	uint64_t value;
	int32_t place, began_place; /* offsets from base */
	int32_t caller, began_caller; /* of x30 there: of a function that calls none its caller */
	uint16_t kind, how, began_how, priority;
	uint64_t began; /* STRETCH: count at which it began; TASK: 8 more bytes of its name */
};
enum {
	STRETCH = 1, /* interrupts were masked until count; value: preempt_count, IDLE */
	READ, /* what the interrupt controller gave: value */
	SLEEP, /* WFI, itself counted */
	WAKE, /* behind it */
	TIME, /* value: ns of virtual time */
	DOUBT, /* an exception of which it is not known whether its instruction counts: value: ESR */
	TIMER, /* value was written to the register how of the virtual timer */
	TASK, /* another one runs: its name in value and began, its prio in priority, which: place */
	PREEMPT, /* preempt_count is value now, and was 0 or is 0 */
	CHANCE, /* a function that lets others run, if one waits */
	BOTTOM, /* bottom halves are held (how: 1) or let go (0), by so much: value */
};
enum { BY_SET = 1, BY_WRITE, BY_RETURN, BY_CLEAR, BY_RETURN_TO_USER, AT_BEGIN, BY_VECTOR = 0x1000 };
enum { TIMER_TVAL, TIMER_CTL, TIMER_CVAL };
#define IDLE (1ull << 63) /* the idle task's */

#define LINK 30 /* gdb's numbers of the registers */
#define PC 32
#define PSTATE 33
#define MASK_I (1u << 7)
#define VECTORS_SIZE 0x800
#define WFI_CODE 0xD503207Fu

/* An instruction that has a register as its operand. */
struct place {
	uint64_t pc;
	int rt, rn, offset, which;
};

#define CHANCES 4
struct functions {
	int64_t chance[CHANCES], bottom_held, bottom_let_go;
};
extern struct functions functions; /* parameters, as those: */
extern int64_t base, preempt, vectors, harden, gic, gic_end, gic3, gic3_end; /* parameters */
extern uint64_t *executed; /* instructions */
extern void *cpu;
extern uint64_t task, idle_task;
extern bool threads; /* also what keeps a thread from running is noted */

_Noreturn void fail(const char *message);
void keep(struct record record);
void note(int kind, uint64_t count, uint64_t value, uint64_t pc);

static inline uint64_t operand(const struct place *place)
{
	return place->rt == 31 ? 0 : read_register(cpu, place->rt);
}

/* sections.c: what is called before an instruction is counted. data: its place, or its pc */
void may_read_iar(unsigned int vcpu, void *data);
void may_have_read_iar(unsigned int vcpu, void *data);
void writes_timer(unsigned int vcpu, void *data);
void sleeps(unsigned int vcpu, void *pc);
void wakes(unsigned int vcpu, void *pc);

/* masks.c */
void masks_begin(bool masked_now, uint64_t pc); /* from here on they are noted */
void sets_mask(unsigned int vcpu, void *pc);
void clears_mask(unsigned int vcpu, void *pc);
void writes_mask(unsigned int vcpu, void *data);
void writes_return_state(unsigned int vcpu, void *data);
void returns(unsigned int vcpu, void *pc);
void enters_vector(unsigned int vcpu, void *pc);
void has_read_syndrome(unsigned int vcpu, void *data);

/* waits.c */
void writes_preempt_count(unsigned int vcpu, void *data);
void may_switch(unsigned int vcpu, void *pc);
void holds_bottom(unsigned int vcpu, void *pc);
void lets_bottom_go(unsigned int vcpu, void *pc);

/* watched.c */
void watch(void *insn, uint64_t pc, bool first); /* first: of a block */

#endif
