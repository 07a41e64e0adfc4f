/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
#define LOWER(T) T(One, FREE_LINE(0), 1) T(Next, FREE_LINE(1), 1)
#define HIGHER(T) T(Two, FREE_LINE(2), 2) T(Back, FREE_LINE(3), 2) T(Three, FREE_LINE(4), 3)
#define TASKS(T) LOWER(T) HIGHER(T)
#define RESOURCES(R) R(Middle, 2)
#define USERS(U) U(One, Middle) U(Two, Middle)
#define ALARMS(A)
#define TICK_CYCLES 0
