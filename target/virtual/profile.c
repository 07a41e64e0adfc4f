// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the guest's processors do while a ball waits: a second plugin, beside the instrument of a
 * rally that is played again.
 *
 * From the rally it knows when each ball of interest was served, and when its edges came. Nothing of
 * the guest is changed, and looking costs no virtual time: the host compares the balls with those of
 * the rally. What it finds is lanes.c's.
 *
 * Time. QEMU puts instructions on the virtual clock when a turn ends, or somebody reads the clock.
 * So each instruction that is executed meanwhile is counted here, and every moment is exact.
 *
 * With one processor the guest's code is translated anew, with that count, close to these times only;
 * elsewhere the guest runs as fast as without it. To translate anew ends a processor's turn, and so
 * does a timer: with several processors another one would have the rest of it, and the balls would be
 * others. So there all code is translated with the count from the beginning, and there is no timer.
 *
 * Locks. What a processor waits for is known when it enters the slow path of a lock, what it got when
 * it returns from there, and who gave it from the store that frees the lock.
 *
 * Waits for memory (memory.c) are told by way of the instrument, before the clock is moved by them.
 *
 * Parameters are file descriptors: windows, symbols, python (a struct python_layout; all are read at
 * once), out; and user, whose processes a program of somebody's own is. Formats: here, in lanes.h, and in tennis/bench/virtual/profiler.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "clock.h"
#include "inside.h"
#include "lanes.h"
#include "machine.h"
#include "parameters.h"
#include "python.h"

typedef void (*memory_callback)(unsigned int vcpu, uint32_t info, uint64_t address, void *data);
extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);
extern void qemu_plugin_register_vcpu_mem_cb(void *insn, memory_callback cb, int flags, int rw,
					     void *data);
/* Forget all translated code before the next instruction: QEMU 7 to 10.1, and newer ones. */
void tb_flush(void *cpu) __attribute__((weak));
void queue_tb_flush(void *cpu) __attribute__((weak));

EXPORT int qemu_plugin_version = PLUGIN_API;

/* --- what the host gives: struct window by time, struct symbol by address --- */
struct __attribute__((packed)) window {
	int64_t ball, served, rise,
		fall; /* ns of virtual time; without an edge: the window's end */
};

#define LEAD_NS 4000 /* so long before the serve stacks are followed */
#define STORES 2 /* of memory accesses */
#define SPINLOCK_SIZE 4
#define WAITS_MAX 64

static int64_t windows_fd = -1, symbols_fd = -1, out_fd = -1, python_fd = -1;
static struct window *windows;
static size_t window_count;

static enum { BEFORE, NEAR, RISING, FALLING } stage;
static size_t current; /* window */
static int64_t deadline = INT64_MAX, phase_began;
static bool connected, instrumented;
static qemu_timer timer;

/* Who waits for which lock now. */
static struct wait {
	struct lane *lane; /* where it began to */
	uint64_t lock, task, back; /* where it goes on when it has the lock */
	bool sleeps;
} waits[WAITS_MAX];
static size_t wait_count;

_Noreturn void fail(const char *message)
{
	fprintf(stderr, "profile: %s\n", message);
	_exit(3);
}

/* --- time --- */

static int64_t on_the_clock; /* instructions, when that was looked at */
static uint64_t executed; /* since */
static uint64_t last_pc; /* of the instruction that was executed last */

static void look_at_clock(void)
{
	if (timers()->instructions != on_the_clock) {
		on_the_clock = timers()->instructions;
		executed = 0;
	}
}

/* A block gets time back when it begins (cycles.c), so the latest moment counts. */
static int64_t exact_now(void)
{
	static int64_t latest;
	int64_t now;

	look_at_clock();
	now = timers()->bias + ((on_the_clock + (int64_t)executed) << timers()->shift);
	return latest = now > latest ? now : latest;
}

static void executes_instruction(unsigned int vcpu, void *data)
{
	look_at_clock();
	executed++;
	last_pc = (uintptr_t)data;
}

/* --- windows --- */

static bool counting(void)
{
	return stage > NEAR;
}

static void translate_anew(bool with_count)
{
	instrumented = with_count;
	if (queue_tb_flush)
		queue_tb_flush(qemu_get_cpu(0));
	else
		tb_flush(qemu_get_cpu(0));
}

/* A sleeper's processor may be at something else by now: so its task is named here. */
static void wait_happens(struct lane *lane, int64_t now, enum happening kind,
			 const struct wait *wait)
{
	lane_happens(lane, now, kind, wait->lock, wait->task | wait->sleeps, wait->task);
}

