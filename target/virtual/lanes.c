// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each processor was at during a phase of a wait: its time by call stack, what came after what,
 * and what happened between processors.
 *
 * A lane is a processor's. When a translated block begins, its registers are looked at: the
 * exception level, whether interrupts are masked, and the chain of frame records that x29 points to,
 * which gives the call stack. The time until its next block is that stack's, asleep or while another
 * processor had its turn. Tasks are told apart by watching cpu_switch_to(previous, next), by their
 * addresses: threads of a program may have one name. Where a task has its name, its real-time priority
 * and its processors is found in the init task, whose name is "swapper". A task is a program's if its
 * user is.
 */
#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>

#include "inside.h"
#include "python.h"

#define SEGMENTS_MAX (1 << 20)
#define EVENTS_MAX (1 << 16)
#define STALLS_MAX (1 << 22)
#define PENDING_MAX 4096 /* waits for memory in a block of code */
#define FRAMES_MAX 128
#define PC 32 /* gdb's numbers of the registers */
#define PSTATE 33
#define MASK_I (1u << 7)
#define SVC 0xD4000001u /* svc #0: a call of the kernel */
#define NANOSLEEP 101 /* calls' numbers (asm-generic/unistd.h) */
#define CLOCK_NANOSLEEP 115

struct links {
	int32_t first_child, sibling;
};
struct frame {
	uint64_t at, return_address;
	int32_t node;
};
struct lane {
	void *cpu;
	int64_t since; /* the time until then is accounted for */
	int32_t here, root; /* nodes; -1: not known yet */
	uint32_t here_flags;
	bool of_program; /* the task */
	uint64_t last_pc; /* of the block before */
	struct python_cache python;
	uint64_t task;
	struct context switched_to; /* as it was then: the kernel is not read from user space */
	struct frame frames[FRAMES_MAX]; /* the outermost first */
	int depth;
	/* the calling context tree of a phase */
	struct node *nodes;
	struct links *links;
	size_t node_count, node_room;
	int32_t first_root;
	struct context contexts[1024];
	size_t context_count;
	struct segment *segments;
	size_t segment_count;
	struct event *events;
	size_t event_count;
	struct stalled *stalls;
	size_t stall_count, stall_room;
	struct stalled pending[PENDING_MAX]; /* not accounted for yet; without a node */
	size_t pending_count;
	uint32_t cut;
};

struct symbol *symbols;
size_t symbol_count;
int64_t program_user = -1;

static struct lane *lanes[LANES_MAX];
static int lane_count;
static int64_t name_offset = -1, priorities_offset = -1, allowed_offset = -1;

int32_t function_at(uint64_t pc)
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

/* Lines of a function are symbols, too. */
static bool of_one_function(int32_t one, int32_t other)
{
	while (one > 0 && symbols[one].flags & GOES_ON)
		one--;
	while (other > 0 && symbols[other].flags & GOES_ON)
		other--;
	return one == other;
}

bool lanes_connect(void)
{
	void *cpu;

	while (lane_count < LANES_MAX && (cpu = qemu_get_cpu(lane_count))) {
		struct lane *lane = calloc(1, sizeof(*lane));

		if (!lane)
			return false;
		lane->cpu = cpu;
		lane->segments = malloc(SEGMENTS_MAX * sizeof(*lane->segments));
		lane->events = malloc(EVENTS_MAX * sizeof(*lane->events));
		if (!lane->segments || !lane->events)
			return false;
		strcpy(lane->switched_to.name, "?");
		lane_forget(lane);
		lanes[lane_count++] = lane;
	}
	return lane_count > 0;
}

int lanes_count(void)
{
	return lane_count;
}

struct lane *lane_of(int cpu)
{
	return lanes[cpu];
}

/* With -icount, QEMU 10.0 to 11.1 tell callbacks for which processor code was translated. */
struct lane *lane_here(void)
{
	int i = 0;

	while (i < lane_count - 1 && lanes[i]->cpu != current_cpu)
		i++;
	return lanes[i];
}

uint64_t lane_argument(struct lane *lane, int number)
{
	return read_register(lane->cpu, number);
}

void *lane_cpu(const struct lane *lane)
{
	return lane->cpu;
}

uint64_t lane_task(const struct lane *lane)
{
	return lane->task;
}

/* --- tasks --- */

/* In this order in task_struct since Linux 2.6.23. */
struct priorities {
	int32_t prio, static_prio, normal_prio, rt_priority;
};
#define MAX_RT 100

/*
 * In this order since Linux 5.15: a pointer to the task's own mask of processors, one that is unset,
 * the mask.
 */
