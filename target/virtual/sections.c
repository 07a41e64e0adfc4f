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
 * compares the balls with those of the rally.
 *
 * In translated code the clock cannot be read (QEMU ends: "Bad icount read"). Between blocks it
 * can, in a timer: that gives pairs of count and time, one each millisecond and one behind each
 * sleep, in which time leaps.
 *
 * Parameters: out (a file descriptor), from (ns of virtual time: nothing is counted before), base
 * (an address; others are told as offsets from it), preempt (where a task has its preempt_count),
 * vectors, harden, switch_to, gic and gic_end, gic3 and gic3_end (addresses, as signed numbers; 0:
 * the kernel has no such function). Format: below, and tennis/bench/virtual/recorder.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "inside.h"

extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const void *insn);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);
#if PLUGIN_API >= 3
extern size_t qemu_plugin_insn_data(const void *insn, void *into, size_t size);
#else
extern const void *qemu_plugin_insn_data(const void *insn);
#endif
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

/* --- what the host gets: a record after the other, in the order in which it happened --- */
struct __attribute__((packed)) record {
	uint64_t count; /* instructions since the first record */
	uint64_t value;
	int32_t place, began_place; /* offsets from base */
	int32_t caller, began_caller; /* of x30 there: of a function that calls none its caller */
	uint16_t kind, how, began_how, spare;
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
	TASK, /* another one runs: its name in value and began */
};
enum { BY_SET = 1, BY_WRITE, BY_RETURN, BY_CLEAR, BY_RETURN_TO_USER, AT_BEGIN, BY_VECTOR = 0x1000 };
enum { TIMER_TVAL, TIMER_CTL, TIMER_CVAL };
#define IDLE (1ull << 63) /* the idle task's */

#define EVERY_NS 1000000 /* between two looks at the clock */
#define RECORDS 4096 /* written at once */
#define PLACES_MAX 256
#define INIT_TASK_SIZE 16384
#define VECTORS_SIZE 0x800
#define SYNC_KERNEL 0x200 /* offset in the vectors */
#define SYNC_USER 0x400
#define LINK 30 /* gdb's numbers of the registers */
#define PC 32
#define PSTATE 33
#define MASK_I (1u << 7)
#define IAR 0x00C /* of a GICv2's processor interface, which begins a page */

static int64_t out_fd = -1, from, base, preempt = 8, vectors, harden, switch_to;
static int64_t gic, gic_end, gic3, gic3_end;
static struct record buffer[RECORDS];
static size_t buffered;
static uint64_t *executed; /* instructions */
static void *cpu;
static qemu_timer timer;
static bool counting;

static bool masked;
static struct record stretch;
static uint64_t
	return_state; /* what MSR SPSR_EL1 wrote last: of no use to gdb, so it has no number */
static bool abort_is_fresh; /* ESR_EL1 was not read since the last synchronous exception */
static uint64_t abort_count;
static bool asleep, look_is_due;
static bool reads_iar; /* the instruction before was a read of it */
static uint64_t task, idle_task;
static int64_t name_offset = -1;

static _Noreturn void fail(const char *message)
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

static void keep(struct record record)
{
	buffer[buffered++] = record;
	if (buffered == RECORDS)
		write_records();
}

static void note(int kind, uint64_t count, uint64_t value, uint64_t pc)
{
	keep((struct record){ .kind = kind, .count = count, .value = value, .place = pc - base });
}

/* --- masked stretches. A callback comes before its instruction is counted --- */

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

static void sets_mask(unsigned int vcpu, void *pc)
{
	begin_stretch(*executed + 1, (uintptr_t)pc, BY_SET);
}

static void clears_mask(unsigned int vcpu, void *pc)
{
	end_stretch(*executed + 1, (uintptr_t)pc, BY_CLEAR);
}

/* An instruction that has a register as its operand. */
struct place {
	uint64_t pc;
	int rt, rn, offset, which;
};

static uint64_t operand(const struct place *place)
{
	return place->rt == 31 ? 0 : read_register(cpu, place->rt);
}