static void begin_phase(int64_t now)
{
	phase_began = now;
	for (int i = 0; i < lanes_count(); i++)
		lane_begins(lane_of(i), now);
	for (size_t w = 0; w < wait_count; w++)
		wait_happens(waits[w].lane, now, WANTS, &waits[w]);
}

static void end_phase(int phase, int64_t now)
{
	for (int i = 0; i < lanes_count(); i++) {
		struct head head = { .phase = phase, .processor = i };

		head.ball = windows[current].ball;
		head.began = phase_began;
		head.ended = now;
		lane_ends(lane_of(i), head, out_fd);
	}
}

static int64_t next_deadline(void)
{
	const struct window *window = &windows[current];

	if (current == window_count)
		return INT64_MAX;
	switch (stage) {
	case BEFORE:
		return window->served - LEAD_NS;
	case NEAR:
		return window->served;
	case RISING:
		return window->rise;
	default:
		return window->fall;
	}
}

static void leave_window(int64_t now)
{
	current++;
	stage = BEFORE;
	if (lanes_count() > 1 || !instrumented)
		return;
	if (current < window_count && windows[current].served - now <= 1000000)
		return;
	translate_anew(false);
	if (current < window_count)
		timer_mod_ns(timer, next_deadline());
}

/* Blocks are short, and nothing happens between two of them: what is due is done at the second one. */
static void meet_deadlines(int64_t now)
{
	for (; deadline <= now; deadline = next_deadline()) {
		switch (stage) {
		case BEFORE:
			for (int i = 0; i < lanes_count(); i++)
				lane_forget(lane_of(i));
			stage = NEAR;
			break;
		case NEAR:
			begin_phase(deadline);
			stage = RISING;
			break;
		case RISING:
			end_phase(0, deadline);
			begin_phase(deadline);
			stage = FALLING;
			break;
		case FALLING:
			end_phase(1, deadline);
			leave_window(now);
			break;
		}
	}
}

static void wake(void *opaque)
{
	static bool clock_checked;

	if (!clock_checked && !clock_is_known(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)))
		fail("the clock of this QEMU is not known: it cannot be explained here");
	if (clock_checked && !instrumented) {
		wait_count = 0; /* who got what meanwhile was not seen */
		translate_anew(true);
	}
	clock_checked = true;
	if (lanes_count() == 1 && !instrumented && window_count)
		timer_mod_ns(timer, next_deadline());
}

/* --- callbacks in translated code --- */

struct block {
	uint64_t pc;
	int32_t function;
};

static void got_lock(struct lane *lane, uint64_t pc, int64_t now)
{
	for (size_t w = 0; w < wait_count; w++) {
		if (waits[w].back != pc || waits[w].task != lane_task(lane))
			continue;
		if (counting())
			wait_happens(lane, now, GOT, &waits[w]);
		waits[w--] = waits[--wait_count];
	}
}

static void executes_block(unsigned int vcpu, void *data)
{
	const struct block *block = data;
	static struct lane *before;
	struct lane *lane = lane_here();
	int64_t now = exact_now();

	if (before)
		lane_ran(before, last_pc);
	before = lane;
	if (deadline <= now)
		meet_deadlines(now);
	if (counting())
		lane_accounts(lane, now);
	else
		lane_ignores(lane, now);
	if (stage != BEFORE)
		lane_enters(lane, block->pc, block->function, now);
	if (wait_count)
		got_lock(lane, block->pc, now);
}

static void stalls(unsigned int kind, int64_t ns)
{
	if (stage != BEFORE)
		lane_stalls(lane_here(), exact_now(), kind, ns);
}

static void switches(unsigned int vcpu, void *data)
{
	lane_switches(lane_here());
}

static void frees(unsigned int vcpu, uint32_t info, uint64_t address, void *data)
{
	for (size_t w = 0; counting() && w < wait_count; w++) {
		uint64_t lock = waits[w].lock;

		if (waits[w].sleeps || address < lock || address >= lock + SPINLOCK_SIZE)
			continue;
		lane_happens(lane_here(), exact_now(), GIVES, lock, 0, 0);
		return; /* once for all who wait for it */
	}
}

static void wants(struct lane *lane, uint64_t lock, bool sleeps)
{
	const struct wait wait = { lane, lock, lane_task(lane), lane_argument(lane, 30), sleeps };

	if (wait_count < WAITS_MAX)
		waits[wait_count++] = wait;
	if (counting())
		wait_happens(lane, exact_now(), WANTS, &wait);
}