static void find_allowed(uint64_t task, const char *memory, size_t size)
{
	const uint64_t *words = (const uint64_t *)memory;

	for (size_t w = 0; w + 2 < size / 8 && allowed_offset < 0; w++) {
		if (words[w] == task + 8 * (w + 2) && !words[w + 1] && words[w + 2])
			allowed_offset = 8 * (w + 2);
	}
}

/*
 * The credentials are pointed to from just before the name; a key may be between. They begin with a
 * count of 4 or 8 bytes, then user and group: real, saved, effective, of files.
 */
static bool is_programs(struct lane *lane, uint64_t task)
{
	uint64_t places[2];
	uint32_t words[10];

	if (program_user < 0 || name_offset < 16 ||
	    !read_memory(lane->cpu, task + name_offset - 16, places, sizeof(places)))
		return false;
	for (int p = 0; p < 2; p++) {
		if (!read_memory(lane->cpu, places[p], words, sizeof(words)))
			continue;
		for (const uint32_t *user = words + 1; user < words + 3; user++) {
			if (user[0] == program_user && user[2] == user[0] && user[4] == user[0] &&
			    user[6] == user[0] && user[1] == user[3] && user[1] == user[5])
				return true;
		}
	}
	return false;
}

/* The first task that is switched away from is the init task: its name and priorities are known. */
static void find_names(struct lane *lane, uint64_t init_task)
{
	static const char name[] = "swapper";
	static const struct priorities usual = { 120, 120, 120, 0 };
	char memory[16384];

	if (!read_memory(lane->cpu, init_task, memory, sizeof(memory)))
		return;
	for (size_t at = 0; at + sizeof(usual) <= sizeof(memory) && priorities_offset < 0;
	     at += 4) {
		if (!memcmp(memory + at, &usual, sizeof(usual)))
			priorities_offset = at;
	}
	find_allowed(init_task, memory, sizeof(memory));
	for (size_t at = 0; at + sizeof(name) <= sizeof(memory); at += 8) {
		if (!memcmp(memory + at, name, sizeof(name) - 1)) {
			name_offset = at;
			return;
		}
	}
}

static bool read_name(struct lane *lane, uint64_t task, char name[16])
{
	return name_offset >= 0 && read_memory(lane->cpu, task + name_offset, name, 16);
}

/* The priority of SCHED_FIFO and SCHED_RR, 0: it has none, -1: not known. What is lent is not in it. */
static int32_t real_time_priority(struct lane *lane, uint64_t task)
{
	struct priorities found;

	if (priorities_offset < 0 ||
	    !read_memory(lane->cpu, task + priorities_offset, &found, sizeof(found)))
		return -1;
	if (found.rt_priority > 0 && found.rt_priority < MAX_RT &&
	    found.normal_prio == MAX_RT - 1 - found.rt_priority)
		return found.rt_priority;
	return !found.rt_priority && found.normal_prio == found.static_prio ? 0 : -1;
}

/* Besides its task and name. */
static void read_context(struct lane *lane, struct context *context)
{
	context->priority = real_time_priority(lane, context->task);
	context->of_program = is_programs(lane, context->task);
	if (allowed_offset >= 0)
		read_memory(lane->cpu, context->task + allowed_offset, &context->allowed,
			    sizeof(context->allowed));
}

void lane_switches(struct lane *lane)
{
	if (name_offset < 0)
		find_names(lane, read_register(lane->cpu, 0));
	lane->task = read_register(lane->cpu, 1);
	lane->switched_to = (struct context){ .task = lane->task };
	if (read_name(lane, lane->task, lane->switched_to.name))
		read_context(lane, &lane->switched_to);
	else
		strcpy(lane->switched_to.name, "?");
	lane->root = -1; /* looked up when the next block begins */
}

/* --- the tree --- */

static int32_t call_site(struct lane *lane, int32_t parent, int32_t function, uint64_t at)
{
	int32_t *link;

	for (int32_t n = parent < 0 ? lane->first_root : lane->links[parent].first_child; n >= 0;
	     n = lane->links[n].sibling) {
		if (lane->nodes[n].function == function && lane->nodes[n].at == at)
			return n;
	}
	if (lane->node_count == lane->node_room) {
		lane->node_room = lane->node_room ? 2 * lane->node_room : 4096;
		lane->nodes = realloc(lane->nodes, lane->node_room * sizeof(*lane->nodes));
		lane->links = realloc(lane->links, lane->node_room * sizeof(*lane->links));
		if (!lane->nodes || !lane->links)
			fail("no memory");
	}
	link = parent < 0 ? &lane->first_root : &lane->links[parent].first_child;
	lane->nodes[lane->node_count] =
		(struct node){ .parent = parent, .function = function, .at = at };
	lane->links[lane->node_count] = (struct links){ .first_child = -1, .sibling = *link };
	*link = lane->node_count;
	return lane->node_count++;
}