static void writes_mask(unsigned int vcpu, void *data)
{
	const struct place *place = data;

	if (operand(place) & MASK_I)
		begin_stretch(*executed + 1, place->pc, BY_WRITE);
	else
		end_stretch(*executed + 1, place->pc, BY_WRITE);
}

static void writes_return_state(unsigned int vcpu, void *data)
{
	return_state = operand(data);
}

static void returns(unsigned int vcpu, void *pc)
{
	bool to_kernel = return_state & 0xC;

	if (return_state & MASK_I)
		begin_stretch(*executed + 1, (uintptr_t)pc, BY_RETURN);
	else
		end_stretch(*executed + 1, (uintptr_t)pc,
			    to_kernel ? BY_RETURN : BY_RETURN_TO_USER);
}

static void enters_vector(unsigned int vcpu, void *pc)
{
	int offset = (uintptr_t)pc & (VECTORS_SIZE - 1);

	abort_is_fresh = offset == SYNC_KERNEL || offset == SYNC_USER;
	abort_count = *executed;
	begin_stretch(*executed, (uintptr_t)pc, BY_VECTOR + offset);
}

/* Behind MRS Xt, ESR_EL1. What met a data abort was counted here, and not by QEMU. */
static void has_read_syndrome(unsigned int vcpu, void *data)
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

/* --- the interrupt controller, and the timer --- */

static void may_read_iar(unsigned int vcpu, void *data)
{
	const struct place *place = data;
	uint64_t address = read_register(cpu, place->rn) + place->offset;

	reads_iar = address >= KERNEL_BEGIN && (address & 0xFFF) == IAR;
}

/* The instruction behind the read. The callback for a load is not called of one of a device. */
static void may_have_read_iar(unsigned int vcpu, void *data)
{
	const struct place *place = data;

	if (reads_iar)
		note(READ, *executed, operand(place), place->pc);
	reads_iar = false;
}

static void writes_timer(unsigned int vcpu, void *data)
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

static void sleeps(unsigned int vcpu, void *pc)
{
	note(SLEEP, *executed + 1, 0, (uintptr_t)pc);
	asleep = true;
}

static void wakes(unsigned int vcpu, void *pc)
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
	static char memory[INIT_TASK_SIZE];

	if (!read_memory(cpu, init_task, memory, sizeof(memory)))
		return;
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
	keep(record);
}

/* --- translation --- */

static void *remembered(struct place place)
{
	struct place *copy = malloc(sizeof(*copy)); /* as long as the translated code may live */

	if (!copy)
		fail("no memory");
	*copy = place;
	return copy;
}

/* Of instructions whose result is looked at, the next one's place. */
struct results {
	struct place places[PLACES_MAX];
	int count;
};

static void await_result(struct results *results, uint64_t pc, int rt)
{
	int k = 0;

	while (k < results->count && results->places[k].pc != pc)
		k++;
	if (k == PLACES_MAX)
		fail("more reads of one kind than the plugin has room for");
	results->places[k] = (struct place){ .pc = pc, .rt = rt };
	results->count += k == results->count;
}

static void watch_result(void *insn, uint64_t pc, const struct results *results, code_callback cb)
{
	for (int k = 0; k < results->count; k++) {
		if (results->places[k].pc == pc)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, 0,
							       remembered(results->places[k]));
	}
}

static bool is_vector(uint64_t pc)
{
	return !(pc & 0x7F) &&
	       (pc - vectors < VECTORS_SIZE || (harden && pc - harden < 3 * VECTORS_SIZE));
}

static bool in_gic_handler(uint64_t pc)
{
	return pc - gic < (uint64_t)(gic_end - gic) || pc - gic3 < (uint64_t)(gic3_end - gic3);
}

static uint32_t code_of(const void *insn)
{
	uint32_t code = 0;

#if PLUGIN_API >= 3
	qemu_plugin_insn_data(insn, &code, sizeof(code));
#else
	memcpy(&code, qemu_plugin_insn_data(insn), sizeof(code));
#endif
	return code;
}

