/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each processor was at during a phase of a wait, and what happened between them: lanes.c. */
#ifndef TENNIS_LANES_H
#define TENNIS_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANES_MAX 8

/* --- what the host gives of each function; in the second byte what it is when it begins --- */
struct __attribute__((packed)) symbol {
	uint64_t address, flags;
};
enum {
	ENTRY = 1,
	SWITCH_TO = 2,
	PROGRAM = 4,
	GOES_ON = 8, /* of the function before, on another line */
	EVALUATES = 16 /* runs Python's code */
};
enum happening {
	WANTS = 1, /* what: a lock that another has; other: the task; bit 0: sleeps until it gets it */
	GOT, /* what: the lock; other: as before */
	GIVES, /* what: a lock that somebody wants */
	SENDS, /* an interprocessor interrupt; what: its number, in the upper half that of its kind;
		* other: a mask of processors */
	TAKES, /* what: its number */
	WAKES, /* what: a task */
	MOVES, /* what: a task, other: the processor that it shall run on */
	SLEEPS, /* as WANTS: of functions that sleep until they have the lock */
	CALLS, /* a program calls the kernel; what: argument 0; other: argument 1, in the upper half
		* the call's number */
	RETURNS, /* the call is over; what: its result; other: as before */
	ASKS, /* it asks for a sleep; what: ns; other: 1: that is a time of day */
	FIRES, /* a sleeper's timer; what: ns by which the kernel might delay it; other: the task */
};
#define HAPPENING(flags) ((flags) >> 8 & 0xFF)

/* --- what the host gets of each phase and processor: head, and what it counts, in that order --- */
struct __attribute__((packed)) head {
	char magic[4]; /* "TNP6" */
	int32_t phase; /* 0: from the serve to the rise, 1: from there to the fall */
	int64_t ball, began, ended;
	uint32_t processor, contexts, nodes, segments, events, stalls;
	uint32_t cut; /* more segments or events than are kept */
	uint32_t places; /* lines of Python that are new: struct python_place of python.h */
};
struct __attribute__((packed)) context {
	uint64_t task;
	char name[16];
	int32_t priority; /* real-time; 0: none, -1: not known */
	uint32_t of_program; /* its user is the program's */
	uint64_t allowed; /* a mask of processors; 0: not known */
};
/* A function in its stack; a root (parent -1) stands for a task: its function is the context. */
struct __attribute__((packed)) node {
	int32_t parent, function;
	/* of a program's function: where it calls the next one; 0: it is the last one. Of PYTHON: the
	 * number of its place */
	uint64_t at;
	uint64_t ns, masked_ns; /* in itself; masked: with interrupts masked */
};
/* What it was at in a row. */
struct __attribute__((packed)) segment {
	uint32_t node, flags;
	uint64_t ns;
	uint64_t pc; /* the last instruction; in user space only */
};
enum { MASKED = 1, USER_MODE = 2 };
enum { USER = -2, UNKNOWN = -3, PYTHON = -4 }; /* in place of a function */
struct __attribute__((packed)) event {
	int64_t at;
	uint32_t kind;
	int32_t node;
	uint64_t what, other;
	char name[16]; /* of the task that waits, is woken or moved */
};

/* A wait for memory, which is a part of its node's time. */
struct __attribute__((packed)) stalled {
	int64_t at;
	uint32_t kind; /* STALL_KIND of machine.h; STALL_GOES_ON: it began in the phase before */
	int32_t node;
	uint64_t ns;
};
#define STALL_GOES_ON (1u << 31)

struct lane;

extern struct symbol *symbols;
extern size_t symbol_count;
/* whose processes a program of somebody's own is: only in them its addresses are functions */
extern int64_t program_user;
int32_t function_at(uint64_t pc);

bool lanes_connect(void); /* when the machine is there */
int lanes_count(void);
struct lane *lane_of(int cpu);
struct lane *lane_here(void); /* of the processor whose code runs */
uint64_t lane_argument(struct lane *lane, int number);
void *lane_cpu(const struct lane *lane);
/* As the code that runs now would read it. */
bool lane_reads(const struct lane *lane, uint64_t address, void *data, size_t size);
uint64_t lane_task(const struct lane *lane);
void lane_switches(struct lane *lane); /* cpu_switch_to(previous, next) begins */
void lane_ran(struct lane *lane, uint64_t pc); /* the last instruction of its block */
void lane_fires(struct lane *lane, int64_t now); /* hrtimer_wakeup(timer) begins */
void lane_enters(struct lane *lane, uint64_t pc, int32_t function, int64_t now);
void lane_accounts(struct lane *lane, int64_t now); /* what it was at until now */
void lane_happens(struct lane *lane, int64_t now, enum happening kind, uint64_t what,
		  uint64_t other, uint64_t named);
void lane_stalls(struct lane *lane, int64_t now, unsigned int kind, int64_t ns);
void lane_ignores(struct lane *lane, int64_t until); /* what it waited for memory until then */
void lane_forget(struct lane *lane); /* where it is */
void lane_begins(struct lane *lane, int64_t now); /* a phase */
void lane_ends(struct lane *lane, struct head head, int fd); /* writes what it found */
_Noreturn void fail(const char *message);

#endif