static int32_t child(struct lane *lane, int32_t parent, int32_t function)
{
	return call_site(lane, parent, function, 0);
}

static void enter_task(struct lane *lane)
{
	struct context context = { .task = lane->task };
	bool is_read = read_name(lane, lane->task, context.name);
	size_t c;

	if (!is_read)
		context = lane->switched_to;
	for (c = 0; c < lane->context_count; c++) {
		if (lane->contexts[c].task == context.task &&
		    !memcmp(lane->contexts[c].name, context.name, sizeof(context.name)))
			break;
	}
	if (c == lane->context_count) {
		if (lane->context_count == ELEMENTS(lane->contexts))
			c--; /* so many tasks in one wait: the last one stands for the rest */
		else {
			if (is_read)
				read_context(lane, &context);
			lane->contexts[lane->context_count++] = context;
		}
	}
	lane->root = child(lane, -1, c);
	lane->of_program = lane->contexts[c].of_program;
	lane->depth = 0;
}

/* --- waits for memory --- */

void lane_stalls(struct lane *lane, int64_t now, unsigned int kind, int64_t ns)
{
	if (lane->pending_count == PENDING_MAX)
		fail("more waits for memory in a block of code than there can be");
	lane->pending[lane->pending_count++] =
		(struct stalled){ .at = now, .kind = kind, .ns = ns };
}

static void keep(struct lane *lane, struct stalled stall)
{
	if (lane->stall_count == lane->stall_room) {
		lane->stall_room = lane->stall_room ? 2 * lane->stall_room : 4096;
		lane->stalls = realloc(lane->stalls, lane->stall_room * sizeof(*lane->stalls));
		if (!lane->stalls || lane->stall_room > STALLS_MAX)
			fail("more waits for memory in one wait than can be kept");
	}
	lane->stalls[lane->stall_count++] = stall;
}

/* Of a stall that a phase ends in, the rest is the next one's. */
static void passes(struct lane *lane, int64_t until, bool kept)
{
	size_t left = 0;

	for (size_t i = 0; i < lane->pending_count; i++) {
		struct stalled stall = lane->pending[i], rest = stall;
		int64_t end = stall.at + stall.ns;

		if (stall.at >= until) {
			lane->pending[left++] = stall;
			continue;
		}
		stall.node = lane->here;
		if (end > until) {
			stall.ns = until - stall.at;
			rest.at = until;
			rest.ns = end - until;
			rest.kind |= STALL_GOES_ON;
			lane->pending[left++] = rest;
		}
		if (kept)
			keep(lane, stall);
	}
	lane->pending_count = left;
}

void lane_ignores(struct lane *lane, int64_t until)
{
	passes(lane, until, false);
}

void lane_accounts(struct lane *lane, int64_t now)
{
	uint64_t ns = now - lane->since;
	uint64_t pc = lane->here_flags & USER_MODE ? lane->last_pc : 0;
	struct segment *last = lane->segment_count ? &lane->segments[lane->segment_count - 1]
						   : NULL;

	if (now <= lane->since)
		return;
	passes(lane, now, true);
	lane->since = now;
	lane->nodes[lane->here].ns += ns;
	if (lane->here_flags & MASKED)
		lane->nodes[lane->here].masked_ns += ns;
	if (!lane->cut && last && last->node == (uint32_t)lane->here &&
	    last->flags == lane->here_flags) {
		last->ns += ns;
		last->pc = pc;
	} else if (!lane->cut && lane->segment_count < SEGMENTS_MAX)
		lane->segments[lane->segment_count++] =
			(struct segment){ lane->here, lane->here_flags, ns, pc };
	else
		lane->cut++;
}

/*
 * Follow the frame records from x29 outwards as far as they are not known yet. The records of
 * callers do not change while their callee runs, and each return is seen, as the caller goes on
 * with a new block.
 */
static void walk(struct lane *lane, uint64_t x29)
{
	struct frame fresh[FRAMES_MAX];
	int found = 0, known;
	int32_t at;

	for (;;) {
		uint64_t record[2];

		for (known = lane->depth; known > 0 && lane->frames[known - 1].at != x29; known--)
			;
		if (known || found == FRAMES_MAX ||
		    !read_memory(lane->cpu, x29, record, sizeof(record)))
			break;
		fresh[found++] = (struct frame){ .at = x29, .return_address = record[1] };
		x29 = record[0];
	}
	lane->depth = known;
	at = known ? lane->frames[known - 1].node : lane->root;
	while (found && lane->depth < FRAMES_MAX) {
		struct frame frame = fresh[--found];

		if (frame.return_address >= KERNEL_BEGIN)
			at = child(lane, at, function_at(frame.return_address - 4));
		frame.node = at;
		lane->frames[lane->depth++] = frame;
	}
}

