/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine as an instrument sees it: a clock with deadlines, the ping line into the guest, the
 * reply line and the ready line out of it, the over line into it. Every edge is exact to the instruction with -icount.
 */
#ifndef TENNIS_MACHINE_H
#define TENNIS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parameters.h"
#include "qemu.h"

#define NEVER INT64_MAX

/* What an instrument does when something happens; now is in ns of virtual time. */
struct instrument {
	const char *name; /* of the plugin, in what it says */
	const struct parameter *parameters;
	void (*installed)(void); /* the parameters are there; the machine is not yet */
	void (*connected)(int64_t now); /* the machine is there and begins to run */
	void (*ready)(int64_t now); /* the guest raised the ready line, once */
	void (*reply)(int64_t now, bool up); /* the reply line changed */
	void (*ended)(int64_t now); /* QEMU ends: power off, panic, or SIGTERM from the host */
};

/* At most one deadline each is pending; a deadline at the time of another is met in set order. */
struct deadline {
	void (*met)(int64_t now);
	int64_t when, order;
	struct deadline *next; /* of all that there are */
	bool known, pending;
};

int machine_install(qemu_plugin_id_t id, int argc, char **argv,
		    const struct instrument *instrument);
int64_t machine_now(void);
bool machine_reply_is_up(void);
int machine_answers(void); /* the processor that drives the reply line now; -1: no code does */
void machine_set_ping(int64_t now, bool up);
void machine_say_over(void); /* raises the over line, for good */
void deadline_set(struct deadline *deadline, int64_t when);
void deadline_clear(struct deadline *deadline);

/*
 * For memory.c, a plugin of its own: this one was preloaded, so its names are known there. What it
 * does when the guest raised the ready line, and before QEMU ends; and by how many ns deadlines may
 * come too late while the processor waits for its memory.
 */
#define PRELOADED EXPORT __attribute__((weak)) /* not there while QEMU is asked what it takes */
PRELOADED void machine_tell(void (*is_ready)(void), void (*ends)(void));
extern PRELOADED int64_t machine_lag_ns;
extern PRELOADED int64_t machine_shot; /* in the child of a shot its number, from 0; else -1 */
/* For profile.c: called before each wait for memory; kind: STALL_KIND. NULL: nobody wants to know. */
extern PRELOADED void (*machine_stalls)(unsigned int kind, int64_t ns);
/* What is waited for, and where it was: as memory.c numbers causes, levels and devices. */
#define STALL_KIND(cause, where) ((unsigned int)(cause) << 4 | (where))
_Noreturn void machine_end(void); /* ends QEMU */

/* 32 random bits: mix(mix(seed) + (index + 1) * 0x9E3779B9) of kit-firmware/brickwall/gaps.py. */
uint32_t random_bits(int64_t seed, uint64_t index);
/* Uniform in [low, high), as gaps.py draws. */
int64_t random_between(int64_t seed, uint64_t index, int64_t low, int64_t high);

/* Write all, or end QEMU: nobody listens any more. */
void write_all(int fd, const void *data, size_t size);
_Noreturn void fail(const char *message);

#endif
