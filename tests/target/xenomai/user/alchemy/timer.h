/* What xload uses of the Alchemy API's timers: declarations for a compile check. */
#ifndef _ALCHEMY_TIMER_H
#define _ALCHEMY_TIMER_H
#include <alchemy/task.h>

typedef int64_t SRTIME;

SRTIME rt_timer_ns2ticks(SRTIME ns);

#endif
