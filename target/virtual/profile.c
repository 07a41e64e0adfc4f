// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the guest's processor does while a ball waits: a second plugin, beside the instrument of a
 * rally that is played again.
 *
 * From the rally it knows when each ball of interest was served, and when its edges came. At these
 * times only, it has all guest code translated anew with a count of every executed instruction;
 * elsewhere the guest runs as fast as without it. Nothing of the guest is changed, and counting
 * costs no virtual time: the host compares the balls with those of the rally.
 *
 * A translated block belongs to one function. When a block begins, the registers are looked at:
 * the exception level, whether interrupts are masked, and the chain of frame records that x29
 * points to, which gives the call stack. So every instruction is counted for a stack. Tasks are told
 * apart by watching cpu_switch_to(previous, next); a task's name is found as the init task's,
 * "swapper".
 *
 * Parameters are file descriptors: windows, symbols (both read at once), out. Formats: below, and
 * tennis/bench/virtual/profiler.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "inside.h"

extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
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
struct __attribute__((packed)) symbol {
	uint64_t address, flags;
};
enum { ENTRY = 1, SWITCH_TO = 2 };

/* --- what the host gets, a window and phase at a time: head, contexts, nodes, segments --- */
struct __attribute__((packed)) head {
	char magic[4]; /* "TNP1" */
	int32_t phase; /* 0: from the serve to the rise, 1: from there to the fall */
	int64_t ball, began, ended;
	uint32_t contexts, nodes, segments, cut; /* cut: more segments than are kept */
};
struct __attribute__((packed)) context {
	uint64_t task;
	char name[16];
};
/* A function in its stack; a root (parent -1) stands for a task: its function is the context. */
struct __attribute__((packed)) node {
	int32_t parent, function;
	uint64_t instructions, masked; /* of its own; masked: those with interrupts masked */
};
/* What ran in a row. */
struct __attribute__((packed)) segment {
	uint32_t node, flags, instructions;
};
enum { MASKED = 1, USER_MODE = 2 };
enum { USER = -2, UNKNOWN = -3 }; /* in place of a function */

#define SEGMENTS_MAX (1 << 20)
#define FRAMES_MAX 128
#define LEAD_NS 4000 /* so long before the serve the guest's code is translated anew */
#define PSTATE 33 /* gdb's numbers of the registers */
#define MASK_I (1u << 7)

static int64_t windows_fd = -1, symbols_fd = -1, out_fd = -1;
static struct window *windows;
static struct symbol *symbols;
static size_t window_count, symbol_count;

static enum { BEFORE, NEAR, RISING, FALLING } stage;
static size_t current; /* window */
static bool counting, instrumented;
static int64_t phase_began;
static qemu_timer timer;
static void *cpu;

/* --- the calling context tree of a phase --- */
struct links {
	int32_t first_child, sibling;
};
static struct node *nodes;
static struct links *links;
static size_t node_count, node_room;
static struct segment *segments;
static size_t segment_count;
static uint32_t segments_cut;
static struct context contexts[1024];
static size_t context_count;

/* --- the processor as it was when the block began --- */
static uint64_t executed, accounted; /* instructions */
static int32_t here = -1; /* node; -1: not known yet */
static uint32_t here_flags;
static uint64_t task;
static int64_t name_offset = -1;
static char name_when_switched[16] = "?"; /* user space may have no kernel mapped (KPTI) */
static int32_t root = -1;
static struct frame {
	uint64_t at, return_address;
	int32_t node;
} frames[FRAMES_MAX]; /* the outermost first */
static int depth;

static _Noreturn void fail(const char *message)
{
	fprintf(stderr, "profile: %s\n", message);
	_exit(3);
}

static void write_all(const void *data, size_t size)
{
	if (!write_whole(out_fd, data, size))
		fail("what was found cannot be written");
}

/* --- symbols --- */

