/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* The tasks that show what services cost (services.c). */
#define TASKS(T)                    \
	T(Raise, PING_TASK_LINE, 7) \
	T(Three, FREE_LINE(0), 6)   \
	T(Two, FREE_LINE(1), 5)     \
	T(Back, FREE_LINE(2), 5)    \
	T(One, FREE_LINE(3), 4)     \
	T(Next, FREE_LINE(4), 4)    \
	T(Echo, FREE_LINE(5), 2)    \
	T(Refill, MAINTENANCE_LINE, 1)
