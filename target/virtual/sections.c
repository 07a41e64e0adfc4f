// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the guest's processor could not take an interrupt: a second plugin, beside the instrument of
 * a rally that is played again.
 *
 * All instructions are counted. What changes PSTATE.I is noted with the count: MSR DAIFSet, DAIFClr
 * and DAIF, ERET, and the first instruction of an exception vector. So are WFI and what follows it,
 * what the interrupt controller (a GICv2) gives when it is asked which interrupt it is, the
 * deadlines that the guest gives its timer, and which task runs. tennis/explain/sections makes
 * times of them. Nothing of the guest is changed, and looking costs no virtual time: the host
 * compares the balls with those of the rally. masks.c notes what was masked, waits.c what keeps a
 * thread from running, watched.c chooses instructions.
 *
 * In translated code the clock cannot be read (QEMU ends: "Bad icount read"). Between blocks it
 * can, in a timer: that gives pairs of count and time, one each millisecond and one behind each
 * sleep, in which time leaps.
 *
 * Parameters: out (a file descriptor), from (ns of virtual time: nothing is counted before), base
 * (an address; others are told as offsets from it), preempt (where a task has its preempt_count),
 * vectors, harden, switch_to, gic and gic_end, gic3 and gic3_end (addresses, as signed numbers; 0:
 * the kernel has no such function), threads (1: waits.c is asked, too), chance0 to chance3,
 * bottom_held and bottom_let_go (functions, as above). Format: sections.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "parameters.h"
#include "sections.h"

extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const void *insn);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);
/*
 * QEMU 9 (version 2) has a counter for each processor, older ones have one. Weak: a QEMU has one
 * kind of them only, and says which version it takes of a plugin for another.
 */
#if PLUGIN_API >= 2
typedef struct {
	void *score;
	size_t offset;
} counter;
void *qemu_plugin_scoreboard_new(size_t size) __attribute__((weak));
void *qemu_plugin_scoreboard_find(void *score, unsigned int vcpu) __attribute__((weak));
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(void *insn, int op, counter entry,
							 uint64_t add) __attribute__((weak));
#else
void qemu_plugin_register_vcpu_insn_exec_inline(void *insn, int op, void *ptr, uint64_t add)
	__attribute__((weak));
#endif
void tb_flush(void *cpu) __attribute__((weak));
void queue_tb_flush(void *cpu) __attribute__((weak));

EXPORT int qemu_plugin_version = PLUGIN_API;

#define EVERY_NS 1000000 /* between two looks at the clock */
#define RECORDS 4096 /* written at once */
#define INIT_TASK_SIZE 16384
#define IAR 0x00C /* of a GICv2's processor interface, which begins a page */

int64_t base, preempt = 8, vectors, harden, gic, gic_end, gic3, gic3_end;
uint64_t *executed;
void *cpu;
uint64_t task, idle_task;

static int64_t out_fd = -1, from, switch_to, for_threads;
static struct record buffer[RECORDS];
static size_t buffered;
static qemu_timer timer;
static bool counting;

static bool asleep, look_is_due;
static bool reads_iar; /* the instruction before was a read of it */
static int64_t name_offset = -1, priority_offset = -1;

_Noreturn void fail(const char *message)
{
	fprintf(stderr, "sections: %s\n", message);
	_exit(3);
}

static void write_records(void)
{
	if (!write_whole(out_fd, buffer, buffered * sizeof(buffer[0])))
		fail("what was found cannot be written");
	buffered = 0;
}

void keep(struct record record)
{
	buffer[buffered++] = record;
	if (buffered == RECORDS)
		write_records();
}

void note(int kind, uint64_t count, uint64_t value, uint64_t pc)
{
	keep((struct record){ .kind = kind, .count = count, .value = value, .place = pc - base });
}

/* --- the interrupt controller, and the timer --- */

void may_read_iar(unsigned int vcpu, void *data)
{
	const struct place *place = data;
	uint64_t address = read_register(cpu, place->rn) + place->offset;

	reads_iar = address >= KERNEL_BEGIN && (address & 0xFFF) == IAR;
}

/* The instruction behind the read. The callback for a load is not called of one of a device. */
void may_have_read_iar(unsigned int vcpu, void *data)
{
	const struct place *place = data;

	if (reads_iar)
		note(READ, *executed, operand(place), place->pc);
	reads_iar = false;
}

void writes_timer(unsigned int vcpu, void *data)
{
	const struct place *place = data;
	struct record record = { .kind = TIMER,
				 .count = *executed + 1,
				 .value = operand(place),
				 .place = place->pc - base,
				 .how = place->which };

	keep(record);
}

/* --- sleep, and what time it is --- */

void sleeps(unsigned int vcpu, void *pc)
{
	note(SLEEP, *executed + 1, 0, (uintptr_t)pc);
	asleep = true;
}

void wakes(unsigned int vcpu, void *pc)
{
	if (!asleep)
		return;
	note(WAKE, *executed, 0, (uintptr_t)pc);
	asleep = false;
	look_is_due = true;
	timer_mod_ns(timer, 0); /* as soon as the clock may be read */
}