static int32_t function_at(uint64_t pc)
{
	size_t low = 0, high = symbol_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (symbols[middle].address <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (int32_t)(low - 1) : UNKNOWN;
}

/* --- tasks --- */

/* The first task that is switched away from is the init task, and its name is known. */
static void find_names(uint64_t init_task)
{
	static const char name[] = "swapper";
	char memory[16384];

	if (!read_memory(cpu, init_task, memory, sizeof(memory)))
		return;
	for (size_t at = 0; at + sizeof(name) <= sizeof(memory); at += 8) {
		if (!memcmp(memory + at, name, sizeof(name) - 1)) {
			name_offset = at;
			return;
		}
	}
}

static int32_t child(int32_t parent, int32_t function);

static void enter_task(void)
{
	struct context context = { .task = task };
	size_t c;

	if (name_offset < 0 ||
	    !read_memory(cpu, task + name_offset, context.name, sizeof(context.name)))
		memcpy(context.name, name_when_switched, sizeof(context.name));
	for (c = 0; c < context_count; c++) {
		if (!memcmp(&contexts[c], &context, sizeof(context)))
			break;
	}
	if (c == context_count) {
		if (context_count == ELEMENTS(contexts))
			c--; /* so many tasks in one wait: the last one stands for the rest */
		else
			contexts[context_count++] = context;
	}
	root = child(-1, c);
	depth = 0;
}

static void switches(unsigned int vcpu, void *data)
{
	if (!task)
		find_names(read_register(cpu, 0));
	task = read_register(cpu, 1);
	if (name_offset < 0 ||
	    !read_memory(cpu, task + name_offset, name_when_switched, sizeof(name_when_switched)))
		strcpy(name_when_switched, "?");
	if (counting)
		root = -1; /* looked up when the next block begins */
}

/* --- the tree --- */

static int32_t child(int32_t parent, int32_t function)
{
	static int32_t first_root;
	int32_t *link = parent < 0 ? &first_root : &links[parent].first_child;

	if (!node_count)
		first_root = -1;
	for (int32_t n = *link; n >= 0; n = links[n].sibling) {
		if (nodes[n].function == function)
			return n;
	}
	if (node_count == node_room) {
		node_room = node_room ? 2 * node_room : 4096;
		nodes = realloc(nodes, node_room * sizeof(*nodes));
		links = realloc(links, node_room * sizeof(*links));
		if (!nodes || !links)
			fail("no memory");
		link = parent < 0 ? &first_root : &links[parent].first_child;
	}
	nodes[node_count] = (struct node){ .parent = parent, .function = function };
	links[node_count] = (struct links){ .first_child = -1, .sibling = *link };
	*link = node_count;
	return node_count++;
}

/* Count what was executed since the last time for where that was. */
static void account(void)
{
	uint64_t count = executed - accounted;
	struct segment *last = segment_count ? &segments[segment_count - 1] : NULL;

	accounted = executed;
	if (!count || here < 0)
		return;
	nodes[here].instructions += count;
	if (here_flags & MASKED)
		nodes[here].masked += count;
	if (last && last->node == (uint32_t)here && last->flags == here_flags)
		last->instructions += count;
	else if (segment_count < SEGMENTS_MAX)
		segments[segment_count++] = (struct segment){ here, here_flags, count };
	else
		segments_cut++;
}

/*
 * Follow the frame records from x29 outwards as far as they are not known yet. The records of
 * callers do not change while their callee runs, and each return is seen, as the caller goes on
 * with a new block.
 */
static void walk(uint64_t x29)
{
	struct frame fresh[FRAMES_MAX];
	int found = 0, known;
	int32_t at;

	for (;;) {
		uint64_t record[2];

		for (known = depth; known > 0 && frames[known - 1].at != x29; known--)
			;
		if (known || found == FRAMES_MAX || !read_memory(cpu, x29, record, sizeof(record)))
			break;
		fresh[found++] = (struct frame){ .at = x29, .return_address = record[1] };
		x29 = record[0];
	}
	depth = known;
	at = depth ? frames[depth - 1].node : root;
	while (found && depth < FRAMES_MAX) {
		struct frame frame = fresh[--found];

		if (frame.return_address >= KERNEL_BEGIN)
			at = child(at, function_at(frame.return_address - 4));
		frame.node = at;
		frames[depth++] = frame;
	}
}

/* Find the stack of the block that begins at pc. */
static void enter(uint64_t pc, int32_t function)
{
	uint32_t pstate = read_register(cpu, PSTATE);
	uint64_t x29, x30;
	int32_t caller;

	here_flags = pstate & MASK_I ? MASKED : 0;
	if (root < 0)
		enter_task();
	if (!(pstate & 0xC)) { /* exception level 0 */
		depth = 0;
		here_flags |= USER_MODE;
		here = child(root, USER);
		return;
	}
	x29 = read_register(cpu, 29);
	walk(x29);
	here = depth ? frames[depth - 1].node : root;
	/*
	 * A function that has no frame record of its own (yet, or any more) was called from where x30
	 * points; in all others x30 points into themselves or is the record's. In the exception
	 * vectors it is the interrupted function's.
	 */
	x30 = read_register(cpu, 30);
	caller = x30 >= KERNEL_BEGIN ? function_at(x30 - 4) : UNKNOWN;
	if (caller >= 0 && caller != function && function >= 0 &&
	    !(symbols[function].flags & ENTRY) &&
	    (!depth || frames[depth - 1].return_address != x30))
		here = child(here, caller);
	here = child(here, function);
}

/* --- callbacks in translated code --- */

static void executes_instruction(unsigned int vcpu, void *data)
{
	executed++;
}

struct block {
	uint64_t pc;
	int32_t function;
};

static void executes_block(unsigned int vcpu, void *data)
{
	const struct block *block = data;

	if (!counting)
		return;
	account();
	enter(block->pc, block->function);
}

static void connect(void);

/* Before version 7 of the plugin API the first argument is the plugin's id. */
static void translates(uintptr_t first, uintptr_t second)
{
	void *tb = (void *)(PLUGIN_API >= 7 ? first : second);
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	int32_t function = pc >= KERNEL_BEGIN ? function_at(pc) : USER;
	struct block *block;

	if (!cpu)
		connect();
	if (function >= 0 && symbols[function].flags & SWITCH_TO && symbols[function].address == pc)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, switches, 0, NULL);
	if (!instrumented)
		return;
	block = malloc(sizeof(*block)); /* lives as long as the translated code may */
	if (!block)
		fail("no memory");
	*block = (struct block){ pc, function };
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executes_block, 0, block);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i),
						       executes_instruction, 0, NULL);
}