/* --- a program of somebody's own --- */

bool lane_reads(const struct lane *lane, uint64_t address, void *data, size_t size)
{
	return !cpu_memory_rw_debug(lane->cpu, address, data, size, false);
}

static int32_t program_function_at(uint64_t pc)
{
	int32_t function = pc < KERNEL_BEGIN ? function_at(pc) : UNKNOWN;

	return function >= 0 && symbols[function].flags & PROGRAM ? function : UNKNOWN;
}

/*
 * Its callers are found by frame records, as the kernel's are. A function that has none of its own
 * was called from where x30 points. Python's functions come before the C function that runs them.
 */
static int32_t program_stack(struct lane *lane, uint64_t pc)
{
	uint64_t places[FRAMES_MAX + 2] = { pc }, x29 = read_register(lane->cpu, 29);
	uint64_t x30 = read_register(lane->cpu, 30), record[2] = { 0, 0 };
	struct c_frame frames[FRAMES_MAX + 2] = { 0 };
	int32_t function = program_function_at(pc), node = child(lane, lane->root, USER);
	bool known = x29 && x29 < KERNEL_BEGIN && !(x29 & 7) &&
		     lane_reads(lane, x29, record, sizeof(record));
	int length = 1, python;

	if (program_function_at(x30 - 4) != function && x30 != record[1])
		places[length++] = x30 - 4;
	frames[length - 1].base = x29;
	while (known && length < FRAMES_MAX && record[1]) {
		frames[length].base = record[0];
		places[length++] = record[1] - 4;
		known = record[0] > x29 && record[0] < KERNEL_BEGIN && !(record[0] & 7);
		x29 = record[0];
		known = known && lane_reads(lane, x29, record, sizeof(record));
	}
	for (int f = 0; f < length; f++) {
		int32_t its = program_function_at(places[f]);

		frames[f].evaluates = its >= 0 && symbols[its].flags & EVALUATES;
	}
	python_finds(lane, frames, length, &lane->python);
	python = lane->python.count;
	while (length--) {
		int32_t its = program_function_at(places[length]);

		while (frames[length].evaluates && python &&
		       lane->python.frames[python - 1].base == frames[length].base)
			node = call_site(lane, node, PYTHON, lane->python.frames[--python].place);
		if (its >= 0)
			node = call_site(lane, node, its, length ? places[length] : 0);
	}
	return node;
}

/* What it calls the kernel with and what comes back: the arguments but the first one are kept. */
static void calls(struct lane *lane, enum happening kind, uint64_t pc, int64_t now)
{
	uint64_t number = read_register(lane->cpu, 8), what = read_register(lane->cpu, 0);
	uint64_t flags = read_register(lane->cpu, 1), place;
	int64_t asked[2];
	uint32_t instruction;

	if (!lane_reads(lane, pc, &instruction, sizeof(instruction)) || instruction != SVC)
		return;
	lane_happens(lane, now, kind, what, number << 32 | (uint32_t)flags, 0);
	place = number == CLOCK_NANOSLEEP	       ? read_register(lane->cpu, 2)
		: number == NANOSLEEP && kind == CALLS ? what
						       : 0;
	if (place && place < KERNEL_BEGIN && lane_reads(lane, place, asked, sizeof(asked)))
		lane_happens(lane, now, ASKS, asked[0] * 1000000000 + asked[1],
			     number == CLOCK_NANOSLEEP && flags & 1, 0);
}

/* A timer that a task sleeps for, as Linux has had it since 4.16: when it is due, and from when on. */
void lane_fires(struct lane *lane, int64_t now)
{
	uint64_t timer = read_register(lane->cpu, 0), task;
	int64_t due[2];

	if (read_memory(lane->cpu, timer + 24, due, sizeof(due)) &&
	    read_memory(lane->cpu, timer + 64, &task, sizeof(task)) && due[0] >= due[1])
		lane_happens(lane, now, FIRES, due[0] - due[1], task, 0);
}

void lane_ran(struct lane *lane, uint64_t pc)
{
	lane->last_pc = pc;
}

