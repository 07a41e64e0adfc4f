/* What xload uses of libevl's clocks: declarations for a compile check. */
#ifndef _EVL_CLOCK_H
#define _EVL_CLOCK_H
#include <time.h>

#define EVL_CLOCK_MONOTONIC (-CLOCK_MONOTONIC)

int evl_read_clock(int clockfd, struct timespec *tp);
int evl_sleep_until(int clockfd, const struct timespec *timeout);

#endif