static void sends(struct lane *lane, int64_t now)
{
	uint64_t mask = 0, number = 0; /* irq_data: mask (32 bits), irq (32), hwirq */

	read_memory(lane_cpu(lane), lane_argument(lane, 0) + 4, &number, sizeof(number));
	read_memory(lane_cpu(lane), lane_argument(lane, 1), &mask, sizeof(mask));
	lane_happens(lane, now, SENDS, number, mask, 0);
}

/* A function begins that does something which another processor may be the reason or the aim of. */
static void happens(unsigned int vcpu, void *data)
{
	enum happening kind = (uintptr_t)data;
	struct lane *lane = lane_here();
	uint64_t what = lane_argument(lane, 0);
	int64_t now;

	if (kind == WANTS || kind == SLEEPS) {
		wants(lane, what, kind == SLEEPS);
		return;
	}
	if (!counting())
		return;
	now = exact_now();
	switch (kind) {
	case SENDS:
		sends(lane, now);
		break;
	case TAKES:
		lane_happens(lane, now, TAKES, (uint32_t)what, 0, 0);
		break;
	case WAKES:
		lane_happens(lane, now, WAKES, what, 0, what);
		break;
	case MOVES:
		lane_happens(lane, now, MOVES, what, (uint32_t)lane_argument(lane, 1), what);
		break;
	case FIRES:
		lane_fires(lane, now);
		break;
	default:
		lane_happens(lane, now, kind, what, 0, 0);
	}
}

/* --- translation --- */

/* The first translated block: the machine exists by now, and this is the vCPU's thread. */
static void connect(void)
{
	connected = true;
	if (!lanes_connect())
		fail("the machine has no processor, or there is no memory");
	instrumented = lanes_count() > 1;
	if (&machine_stalls)
		machine_stalls = stalls;
	deadline = next_deadline();
	timer_init_full(timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, wake, NULL);
	timer_mod_ns(timer, 1000); /* before a second processor runs */
}

static void instrument(void *tb, uint64_t pc, int32_t function)
{
	uint64_t flags = function >= 0 ? symbols[function].flags : 0;
	enum happening kind = HAPPENING(flags);
	bool waits_there = kind == WANTS || kind == SLEEPS;
	struct block *block = malloc(sizeof(*block)); /* lives as long as the code may */

	if (!block)
		fail("no memory");
	*block = (struct block){ pc, function };
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executes_block, 0, block);
	if (kind && symbols[function].address == pc)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, happens, 0, (void *)(uintptr_t)kind);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		void *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_insn_exec_cb(insn, executes_instruction, 0,
						       (void *)(uintptr_t)(pc + 4 * i));
		if (lanes_count() > 1 && function >= 0 && !waits_there)
			qemu_plugin_register_vcpu_mem_cb(insn, frees, 0, STORES, NULL);
	}
}

/* Before version 7 of the plugin API the first argument is the plugin's id. */
static void translates(uintptr_t first, uintptr_t second)
{
	void *tb = (void *)(PLUGIN_API >= 7 ? first : second);
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	int32_t function = pc >= KERNEL_BEGIN ? function_at(pc) : USER;

	if (!connected)
		connect();
	if (function >= 0 && symbols[function].flags & SWITCH_TO && symbols[function].address == pc)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, switches, 0, NULL);
	if (instrumented)
		instrument(tb, pc, function);
}

static void *read_file(int fd, size_t record, size_t *count)
{
	struct stat status;
	char *data;

	if (fstat(fd, &status) || status.st_size % record)
		fail("a file is not what it should be");
	data = malloc(status.st_size + 1);
	for (off_t at = 0; data && at < status.st_size;) {
		ssize_t got = pread(fd, data + at, status.st_size - at, at);

		if (got <= 0)
			fail("a file cannot be read");
		at += got;
	}
	*count = status.st_size / record;
	return data;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	static const struct parameter parameters[] = {
		{ "windows", &windows_fd }, { "symbols", &symbols_fd }, { "user", &program_user },
		{ "python", &python_fd },   { "out", &out_fd },		{ 0 },
	};

	if (!parameters_read("profile", argc, argv, parameters, NULL))
		return -1;
	windows = read_file(windows_fd, sizeof(*windows), &window_count);
	symbols = read_file(symbols_fd, sizeof(*symbols), &symbol_count);
	if (!windows || !symbols)
		fail("no memory");
	if (python_fd >= 0 &&
	    pread(python_fd, &python_layout, sizeof(python_layout), 0) != sizeof(python_layout))
		fail("Python's layout cannot be read");
	if (!queue_tb_flush && !tb_flush)
		fail("this QEMU exports no way to translate code anew");
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translates, NULL);
	return 0;
}