#define WFI_CODE 0xD503207Fu
#define ERET_CODE 0xD69F03E0u
#define MSR_DAIF 0xD51B4220u /* and the register, as in those below */
#define MSR_SPSR_EL1 0xD5184000u
#define MRS_ESR_EL1 0xD5385200u
#define MSR_CNTV_TVAL 0xD51BE300u
#define MSR_CNTV_CTL 0xD51BE320u
#define MSR_CNTV_CVAL 0xD51BE340u

static void watch_with_register(void *insn, uint64_t pc, uint32_t code)
{
	static const struct {
		uint32_t code;
		code_callback cb;
		int which;
	} watched[] = {
		{ MSR_DAIF, writes_mask, 0 },
		{ MSR_SPSR_EL1, writes_return_state, 0 },
		{ MSR_CNTV_TVAL, writes_timer, TIMER_TVAL },
		{ MSR_CNTV_CTL, writes_timer, TIMER_CTL },
		{ MSR_CNTV_CVAL, writes_timer, TIMER_CVAL },
	};

	for (size_t i = 0; i < ELEMENTS(watched); i++) {
		if ((code & ~31u) == watched[i].code)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, watched[i].cb, 0,
				remembered((struct place){
					.pc = pc, .rt = code & 31, .which = watched[i].which }));
	}
}

static void watch(void *insn, uint64_t pc, bool first)
{
	static struct results syndromes, iars;
	uint32_t code = code_of(insn), before;
	void *at = (void *)(uintptr_t)pc;

	/* it may sleep when all is translated anew: then what follows WFI is translated before it */
	if (first && read_memory(cpu, pc - 4, &before, sizeof(before)) && before == WFI_CODE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, wakes, 0, at);
	if (is_vector(pc))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, enters_vector, 0, at);
	watch_result(insn, pc, &syndromes, has_read_syndrome);
	watch_result(insn, pc, &iars, may_have_read_iar);
	if ((code & 0xFFFFF0FF) == 0xD50340DF && code >> 8 & 2)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, sets_mask, 0, at);
	else if ((code & 0xFFFFF0FF) == 0xD50340FF && code >> 8 & 2)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, clears_mask, 0, at);
	else if (code == ERET_CODE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, returns, 0, at);
	else if (code == WFI_CODE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, sleeps, 0, at);
	else if ((code & ~31u) == MRS_ESR_EL1)
		await_result(&syndromes, pc + 4, code & 31);
	else
		watch_with_register(insn, pc, code);
	/* LDR Wt, [Xn, #offset]; LDAR Wt, [Xn], which stands for it on a Cortex-A57 (erratum 832075) */
	if (in_gic_handler(pc) &&
	    ((code & 0xFFC00000) == 0xB9400000 || (code & 0xFFFFFC00) == 0x88DFFC00)) {
		int offset = code >> 24 == 0xB9 ? (code >> 10 & 0xFFF) * 4 : 0;

		await_result(&iars, pc + 4, code & 31);
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, may_read_iar, 0,
			remembered((struct place){ .rn = code >> 5 & 31, .offset = offset }));
	}
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
	masked = read_register(cpu, PSTATE) & MASK_I;
	stretch =
		(struct record){ .kind = STRETCH, .began_how = AT_BEGIN, .began_place = pc - base };
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
	const struct {
		const char *name;
		int64_t *value;
	} parameters[] = {
		{ "out=", &out_fd },	      { "from=", &from },	  { "base=", &base },
		{ "preempt=", &preempt },     { "vectors=", &vectors },	  { "harden=", &harden },
		{ "switch_to=", &switch_to }, { "gic=", &gic },		  { "gic_end=", &gic_end },
		{ "gic3=", &gic3 },	      { "gic3_end=", &gic3_end },
	};

	for (int i = 0; i < argc; i++) {
		for (size_t p = 0; p < ELEMENTS(parameters); p++) {
			size_t length = strlen(parameters[p].name);

			if (!strncmp(argv[i], parameters[p].name, length))
				*parameters[p].value = strtoll(argv[i] + length, NULL, 10);
		}
	}
	if (out_fd < 0)
		fail("no file descriptor to write to (out=)");
	if (!queue_tb_flush && !tb_flush)
		fail("this QEMU exports no way to translate code anew");
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translates, NULL);
	return 0;
}
