// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of a virtual instrument that deals with QEMU: a TCG plugin for qemu-system-aarch64 that
 * instruments no guest code but WFI (idle.c). It uses one timer of the virtual clock and the GPIO
 * lines of the machine's PL061.
 *
 * Known answers: with answer_max the guest's replies are ignored, and every ping is answered here
 * after delays that are drawn from answer_seed: what an instrument must measure is then known.
 */
#include "machine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "idle.h"
#include "processors.h"

/* given by the build, which asks QEMU what it takes */
EXPORT int qemu_plugin_version = PLUGIN_API;

/* line 3 is the machine's power button */
static int64_t ping_line, reply_line = 1, ready_line = 2, over_line = 4;
static int64_t gpio; /* address of the PL061 with these lines; 0: there is only one */
static int64_t answer_seed, answer_min, answer_max;
static const struct parameter own_parameters[] = {
	{ "ping_line", &ping_line },
	{ "reply_line", &reply_line },
	{ "ready_line", &ready_line },
	{ "answer_seed", &answer_seed },
	{ "answer_min", &answer_min },
	{ "answer_max", &answer_max },
	{ "over_line", &over_line },
	{ "gpio", &gpio },
	{ "turn", &turn_ns },
	{ "fine_turn", &fine_turn_ns },
	{ 0 },
};

#define DEVICES_MAX 256

static const struct instrument *instrument;
static qemu_timer cold_timer, timer;
static struct deadline *deadlines;
static int64_t deadline_count;
static bool meeting; /* deadlines are being met: the timer is set when all are */
static qemu_irq ping, over;
static bool reply_up, was_ready;
static void (*also_ready)(void), (*also_ends)(void);

int64_t machine_lag_ns, machine_shot = -1;
void (*machine_stalls)(unsigned int kind, int64_t ns);

void machine_tell(void (*is_ready)(void), void (*ends)(void))
{
	also_ready = is_ready;
	also_ends = ends;
}

void machine_end(void)
{
	if (also_ends)
		also_ends();
	_exit(0);
}

