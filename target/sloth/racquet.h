/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * The Racquet's tasks: the ping's edge is Raise, the top half; Lower is the bottom half. Hog, the
 * lowest, holds the resource Line for HOLD_US of each PERIOD_US; where CEILING lies decides who
 * waits: 3 both halves, 2 the bottom half, 1 nobody.
 */
#ifndef HOLD_US
#define HOLD_US 0 /* no hog */
#endif
#ifndef PERIOD_US
#define PERIOD_US 3700
#endif
#ifndef CEILING
#define CEILING 3
#endif
#define TASKS(T) T(Raise, PING_TASK_LINE, 3) T(Lower, FREE_LINE(0), 2) T(Hog, FREE_LINE(1), 1)
#define RESOURCES(R) R(Line, CEILING)
#define USERS(U) U(Hog, Line)
#define ALARMS(A) A(Due, Hog)
#define TICK_CYCLES (HOLD_US ? (uint32_t)(PERIOD_US * (BOARD_HZ / 1000000.0)) : 0)