static void translate_anew(bool with_count)
{
	instrumented = with_count;
	if (queue_tb_flush)
		queue_tb_flush(cpu);
	else
		tb_flush(cpu);
}

/* --- windows --- */

static void begin_phase(int64_t now)
{
	node_count = segment_count = context_count = segments_cut = 0;
	here = root = -1;
	depth = 0;
	accounted = executed;
	phase_began = now;
	counting = true;
}

static void end_phase(int phase, int64_t now)
{
	struct head head = { .magic = { 'T', 'N', 'P', '1' }, .phase = phase };

	account();
	counting = false;
	head.ball = windows[current].ball;
	head.began = phase_began;
	head.ended = now;
	head.contexts = context_count;
	head.nodes = node_count;
	head.segments = segment_count;
	head.cut = segments_cut;
	write_all(&head, sizeof(head));
	write_all(contexts, context_count * sizeof(contexts[0]));
	write_all(nodes, node_count * sizeof(nodes[0]));
	write_all(segments, segment_count * sizeof(segments[0]));
}

static int64_t next_deadline(void)
{
	const struct window *window = &windows[current];

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

static void wake(void *opaque)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

	while (current < window_count && next_deadline() <= now) {
		switch (stage) {
		case BEFORE:
			if (!instrumented)
				translate_anew(true);
			stage = NEAR;
			break;
		case NEAR:
			begin_phase(now);
			stage = RISING;
			break;
		case RISING:
			end_phase(0, now);
			begin_phase(now);
			stage = FALLING;
			break;
		case FALLING:
			end_phase(1, now);
			stage = BEFORE;
			current++;
			if (current == window_count || windows[current].served - now > 1000000)
				translate_anew(false);
			break;
		}
	}
	if (current < window_count)
		timer_mod_ns(timer, next_deadline());
}

/* The first translated block: the machine exists by now, and this is the vCPU's thread. */
static void connect(void)
{
	cpu = qemu_get_cpu(0);
	if (!cpu)
		fail("the machine has no processor");
	timer_init_full(timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, wake, NULL);
	if (window_count)
		timer_mod_ns(timer, next_deadline());
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
	const struct {
		const char *name;
		int64_t *value;
	} parameters[] = {
		{ "windows=", &windows_fd },
		{ "symbols=", &symbols_fd },
		{ "out=", &out_fd },
	};

	for (int i = 0; i < argc; i++) {
		for (size_t p = 0; p < ELEMENTS(parameters); p++) {
			size_t length = strlen(parameters[p].name);

			if (!strncmp(argv[i], parameters[p].name, length))
				*parameters[p].value = strtoll(argv[i] + length, NULL, 10);
		}
	}
	windows = read_file(windows_fd, sizeof(*windows), &window_count);
	symbols = read_file(symbols_fd, sizeof(*symbols), &symbol_count);
	segments = malloc(SEGMENTS_MAX * sizeof(*segments));
	if (!windows || !symbols || !segments)
		fail("no memory");
	if (!queue_tb_flush && !tb_flush)
		fail("this QEMU exports no way to translate code anew");
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translates, NULL);
	return 0;
}
