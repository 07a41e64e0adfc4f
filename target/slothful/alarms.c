/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* Alarms: the task Tick, on EL2's own timer, which Linux does not have. */
#include "slothful.h"

#ifdef ALARMS
static struct {
	uint64_t due, cycle; /* ticks; due 0: it is off */
} alarms[SLOTH_ALARMS];
#define A(name, task) (task),
static const enum task_line alarm_tasks[] = { ALARMS(A) };
#undef A

/* A more urgent task may set an alarm while Tick looks at it: then Tick's own change is dropped. */
static bool replace(uint64_t *due, uint64_t old, uint64_t new)
{
	return __atomic_compare_exchange_n(due, &old, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

void Tick_task(void)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int n = 0; n < SLOTH_ALARMS; n++) {
		uint64_t due = __atomic_load_n(&alarms[n].due, __ATOMIC_RELAXED);
		uint64_t cycle = alarms[n].cycle, now = counter();

		if (due && due <= now) {
			uint64_t later = cycle ? due + ((now - due) / cycle + 1) * cycle : 0;

			if (replace(&alarms[n].due, due, later))
				ActivateTask(alarm_tasks[n]);
			due = __atomic_load_n(&alarms[n].due, __ATOMIC_RELAXED);
		}
		if (due && due < next)
			next = due;
	}
	/* one that is due already comes at once: the line is a level */
	__asm__ volatile("msr cnthp_cval_el2, %0\n\tmsr cnthp_ctl_el2, %1\n\tisb" ::"r"(next),
			 "r"(next != UINT64_MAX ? 1ull : 0ull));
}

void SetRelAlarm(enum alarm alarm, uint64_t offset, uint64_t cycle)
{
	__atomic_store_n(&alarms[alarm].due, 0, __ATOMIC_RELAXED);
	alarms[alarm].cycle = cycle;
	__asm__ volatile("" ::: "memory"); /* one processor: the compiler's order is enough */
	__atomic_store_n(&alarms[alarm].due, counter() + offset, __ATOMIC_RELAXED);
	ActivateTask(Tick); /* sets the timer */
}

void CancelAlarm(enum alarm alarm)
{
	__atomic_store_n(&alarms[alarm].due, 0, __ATOMIC_RELAXED);
}
#endif
