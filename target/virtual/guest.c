// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's kernel, seen from outside: a second plugin, beside the instrument of a trial.
 *
 * At moments that are chosen here it reads the kernel's list of modules and, whenever that has
 * changed and every now and then, its list of tasks. Of each edge of the reply line it notes who
 * made it: the chain of frame records that x29 points to. It notes, too, when some functions of the
 * kernel are called, and how QEMU says that the machine ended. Nothing of the guest is changed, and
 * looking costs no virtual time.
 *
 * Parameters: modules and init_task (addresses, as signed numbers), every (ns between two looks),
 * calls and out (file descriptors: addresses of functions, and what was seen). Formats: below, and
 * tennis/bench/virtual/guest.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "inside.h"
#include "parameters.h"

EXPORT int qemu_plugin_version = PLUGIN_API;

/* of QEMU: another handler for a device's line; the one that it had */
extern qemu_irq qdev_intercept_gpio_out(void *device, qemu_irq handler, const char *name, int line);
struct notifier {
	void (*notify)(struct notifier *notifier, void *data);
	void *next, **previous;
};
extern void qemu_register_shutdown_notifier(struct notifier *notifier);

/* --- what the host gets: a record after the other --- */
struct __attribute__((packed)) record {
	int64_t when; /* ns of virtual time */
	uint32_t kind, size; /* of what follows, in bytes */
};
enum {
	SAME = 1, /* the modules are as they were; nothing follows */
	LOOK, /* a struct counts, names of modules, tasks */
	EDGE, /* the level, then where its maker returns to, the innermost first; 8 bytes each */
	CALL, /* the number of the function, then the same; when: of the record before */
	END, /* QEMU's ShutdownCause, 8 bytes */
};
struct __attribute__((packed)) counts {
	uint32_t modules, tasks; /* BROKEN: the list cannot be followed */
};
#define BROKEN UINT32_MAX
struct __attribute__((packed)) task {
	uint64_t address;
	char name[16];
};
#define MODULE_NAME 56
#define MODULES_MAX 64
#define TASKS_MAX 2048
#define TASKS_MIN 5 /* the boot is so far that the list can be known as one */
#define FRAMES_MAX 128
#define SIZE_MAX_BYTES (64 << 20) /* then only the end is written: the host sees that looks lack */
#define TASKS_EVERY 50 /* looks */
#define INIT_TASK_SIZE 16384
#define REPLY_LINE 1
#define SOON_NS 50000
#define PSTATE 33
#define EXCEPTION_LEVEL 0xC /* of PSTATE; 0: user space */

/* of struct module, the same since Linux 2.6: a state, the list's link, the name */
#define MODULE_LINK 8
#define MODULE_NAME_AT 24

static int64_t modules_at, init_task, every = 1000000, calls_fd = -1, out_fd = -1;
static uint64_t calls[64];
static size_t call_count, written;
static qemu_timer timer;
static qemu_irq reply; /* the instrument's */
static void *cpu;
static int64_t name_offset = -1, link_offset = -1; /* in a task */
static char module_names[MODULES_MAX][MODULE_NAME];
static uint32_t module_count;
static struct task tasks[TASKS_MAX];
static int64_t now; /* in translated code the clock cannot be read: that of the last look or edge */
static unsigned int looks_since; /* the tasks were written; 0: they never were */

static _Noreturn void fail(const char *message)
{
	fprintf(stderr, "guest: %s\n", message);
	_exit(3);
}

static void write_out(const void *data, size_t size)
{
	if (!write_whole(out_fd, data, size))
		fail("what was seen cannot be written");
	written += size;
}

static bool begin_record(int kind, size_t size)
{
	struct record record = { now, kind, size };

	if (kind != END && written + sizeof(record) + size > SIZE_MAX_BYTES)
		return false;
	write_out(&record, sizeof(record));
	return true;
}

/* --- lists: only followed forward, as readers under RCU do, so that no moment is a bad one --- */

static uint32_t read_modules(char names[MODULES_MAX][MODULE_NAME])
{
	uint64_t at;
	uint32_t count = 0;

	if (!read_memory(cpu, modules_at, &at, sizeof(at)))
		return BROKEN;
	while (at != (uint64_t)modules_at) {
		if (count == MODULES_MAX ||
		    !read_memory(cpu, at - MODULE_LINK + MODULE_NAME_AT, names[count],
				 MODULE_NAME) ||
		    !read_memory(cpu, at, &at, sizeof(at)))
			return BROKEN;
		count++;
	}
	return count;
}

static bool is_name(const char name[16])
{
	if (!name[0])
		return false;
	for (int i = 0; i < 16; i++) {
		if (!name[i])
			return true;
		if (name[i] < ' ' || name[i] > '~')
			return false;
	}
	return false;
}

static uint32_t read_tasks(int64_t link)
{
	uint64_t at = init_task + link;
	uint32_t count = 0;

	do {
		struct task *task = &tasks[count];

		if (count == TASKS_MAX)
			return BROKEN;
		task->address = at - link;
		if (!read_memory(cpu, task->address + name_offset, task->name,
				 sizeof(task->name)) ||
		    !is_name(task->name) || !read_memory(cpu, at, &at, sizeof(at)))
			return BROKEN;
		count++;
	} while (at != (uint64_t)init_task + link);
	return count;
}

/*
 * So that no offsets are needed for any kernel: the name is where the init task's is, and the list
 * is the one that leads over tasks with names, kthreadd among them, back to where it began.
 */
