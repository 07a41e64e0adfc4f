// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A shot with another priority: a second plugin, beside the instrument.
 *
 * In the child of a shot it writes the priority of the Racquet's interrupt thread, and of nothing
 * else, before the ping comes. So it does what sched_setscheduler() does to a thread that sleeps:
 * such a thread is in no queue of the scheduler's, and what it has there follows from the three
 * numbers when it wakes. A thread that does not sleep then, or that has no real-time priority, ends
 * the child: its row says so, and nothing is guessed. In the run that goes on nothing is written.
 *
 * The numbers are found in the target's memory, for any kernel without its offsets: struct
 * task_struct has on_rq, prio, static_prio, normal_prio and rt_priority one behind the other since
 * Linux 2.6.39, and comm at one distance in all tasks, also in kthreadd.
 *
 * Parameter: shots, a byte for each shot from the lowest on: its SCHED_FIFO priority, 0: as it is.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

EXPORT int qemu_plugin_version = PLUGIN_API;

extern void *qemu_ram_block_by_name(const char *name);
extern void *qemu_ram_get_host_addr(void *block);
extern uint64_t qemu_ram_get_used_length(void *block);

#define RAM_BLOCK "mach-virt.ram"
#define SHOTS_MAX 7 /* bytes of a positive number */
#define COMM_SIZE 16
/* the child's exit code: why it did nothing (tennis/play/shots.py) */
enum why { AWAKE = 5, NOT_FOUND, AMBIGUOUS };
#define USUAL 120 /* the priority of a task that has no other */
#define MAX_RT 100
#define THREADS_MAX 4
#define BEFORE_COMM 8192 /* bytes in which the numbers are, before the name */

struct numbers {
	int32_t on_rq, prio, static_prio, normal_prio;
	uint32_t rt_priority;
};

static int64_t shots;
static uint8_t *ram;
static uint64_t ram_size;

/* The next place behind `at` at which a task may have its name. */
static uint8_t *next_name(uint8_t *at, const char *begins)
{
	size_t length = strlen(begins);

	while ((at = memmem(at, ram + ram_size - at, begins, length))) {
		if (at - ram >= BEFORE_COMM && ram + ram_size - at >= COMM_SIZE &&
		    (at - ram) % 8 == 0)
			return at;
		at++;
	}
	return NULL;
}

/* Whether a task's name is so far behind its numbers: as kthreadd has them, which is never changed. */
static bool is_distance(size_t distance)
{
	static const uint32_t usual[] = { USUAL, USUAL, USUAL, 0 };
	size_t behind = distance - offsetof(struct numbers, prio);

	for (uint8_t *name = ram; (name = next_name(name, "kthreadd")); name++) {
		if (!name[strlen("kthreadd")] && !memcmp(name - behind, usual, sizeof(usual)))
			return true;
	}
	return false;
}

static bool is_racquets(const uint8_t *name)
{
	char text[COMM_SIZE + 1] = { 0 };

	memcpy(text, name, COMM_SIZE);
	return strlen(text) < COMM_SIZE && strstr(text, "-racq");
}

/* A priority of SCHED_FIFO or SCHED_RR that nobody lends it more than. */
static bool is_real_time(const struct numbers *numbers)
{
	return numbers->rt_priority > 0 && numbers->rt_priority < MAX_RT &&
	       numbers->static_prio == USUAL && numbers->prio == numbers->normal_prio &&
	       numbers->normal_prio == MAX_RT - 1 - (int)numbers->rt_priority;
}

/*
 * All that has the thread's name, as init sets the priority of all: also a second thread of the
 * interrupt, and one that has ended, in memory that the kernel has not given away since.
 */
static size_t find_threads(struct numbers *found[THREADS_MAX])
{
	size_t count = 0;

	for (uint8_t *name = ram; (name = next_name(name, "irq/")); name++) {
		for (size_t back = sizeof(**found); is_racquets(name) && back <= BEFORE_COMM;
		     back += 4) {
			struct numbers *numbers = (struct numbers *)(name - back);

			if (!is_real_time(numbers) || !is_distance(back))
				continue;
			if (count == THREADS_MAX)
				_exit(AMBIGUOUS);
			found[count++] = numbers;
		}
	}
	return count;
}

static void set_priority(int priority)
{
	struct numbers *threads[THREADS_MAX];
	size_t count = find_threads(threads);

	if (!count)
		_exit(NOT_FOUND);
	for (size_t i = 0; i < count; i++) {
		if (threads[i]->on_rq)
			_exit(AWAKE);
		threads[i]->rt_priority = priority;
		threads[i]->prio = threads[i]->normal_prio = MAX_RT - 1 - priority;
	}
}

static void in_the_child(void)
{
	int64_t number = machine_shot; /* the parent set it: the fork is not over */
	int priority = number >= 0 && number < SHOTS_MAX ? shots >> (8 * number) & 0xFF : 0;
	void *block = qemu_ram_block_by_name(RAM_BLOCK);

	if (!priority)
		return;
	if (!block)
		_exit(NOT_FOUND);
	ram = qemu_ram_get_host_addr(block);
	ram_size = qemu_ram_get_used_length(block);
	set_priority(priority);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	static const struct parameter parameters[] = { { "shots", &shots }, { 0 } };

	if (!parameters_read("priority", argc, argv, parameters, NULL))
		return -1;
	if (pthread_atfork(NULL, NULL, in_the_child)) {
		fprintf(stderr, "priority: no memory\n");
		return -1;
	}
	return 0;
}