/* --- tasks --- */

static void find_names(uint64_t init_task)
{
	static const char name[] = "swapper";
	/* prio, static_prio, normal_prio, rt_priority, in this order since 2.6 */
	static const uint32_t priorities[] = { 120, 120, 120, 0 };
	static char memory[INIT_TASK_SIZE];

	if (!read_memory(cpu, init_task, memory, sizeof(memory)))
		return;
	for (size_t at = 0; at + sizeof(priorities) <= sizeof(memory); at += 4) {
		if (priority_offset < 0 && !memcmp(memory + at, priorities, sizeof(priorities)))
			priority_offset = at;
	}
	for (size_t at = 0; at + sizeof(name) <= sizeof(memory); at += 8) {
		if (!memcmp(memory + at, name, sizeof(name) - 1)) {
			name_offset = at;
			idle_task = init_task;
			return;
		}
	}
}

/* cpu_switch_to(previous, next). The boot's first one is from the init task, which becomes idle. */
static void switches(unsigned int vcpu, void *pc)
{
	char name[16] = "?";
	struct record record = { .kind = TASK };
	int32_t priority = 0;

	if (!task)
		find_names(read_register(cpu, 0));
	task = read_register(cpu, 1);
	if (!counting)
		return;
	if (name_offset >= 0)
		read_memory(cpu, task + name_offset, name, sizeof(name));
	record.count = *executed;
	memcpy(&record.value, name, 8);
	memcpy(&record.began, name + 8, 8);
	record.how = task == idle_task;
	if (priority_offset >= 0)
		read_memory(cpu, task + priority_offset, &priority, sizeof(priority));
	record.priority = priority;
	record.place = task;
	keep(record);
}

static void count_instruction(void *insn)
{
	enum { ADD = 0 };

#if PLUGIN_API >= 2
	static counter entry;

	if (!entry.score)
		entry.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	if (!executed)
		executed = qemu_plugin_scoreboard_find(entry.score, 0);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, ADD, entry, 1);
#else
	static uint64_t count;

	executed = &count;
	qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD, &count, 1);
#endif
}

static void look(void *opaque);

static void connect(void)
{
	cpu = qemu_get_cpu(0);
	if (!cpu)
		fail("the machine has no processor");
	timer_init_full(timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, look, NULL);
	timer_mod_ns(timer, from);
}

/* Before version 7 of the plugin API the first argument is the plugin's id. */
static void translates(uintptr_t first, uintptr_t second)
{
	void *tb = (void *)(PLUGIN_API >= 7 ? first : second);

	if (!cpu)
		connect();
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		void *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(insn);

		if (pc == (uint64_t)switch_to)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, switches, 0, NULL);
		if (!counting)
			continue;
		if (pc >= KERNEL_BEGIN)
			watch(insn, pc, !i);
		count_instruction(insn); /* the last: in the order in which they are registered */
	}
}

static void begin(void)
{
	uint64_t pc = read_register(cpu, PC);
	uint32_t before;

	/* it may sleep now, and what time it is then is known when it wakes */
	asleep = read_memory(cpu, pc - 4, &before, sizeof(before)) && before == WFI_CODE;
	counting = true;
	masks_begin(read_register(cpu, PSTATE) & MASK_I, pc);
	if (queue_tb_flush)
		queue_tb_flush(cpu);
	else
		tb_flush(cpu);
}

/* Between two blocks. While the guest sleeps nothing is to be noted: time leaps. */
static void look(void *opaque)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

	if (!counting)
		begin();
	else if (executed && *executed && (!asleep || look_is_due))
		note(TIME, *executed, now, base);
	look_is_due = false;
	write_records(); /* the instrument ends QEMU without a word */
	timer_mod_ns(timer, now + EVERY_NS);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	static const struct parameter parameters[] = {
		{ "out", &out_fd },
		{ "from", &from },
		{ "base", &base },
		{ "preempt", &preempt },
		{ "vectors", &vectors },
		{ "harden", &harden },
		{ "switch_to", &switch_to },
		{ "gic", &gic },
		{ "gic_end", &gic_end },
		{ "gic3", &gic3 },
		{ "gic3_end", &gic3_end },
		{ "threads", &for_threads },
		{ "chance0", &functions.chance[0] },
		{ "chance1", &functions.chance[1] },
		{ "chance2", &functions.chance[2] },
		{ "chance3", &functions.chance[3] },
		{ "bottom_held", &functions.bottom_held },
		{ "bottom_let_go", &functions.bottom_let_go },
		{ 0 },
	};

	if (!parameters_read("sections", argc, argv, parameters, NULL))
		return -1;
	threads = for_threads;
	if (out_fd < 0)
		fail("no file descriptor to write to (out=)");
	if (!queue_tb_flush && !tb_flush)
		fail("this QEMU exports no way to translate code anew");
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translates, NULL);
	return 0;
}