static void find_offsets(void)
{
	static const char swapper[] = "swapper";
	static char memory[INIT_TASK_SIZE];

	if (!read_memory(cpu, init_task, memory, sizeof(memory)))
		return;
	for (name_offset = 0; memcmp(memory + name_offset, swapper, sizeof(swapper) - 1);
	     name_offset += 8) {
		if (name_offset + 24 > INIT_TASK_SIZE)
			return;
	}
	for (int64_t link = 0; link < name_offset; link += 8) {
		uint32_t count = read_tasks(link);

		if (count == BROKEN || count < TASKS_MIN)
			continue;
		for (uint32_t i = 0; i < count; i++) {
			if (!strcmp(tasks[i].name, "kthreadd"))
				link_offset = link;
		}
		if (link_offset >= 0)
			return;
	}
}

static void look(void)
{
	static char names[MODULES_MAX][MODULE_NAME];
	struct counts counts;
	uint32_t shown, listed;

	now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	if (link_offset < 0)
		find_offsets();
	if (link_offset < 0)
		return; /* the boot is not so far */
	counts.modules = read_modules(names);
	shown = counts.modules == BROKEN ? 0 : counts.modules;
	if (counts.modules == module_count && looks_since && ++looks_since < TASKS_EVERY &&
	    !memcmp(names, module_names, shown * MODULE_NAME)) {
		begin_record(SAME, 0);
		return;
	}
	memcpy(module_names, names, sizeof(names));
	module_count = counts.modules;
	looks_since = 1;
	counts.tasks = read_tasks(link_offset);
	listed = counts.tasks == BROKEN ? 0 : counts.tasks;
	if (!begin_record(LOOK, sizeof(counts) + shown * MODULE_NAME + listed * sizeof(tasks[0])))
		return;
	write_out(&counts, sizeof(counts));
	write_out(names, shown * MODULE_NAME);
	write_out(tasks, listed * sizeof(tasks[0]));
}

/* From user space the kernel's memory cannot be read; it changes nothing there, either. */
static bool in_kernel(void)
{
	return read_register(cpu, PSTATE) & EXCEPTION_LEVEL;
}

static void look_again(void *opaque)
{
	bool can = in_kernel();

	if (can)
		look();
	timer_mod_ns(timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + (can ? every : SOON_NS));
}

/* --- who does something --- */

static void tell_callers(int kind, uint64_t what)
{
	uint64_t told[2 + FRAMES_MAX] = { what, read_register(cpu, 30) };
	uint64_t at = read_register(cpu, 29), frame[2];
	size_t count = 2;

	while (count < ELEMENTS(told) && read_memory(cpu, at, frame, sizeof(frame)) && frame[1]) {
		told[count++] = frame[1];
		at = frame[0];
	}
	if (begin_record(kind, count * sizeof(told[0])))
		write_out(told, count * sizeof(told[0]));
}

static void reply_edge(void *opaque, int line, int level)
{
	static int was;

	now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	if (!level != !was)
		tell_callers(EDGE, !!level);
	was = level;
	qemu_set_irq(reply, level);
}

/* What the kernel does before it has a module does not count. */
static void is_called(unsigned int vcpu, void *number)
{
	static char names[MODULES_MAX][MODULE_NAME];
	static bool had_a_module;

	had_a_module = had_a_module || read_modules(names);
	if (had_a_module)
		tell_callers(CALL, (uintptr_t)number);
}

static void connect(void *opaque);

/* Before version 7 of the plugin API the first argument is the plugin's id. */
static void translates(uintptr_t first, uintptr_t second)
{
	void *tb = (void *)(PLUGIN_API >= 7 ? first : second);
	uint64_t pc = qemu_plugin_tb_vaddr(tb);

	if (!cpu) { /* the machine exists by now */
		cpu = qemu_get_cpu(0);
		if (!cpu)
			fail("the machine has no processor");
		timer_init_full(timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, connect, NULL);
		timer_mod_ns(timer, every); /* the instrument is connected by then */
	}
	for (uintptr_t i = 0; i < call_count; i++) {
		if (calls[i] == pc)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, is_called, 0, (void *)i);
	}
}

static void connect(void *opaque)
{
	bool ambiguous = false;
	void *pl061 = object_resolve_path_type("", "pl061", &ambiguous);

	if (!pl061 || ambiguous)
		fail("the machine has no single PL061 GPIO controller");
	reply = qdev_intercept_gpio_out(pl061, qemu_allocate_irq(reply_edge, NULL, REPLY_LINE),
					NULL, REPLY_LINE);
	timer_init_full(timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, look_again, NULL);
	look_again(NULL);
}

static void ends(struct notifier *notifier, void *cause)
{
	uint64_t why = *(const int *)cause;

	now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	if (cpu && in_kernel())
		look();
	if (begin_record(END, sizeof(why)))
		write_out(&why, sizeof(why));
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	static struct notifier at_end = { .notify = ends };
	static const struct parameter parameters[] = {
		{ "modules", &modules_at }, { "init_task", &init_task }, { "every", &every },
		{ "calls", &calls_fd },	    { "out", &out_fd },		 { 0 },
	};
	ssize_t got;

	if (!parameters_read("guest", argc, argv, parameters, NULL))
		return -1;
	got = pread(calls_fd, calls, sizeof(calls), 0);
	if (got < 0 || got % sizeof(calls[0]))
		fail("the functions' addresses cannot be read");
	call_count = got / sizeof(calls[0]);
	qemu_register_shutdown_notifier(&at_end);
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translates, NULL);
	return 0;
}