int64_t machine_now(void)
{
	return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

bool machine_reply_is_up(void)
{
	return reply_up;
}

int machine_answers(void)
{
	return answer_max ? -1 : processors_executing();
}

static struct deadline *earliest(void)
{
	struct deadline *first = NULL;

	for (struct deadline *d = deadlines; d; d = d->next) {
		if (d->pending && (!first || d->when < first->when ||
				   (d->when == first->when && d->order < first->order)))
			first = d;
	}
	return first;
}

/* One timer for all deadlines, set once everything else is done: those of one time are met in set order. */
static void set_timer(void)
{
	struct deadline *first = earliest();

	if (meeting)
		return;
	if (first && first->when != NEVER)
		timer_mod_ns(timer, first->when);
	else
		timer_del(timer);
}

static void meet_deadlines(void *opaque)
{
	int64_t now = machine_now();

	meeting = true;
	for (struct deadline *d; (d = earliest()) && d->when <= now;) {
		d->pending = false;
		d->met(now);
	}
	meeting = false;
	set_timer();
}

void deadline_set(struct deadline *deadline, int64_t when)
{
	if (!deadline->known) {
		deadline->known = true;
		deadline->next = deadlines;
		deadlines = deadline;
	}
	deadline->when = when;
	deadline->order = deadline_count++;
	deadline->pending = true;
	set_timer();
}

void deadline_clear(struct deadline *deadline)
{
	if (!deadline->pending)
		return;
	deadline->pending = false;
	set_timer();
}

static uint32_t mix(uint32_t z)
{
	z = (z ^ z >> 16) * 0x7FEB352D;
	z = (z ^ z >> 15) * 0x846CA68B;
	return z ^ z >> 16;
}

uint32_t random_bits(int64_t seed, uint64_t index)
{
	return mix(mix(seed) + (uint32_t)(index + 1) * 0x9E3779B9);
}

int64_t random_between(int64_t seed, uint64_t index, int64_t low, int64_t high)
{
	/* 128 bits: a range of more than 4.29 s would overflow 64 */
	return low +
	       (int64_t)((unsigned __int128)random_bits(seed, index) * (uint64_t)(high - low) >>
			 32);
}

static void reply_level(int64_t now, bool up)
{
	bool outermost = !meeting;

	if (up == reply_up)
		return;
	reply_up = up;
	/* whatever the instrument does about it, the timer is set when it is done */
	meeting = true;
	instrument->reply(now, up);
	if (outermost) {
		meeting = false;
		set_timer();
	}
}

static void answer_rises(int64_t now)
{
	reply_level(now, true);
}

static void answer_falls(int64_t now)
{
	reply_level(now, false);
}

static struct deadline answer_rise = { .met = answer_rises }, answer_fall = { .met = answer_falls };

void machine_set_ping(int64_t now, bool up)
{
	static bool was_up;
	static uint64_t balls;

	if (up && !was_up)
		processors_look_closely(now);
	qemu_set_irq(ping, up);
	if (answer_max && up && !was_up) {
		int64_t rise = random_between(answer_seed, 2 * balls, answer_min, answer_max);
		int64_t width = random_between(answer_seed, 2 * balls + 1, answer_min, answer_max);

		balls++;
		deadline_set(&answer_rise, now + rise);
		deadline_set(&answer_fall, now + rise + width);
	}
	was_up = up;
}

void machine_say_over(void)
{
	qemu_set_irq(over, 1);
}

static void reply_edge(void *opaque, int line, int level)
{
	if (!answer_max)
		reply_level(machine_now(), level);
}

static void ready_edge(void *opaque, int line, int level)
{
	if (!level || was_ready)
		return;
	was_ready = true;
	if (also_ready)
		also_ready();
	meeting = true;
	instrument->ready(machine_now());
	meeting = false;
	set_timer();
}

/* A device's path says nothing about where it lies; the address of its registers does. */
static void *controller_at(uint64_t address)
{
	for (int i = 0; i < DEVICES_MAX; i++) {
		char path[64];
		void *registers;

		snprintf(path, sizeof(path), "/machine/unattached/device[%d]/pl061[0]", i);
		registers = object_resolve_path(path, NULL);
		if (!registers || object_property_get_uint(registers, "addr", NULL) != address)
			continue;
		*strrchr(path, '/') = 0;
		return object_resolve_path(path, NULL);
	}
	return NULL;
}

/* Wires up as soon as the machine exists. */
static void connect_lines(void *opaque)
{
	bool ambiguous = false;
	void *pl061 = gpio ? controller_at(gpio)
			   : object_resolve_path_type("", "pl061", &ambiguous);

	if (!pl061 || ambiguous)
		fail(gpio ? "the machine has no PL061 GPIO controller at that address"
			  : "the machine has no single PL061 GPIO controller");
	ping = qdev_get_gpio_in(pl061, ping_line);
	over = qdev_get_gpio_in(pl061, over_line);
	qdev_connect_gpio_out(pl061, reply_line, qemu_allocate_irq(reply_edge, NULL, reply_line));
	qdev_connect_gpio_out(pl061, ready_line, qemu_allocate_irq(ready_edge, NULL, ready_line));
	timer_init_full(timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, meet_deadlines, NULL);
	processors_connect();
	meeting = true;
	instrument->connected(machine_now());
	meeting = false;
	set_timer();
}

/*
 * At the first translated block the machine exists, and this is the vCPU's thread. (The plugin
 * API's vcpu_init callback comes too early: no machine yet.)
 */
static void translated(uintptr_t first, uintptr_t second)
{
	static bool done;

	idle_watch((void *)(PLUGIN_API >= 7 ? first : second));
	if (done)
		return;
	done = true;
	timer_init_full(cold_timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, connect_lines, NULL);
	timer_mod_ns(cold_timer, 1000);
}

static void at_exit(void)
{
	instrument->ended(machine_now());
}

void write_all(int fd, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		ssize_t wrote = write(fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			_exit(1);
		at += wrote;
		size -= wrote;
	}
}

_Noreturn void fail(const char *message)
{
	fprintf(stderr, "instrument: %s\n", message);
	_exit(3);
}

int machine_install(qemu_plugin_id_t id, int argc, char **argv, const struct instrument *given)
{
	instrument = given;
	if (!parameters_read(given->name, argc, argv, given->parameters, own_parameters))
		return -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no guest without its host */
	instrument->installed();
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translated, NULL);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
