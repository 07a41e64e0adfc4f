// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor that waits while virtual time goes on. For one processor.
 *
 * The clock. A stall is added to its bias at once, so the next instruction that reads the time sees
 * it, in the same block of code, too.
 *
 * The budget. QEMU gives a vCPU as many instructions as fit before the next deadline. A stall takes
 * its part of them: else the deadline would be met a stall too late. Three fields hold the rest of
 * them: the budget when it was given, less what was executed, is in two parts, `low` of 16 bits for
 * the code at hand and `extra` for later. If the budget does not last for a stall, a deadline lies
 * within it. Then the vCPU leaves its code where the block ends, and what is over is the lag: by so
 * much the deadline is met too late, and no more.
 *
 * Whole instructions. At times of the host's, QEMU computes the budget anew from the clock. Balls
 * repeat because the budget that is there is always the one that would be computed. A stall of half
 * an instruction would round the two differently.
 *
 * The three fields' places differ between versions and builds of QEMU, and no header or symbol tells
 * them. So they are found by experiment: QEMU's own function writes them for deadlines that are
 * known, and each field is the one place that has the right value each time. Two places, or none, are
 * no answer.
 */
#include "stalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "inside.h"
#include "machine.h"

#define LOOKED_AT 16384 /* bytes of a vCPU; it has more */
#define LOW_MAX 0xFFFF
#define NEAR 500 /* instructions to a deadline of the experiment's */
#define TRIES 1000
#define BETWEEN_TRIES_NS 50000
#define ATTRIBUTES_ALL (-1)

extern void async_run_on_cpu(void *cpu, void (*work)(void *cpu, uint64_t data), uint64_t data);
extern int64_t qemu_clock_deadline_ns_all(int clock, int attributes);
extern int64_t icount_round(int64_t count);
/* from QEMU 8.1 on with the budget at most; before, the second argument does no harm */
extern void icount_prepare_for_run(void *cpu, int64_t at_most);
extern void icount_process_data(void *cpu);
extern void cpu_exit(void *cpu);

static uint8_t *vcpu;
struct budget budget;
static int shift;
static void (*then)(void);
static qemu_timer again, soon;

/* --- where the fields are --- */

/* What QEMU is known to write in one experiment; and what it wrote. */
struct experiment {
	int64_t given;
	uint8_t seen[LOOKED_AT], left[LOOKED_AT];
};

static void run(struct experiment *e)
{
	int64_t ns = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, ATTRIBUTES_ALL);

	e->given = icount_round(ns < 0 || ns > INT32_MAX ? INT32_MAX : ns);
	if (!e->given)
		return; /* one is due, and QEMU would take the lock that is held here to meet it */
	icount_prepare_for_run(vcpu, INT64_MAX);
	memcpy(e->seen, vcpu, LOOKED_AT);
	icount_process_data(vcpu);
	memcpy(e->left, vcpu, LOOKED_AT);
}

static int64_t in_low(const struct experiment *e)
{
	return e->given < LOW_MAX ? e->given : LOW_MAX;
}

static bool holds(const uint8_t *bytes, size_t at, size_t size, int64_t value)
{
	return !memcmp(bytes + at, &value, size); /* hosts are little-endian */
}

enum field { BUDGET, EXTRA, LOW };

static int64_t value_of(const struct experiment *e, enum field field)
{
	return field == BUDGET ? e->given : field == LOW ? in_low(e) : e->given - in_low(e);
}

/* The only place that had the right value each time, and nothing afterwards; NULL: not only one. */
static void *only_place(const struct experiment *of, size_t count, enum field field)
{
	size_t size = field == LOW ? sizeof(*budget.low) : sizeof(*budget.all), found = 0;

	for (size_t at = size; at + size <= LOOKED_AT; at += size) {
		size_t right = 0;

		while (right < count &&
		       holds(of[right].seen, at, size, value_of(&of[right], field)) &&
		       holds(of[right].left, at, size, 0))
			right++;
		if (right < count)
			continue;
		if (found)
			return NULL;
		found = at;
	}
	return found ? vcpu + found : NULL;
}

static void never_called(void *opaque)
{
}

static void experiments(void *cpu, uint64_t data)
{
	static struct experiment three[3];
	static int tries;

	run(&three[0]);
	/* only a budget that does not fit into `low` tells `extra` from the other zeros */
	if (three[0].given > 2 * LOW_MAX) {
		for (size_t i = 1; i < ELEMENTS(three); i++) {
			timer_mod_ns(soon, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
						   ((int64_t)(i * NEAR) << shift));
			run(&three[i]);
		}
		timer_del(soon);
		budget.all = only_place(three, ELEMENTS(three), BUDGET);
		budget.extra = only_place(three, ELEMENTS(three), EXTRA);
		budget.low = only_place(three, ELEMENTS(three), LOW);
	}
	if (budget.all && budget.extra && budget.low)
		then();
	else if (++tries == TRIES)
		fail("the instructions' budget of this QEMU is not known: "
		     "it plays with --memory none only");
	else
		timer_mod_ns(again, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + BETWEEN_TRIES_NS);
}

static void try(void *opaque)
{
	async_run_on_cpu(vcpu, experiments, 0);
}

void stalls_learn(void *cpu, void (*learned)(void))
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

	if (!clock_is_known(now))
		fail("the clock of this QEMU is not known: it plays with --memory none only");
	vcpu = cpu;
	then = learned;
	shift = timers()->shift;
	budget.instruction_ns = 1 << shift;
	timer_init_full(again, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, try, NULL);
	timer_init_full(soon, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, never_called, NULL);
	try(NULL);
}

int stalls_shift(void)
{
	return shift;
}

/* --- stalls --- */

void stall(int64_t instructions)
{
	struct timers *t = timers();
	int64_t now, rest;

	if (instructions <= *budget.extra) {
		stall_at_once(instructions);
		return;
	}
	__atomic_store_n(&t->bias, t->bias + instructions * (1 << shift), __ATOMIC_RELAXED);
	rest = instructions - *budget.extra;
	now = rest < *budget.low ? rest : *budget.low;
	*budget.all -= *budget.extra + now;
	*budget.extra = 0;
	*budget.low -= now;
	budget.low_seen -= now;
	rest -= now;
	if (!rest)
		return;
	machine_lag_ns += rest << shift;
	budget.look = true;
	cpu_exit(vcpu);
}

int64_t stalls_executed(void)
{
	return timers()->instructions + *budget.all - *budget.low - *budget.extra;
}

void stalls_settled(void)
{
	machine_lag_ns = 0;
}

void stalls_seen(void)
{
	budget.seen = timers()->instructions;
	budget.low_seen = *budget.low;
}
