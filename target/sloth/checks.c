/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * OSEK's extended status, for builds with SLOTH_CHECKED: what a service must not be asked for is
 * refused, returned and given to ErrorHook. Each task's resources are the newest of one list, as
 * tasks nest: the one that runs has taken its own last.
 */
#include "sloth.h"

static struct resource *taken; /* the last one; each knows the one before it */

/* Return the line + 1 of the task that runs, from the processor's own number; 0: none. */
static uint32_t running(void)
{
	uint32_t exception;

	__asm__ volatile("mrs %0, ipsr" : "=r"(exception));
	return exception < 16 ? 0 : exception - 15;
}

/* Of an application that has no hook of its own. */
__attribute__((weak)) void ErrorHook(StatusType error)
{
	(void)error;
}

static uint32_t priority_of(uint32_t holder)
{
	switch (holder) {
#define T(name, line, priority) \
	case (line) + 1:        \
		return priority;
		TASKS(T)
#undef T
	default:
		return 0;
	}
}

static bool is_pending(TaskType task)
{
	return NVIC_ISPR(task >> 5) >> (task & 31) & 1;
}

static StatusType refuse(StatusType error)
{
	ErrorHook(error);
	return error;
}

StatusType ActivateTask(TaskType task)
{
	if (!priority_of(task + 1))
		return refuse(E_OS_ID);
	if (is_pending(task))
		return refuse(E_OS_LIMIT);
	sloth_pend(task);
	port_synchronise();
	return E_OK;
}

static StatusType may_end(void)
{
	if (!priority_of(running()))
		return E_OS_CALLEVEL;
	return taken && taken->holder == running() ? E_OS_RESOURCE : E_OK;
}

StatusType TerminateTask(void)
{
	StatusType error = may_end();

	if (error)
		return refuse(error);
	sloth_end();
	__builtin_unreachable();
}

StatusType ChainTask(TaskType task)
{
	StatusType error = may_end();

	if (!priority_of(task + 1))
		error = E_OS_ID;
	else if (!error && is_pending(task))
		error = E_OS_LIMIT;
	if (error)
		return refuse(error);
	port_chain(&NVIC_ISPR(task >> 5), 1u << (task & 31));
}

StatusType sloth_get(struct resource *resource, uint32_t ceiling)
{
	uint32_t holder = running();

	if (resource->holder || priority_of(holder) > ceiling)
		return refuse(E_OS_ACCESS);
	port_raise(resource, ceiling);
	resource->holder = holder ? holder : UINT32_MAX; /* what is no task may hold one, too */
	resource->under = taken;
	taken = resource;
	return E_OK;
}

StatusType sloth_release(struct resource *resource)
{
	uint32_t holder = running();

	if (taken != resource || resource->holder != (holder ? holder : UINT32_MAX))
		return refuse(E_OS_NOFUNC);
	taken = resource->under;
	resource->holder = 0;
	port_restore(resource);
	return E_OK;
}

/* A task's body returned: it ends whatever it holds, or nothing below would run any more. */
__attribute__((used)) void sloth_abandon(void)
{
	while (taken && taken->holder == running()) {
		struct resource *resource = taken;

		ErrorHook(E_OS_RESOURCE);
		taken = resource->under;
		resource->holder = 0;
		port_restore(resource);
	}
}
