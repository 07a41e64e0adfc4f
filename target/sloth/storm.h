/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* SHARED: the ceiling of what Lower and Work share. Below 2 it is wrong, and must be found. */
#ifndef SHARED
#define SHARED 2
#endif
#define TASKS(T) T(Raise, PING_TASK_LINE, 3) T(Lower, FREE_LINE(0), 2) T(Work, FREE_LINE(1), 1)
#define RESOURCES(R) R(Pair, SHARED) R(All, 3)
#if SHARED < 2 /* so nobody says who takes it: a build would refuse */
#define USERS(U)
#else
#define USERS(U) U(Lower, Pair) U(Work, Pair) U(Work, All)
#endif
#define ALARMS(A)
#define TICK_CYCLES 0