/* Find the stack of the block that begins at pc. */
void lane_enters(struct lane *lane, uint64_t pc, int32_t function, int64_t now)
{
	uint32_t pstate = read_register(lane->cpu, PSTATE);
	uint64_t x29, x30;
	int32_t caller, here;
	bool was_user = lane->here_flags & USER_MODE, is_user = !(pstate & 0xC);

	if (was_user && !is_user && lane->of_program && lane->here >= 0)
		calls(lane, CALLS, lane->last_pc, now);
	lane->here_flags = pstate & MASK_I ? MASKED : 0;
	if (lane->root < 0)
		enter_task(lane);
	if (is_user) { /* exception level 0 */
		lane->depth = 0;
		lane->here_flags |= USER_MODE;
		lane->here = lane->of_program ? program_stack(lane, pc)
					      : child(lane, lane->root, USER);
		if (!was_user && lane->of_program)
			calls(lane, RETURNS, pc - 4, now);
		return;
	}
	x29 = read_register(lane->cpu, 29);
	walk(lane, x29);
	here = lane->depth ? lane->frames[lane->depth - 1].node : lane->root;
	/*
	 * A function that has no frame record of its own (yet, or any more) was called from where x30
	 * points; in all others x30 points into themselves or is the record's. In the exception
	 * vectors it is the interrupted function's.
	 */
	x30 = read_register(lane->cpu, 30);
	caller = x30 >= KERNEL_BEGIN ? function_at(x30 - 4) : UNKNOWN;
	if (caller >= 0 && function >= 0 && !of_one_function(caller, function) &&
	    !(symbols[function].flags & ENTRY) &&
	    (!lane->depth || lane->frames[lane->depth - 1].return_address != x30))
		here = child(lane, here, caller);
	lane->here = child(lane, here, function);
}

void lane_happens(struct lane *lane, int64_t now, enum happening kind, uint64_t what,
		  uint64_t other, uint64_t named)
{
	struct event event = {
		.at = now, .kind = kind, .node = lane->here, .what = what, .other = other
	};

	if (named)
		read_name(lane, named, event.name);
	if (lane->event_count < EVENTS_MAX)
		lane->events[lane->event_count++] = event;
	else
		lane->cut++;
}

/* --- phases --- */

static void clear(struct lane *lane)
{
	lane->node_count = lane->segment_count = lane->context_count = lane->event_count = 0;
	lane->stall_count = 0;
	lane->cut = 0;
	lane->first_root = lane->root = -1;
	lane->depth = 0;
}

void lane_forget(struct lane *lane)
{
	clear(lane);
	lane->pending_count = 0;
	lane->python.count = 0;
	lane->here = -1;
}

void lane_begins(struct lane *lane, int64_t now)
{
	struct node path[2 * FRAMES_MAX];
	size_t length = 0;

	lane->since = now;
	lane_ignores(lane, now);
	if (lane->here < 0) { /* it has not run for a while: it is where it was */
		uint64_t pc = read_register(lane->cpu, PC);

		clear(lane);
		lane_enters(lane, pc, pc >= KERNEL_BEGIN ? function_at(pc) : USER, now);
		return;
	}
	for (int32_t n = lane->here; lane->nodes[n].parent >= 0; n = lane->nodes[n].parent) {
		if (length == ELEMENTS(path))
			fail("a call stack is deeper than there can be");
		path[length++] = lane->nodes[n];
	}
	clear(lane);
	enter_task(lane);
	lane->here = lane->root;
	while (length) {
		const struct node *node = &path[--length];

		lane->here = call_site(lane, lane->here, node->function, node->at);
	}
}

static void put(int fd, const void *data, size_t size)
{
	if (!write_whole(fd, data, size))
		fail("what was found cannot be written");
}

void lane_ends(struct lane *lane, struct head head, int fd)
{
	size_t place_count;
	const struct python_place *places = python_places(&place_count);

	lane_accounts(lane, head.ended);
	head.places = place_count;
	memcpy(head.magic, "TNP6", sizeof(head.magic));
	head.contexts = lane->context_count;
	head.nodes = lane->node_count;
	head.segments = lane->segment_count;
	head.events = lane->event_count;
	head.stalls = lane->stall_count;
	head.cut = lane->cut;
	put(fd, &head, sizeof(head));
	put(fd, lane->contexts, lane->context_count * sizeof(lane->contexts[0]));
	put(fd, lane->nodes, lane->node_count * sizeof(lane->nodes[0]));
	put(fd, lane->segments, lane->segment_count * sizeof(lane->segments[0]));
	put(fd, lane->events, lane->event_count * sizeof(lane->events[0]));
	put(fd, lane->stalls, lane->stall_count * sizeof(lane->stalls[0]));
	put(fd, places, place_count * sizeof(places[0]));
}
