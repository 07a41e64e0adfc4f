/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* The Racquet's tasks (racquet.c). */
#define TASKS(T)                    \
	T(Raise, PING_TASK_LINE, 4) \
	T(Lower, FREE_LINE(0), 3)   \
	T(Tick, TIMER_LINE, 2)      \
	T(Echo, FREE_LINE(1), 2)    \
	T(Report, FREE_LINE(2), 1)  \
	T(Refill, MAINTENANCE_LINE, 1)
#define ALARMS(A) A(Now_and_then, Report)
