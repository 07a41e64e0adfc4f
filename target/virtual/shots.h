/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shots: instants of one boot, each played in a child of QEMU's, which the others do not notice.
 */
#ifndef TENNIS_SHOTS_H
#define TENNIS_SHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHOT_EVENTS_MAX 32

/* What a child leaves behind: in memory that it shares with QEMU. */
struct shot {
	int64_t served; /* ns of virtual time; of a lost one, when it should have been */
	uint32_t rise, fall; /* ns since served, or all ones */
	uint32_t decided, events_count; /* a child with more events than there is room for ends */
	struct __attribute__((packed)) {
		uint64_t when;
		uint32_t what, value;
	} events[SHOT_EVENTS_MAX];
	/* of QEMU's own */
	int pid,
		lost; /* by which signal or with which exit code it ended too early; 0: it did not */
	bool hung;
};

/*
 * Read the instants from a file descriptor: 64-bit numbers in rising order, ns behind ``from``.
 * ``at_once`` children run side by side at most; after ``limit_ms`` of the host's time one hangs.
 */
void shots_read(int fd, int64_t from, int64_t now, int at_once, int64_t limit_ms);
bool shots_are_played(void);
bool shots_in_child(void);
size_t shots_begun(void); /* in a child: its number */
int64_t shots_instant(void); /* of the shot that is to be played next */
bool shots_all_begun(void);
/* How the next shot, of that instant, goes on; IN_CHILD: this is its child, which plays and calls shots_decided. */
enum shots_how { IN_CHILD, BEGUN, REFUSED }; /* REFUSED: the host gives no child, and why is said */
enum shots_how shots_fork(int64_t when, int frames_fd);
/* The earliest shot that was not taken yet, if it is over; ``wait``: until it is. */
const struct shot *shots_take(bool wait);
bool shots_are_full(void); /* one is to be taken before the next one begins */
void shots_end(void); /* children that are not taken are ended */

/* in a child */
void shots_keep_ball(int64_t served, uint32_t rise, uint32_t fall);
void shots_keep_event(int64_t when, uint32_t what, uint32_t value);
_Noreturn void shots_decided(void);

#endif
