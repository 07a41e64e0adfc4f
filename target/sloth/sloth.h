/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * SLOTH: tasks are interrupt handlers, and the interrupt controller (a Cortex-M's NVIC) schedules
 * them. After R. Mueller, "SLOTHFUL LINUX", Erlangen 2012, and the papers by Hofer, Lohmann and
 * others that it stands on; the interface is that of OSEK OS 2.2.3, all of it configured statically.
 *
 * - A task is a line of the NVIC; the line's priority is the task's. To activate it is to pend the
 *   line: one store. The hardware compares priorities, nests and dispatches; no scheduler exists.
 * - A resource's ceiling is the mask of the processor: who holds it is not preempted by any task up
 *   to the ceiling (the immediate priority ceiling protocol).
 * - Tasks run to completion on one stack.
 *
 * An application is a C file with a header of the same name, its configuration (CONFIG):
 *
 *	#define TASKS(T)      T(name, NVIC line, priority) ...   1, the lowest, to PORT_LEVELS - 1
 *	#define RESOURCES(R)  R(name, ceiling) ...
 *	#define USERS(U)      U(task, resource) ...              who takes what: compared with ceilings
 *	#define ALARMS(A)     A(name, task) ...
 *	#define TICK_CYCLES   cycles from one tick of the alarms to the next; 0: there are none
 *
 * It writes each task as TASK(name) { ... TerminateTask(); } and has an IdleHook, which runs once, at
 * the level of no task, when all tasks can run.
 *
 * Tasks of one priority do not preempt each other; the one with the lower line comes first. A task
 * that is pending already is not activated a second time (OSEK's conformance class BCC1).
 *
 * With SLOTH_CHECKED defined, services return OSEK's extended status and call ErrorHook (checks.c).
 */
#ifndef SLOTH_H
#define SLOTH_H

#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYST_CSR REGISTER(0xE000E010)
#define SYST_RVR REGISTER(0xE000E014)
#define SYST_CVR REGISTER(0xE000E018)
#define NVIC_ISER(word) REGISTER(0xE000E100 + 4 * (word))
#define NVIC_ICER(word) REGISTER(0xE000E180 + 4 * (word))
#define NVIC_ISPR(word) REGISTER(0xE000E200 + 4 * (word))
#define NVIC_IPR(word) REGISTER(0xE000E400 + 4 * (word)) /* Armv6-M takes whole words only */
#define SCB_SHPR3 REGISTER(0xE000ED20)

#include BOARD
#include CONFIG

/* --- the configuration: a task is its line, a resource and an alarm are numbers --- */
#define T(name, line, priority) name = (line),
enum task_line { TASKS(T) };
#undef T
#define T(name, line, priority) name##_priority = (priority),
enum task_priority { TASKS(T) };
#undef T
#define R(name, ceiling) name##_ceiling = (ceiling),
enum resource_ceiling { RESOURCES(R) SLOTH_NO_RESOURCE };
#undef R
#define A(name, task) name,
enum alarm { ALARMS(A) SLOTH_ALARMS };
#undef A

typedef uint32_t TaskType, AlarmType, TickType, StatusType;
enum sloth_status {
	E_OK,
	E_OS_ACCESS, /* the resource is taken, or its ceiling is below the caller */
	E_OS_CALLEVEL, /* a service that only a task may call */
	E_OS_ID, /* no such task or alarm */
	E_OS_LIMIT, /* the task is pending already */
	E_OS_NOFUNC, /* the resource is not the one that was taken last; the alarm is off */
	E_OS_RESOURCE, /* the task still has a resource */
	E_OS_STATE, /* the alarm is on already */
	E_OS_VALUE, /* in no ticks */
};

struct resource {
	uint32_t before; /* what was masked when it was taken */
#ifdef SLOTH_CHECKED
	struct resource *under; /* the one that was taken before it */
	uint32_t holder; /* the task's line + 1, 0: nobody */
#endif
};

#if __ARM_ARCH == 6
#include "port-v6m.h"
#else
#include "port-v7m.h"
#endif

#define T(name, line, priority)                                                     \
	_Static_assert((priority) > 0 && (priority) < PORT_LEVELS,                  \
		       #name ": this port has priorities from 1 to " PORT_HIGHEST); \
	_Static_assert((line) >= 0 && (line) < PORT_LINES, #name ": there is no such line");
TASKS(T)
#undef T
#define T(name, line, priority) +(1ull << (line))
enum { SLOTH_LINES_DIFFER = (0ull TASKS(T)) };
#undef T
#define T(name, line, priority) | (1ull << (line))
_Static_assert((0ull TASKS(T)) == SLOTH_LINES_DIFFER, "two tasks have the same line");
#undef T
#define R(name, ceiling)                                         \
	_Static_assert((ceiling) > 0 && (ceiling) < PORT_LEVELS, \
		       #name ": this port has ceilings from 1 to " PORT_HIGHEST);
RESOURCES(R)
#undef R
#define U(task, resource)                                               \
	_Static_assert((int)task##_priority <= (int)resource##_ceiling, \
		       #resource ": its ceiling is below its user " #task);
USERS(U)
#undef U

#define R(name, ceiling) extern struct resource name##_resource;
RESOURCES(R)
#undef R

extern uint32_t *sloth_frame; /* of the task that runs: where it began on the stack */

/* --- OSEK's services --- */
void sloth_end(void); /* of a task, also from a function that it called; does not return */

static inline void sloth_pend(TaskType task)
{
	NVIC_ISPR(task >> 5) = 1u << (task & 31);
}

#ifdef SLOTH_CHECKED
void ErrorHook(StatusType error);
StatusType ActivateTask(TaskType task);
StatusType TerminateTask(void); /* returns where it fails */
StatusType ChainTask(TaskType task); /* returns where it fails */
StatusType sloth_get(struct resource *resource, uint32_t ceiling);
StatusType sloth_release(struct resource *resource);
#define SLOTH_BODY_END "bl sloth_abandon\n\t"
#else
static inline StatusType ActivateTask(TaskType task)
{
	sloth_pend(task);
	port_synchronise(); /* a task of higher priority has run when we go on */
	return E_OK;
}

static inline _Noreturn void TerminateTask(void)
{
	sloth_end();
	__builtin_unreachable();
}

static inline _Noreturn void ChainTask(TaskType task)
{
	port_chain(&NVIC_ISPR(task >> 5), 1u << (task & 31));
}

static inline __attribute__((always_inline)) StatusType sloth_get(struct resource *resource,
								  uint32_t ceiling)
{
	port_raise(resource, ceiling);
	return E_OK;
}

static inline __attribute__((always_inline)) StatusType sloth_release(struct resource *resource)
{
	port_restore(resource);
	return E_OK;
}
#define SLOTH_BODY_END ""
#endif

#define GetResource(name) sloth_get(&name##_resource, name##_ceiling)
#define ReleaseResource(name) sloth_release(&name##_resource)

void introduce(const char *application); /* who plays: what a rally's folder keeps of it */
StatusType SetRelAlarm(AlarmType alarm, TickType offset, TickType cycle); /* cycle 0: once */
StatusType CancelAlarm(AlarmType alarm);
_Noreturn void StartOS(void);
void IdleHook(void);

/* The vector goes to a prologue, which keeps what the task must give back, and that to the body. */
#define TASK(name)                                                                    \
	__attribute__((used)) static void name##_body(void);                          \
	__attribute__((naked)) void name##_vector(void)                               \
	{                                                                             \
		__asm__ volatile(PORT_PROLOGUE "bl " #name "_body\n\t" SLOTH_BODY_END \
					       "bl sloth_end\n\t.ltorg");             \
	}                                                                             \
	static void name##_body(void)

#endif
