/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* The configuration of racquet.c: which tasks, resources and alarms there are. */
#ifndef HOLD_US
#define HOLD_US 0 /* --load hog says how long, and how often */
#endif
#ifndef PERIOD_US
#define PERIOD_US 3700
#endif

/*
 * [gap] 1: three tasks, each as T(name, line, priority). Raise has the ping's line, PING_TASK_LINE;
 * the others take FREE_LINE(0) and FREE_LINE(1). Priorities go from 1, the lowest, to 3.
 */
/* [solution] */
#define TASKS(T) T(Raise, PING_TASK_LINE, 3) T(Lower, FREE_LINE(0), 2) T(Audit, FREE_LINE(1), 1)
/* [/solution] */

/* [gap] 2: one resource, as R(name, ceiling), and each of its users, as U(task, resource). */
/* [solution] */
#define RESOURCES(R) R(Books, 2)
#define USERS(U) U(Lower, Books) U(Audit, Books)
/* [/solution] */

#define ALARMS(A) A(Due, Audit)
#define TICK_CYCLES (HOLD_US ? (uint32_t)(PERIOD_US * (BOARD_HZ / 1000000.0)) : 0)

#if !defined TASKS || !defined RESOURCES || !defined USERS
#error "racquet.h: the gaps are not filled yet"
#endif
