/* What xload uses of the Alchemy API's tasks: declarations for a compile check. */
#ifndef _ALCHEMY_TASK_H
#define _ALCHEMY_TASK_H
#include <stdint.h>

#define T_JOINABLE 0x100
#define TM_NOW ((RTIME)0)

typedef uint64_t RTIME;
typedef struct RT_TASK {
	uintptr_t handle;
} RT_TASK;

int rt_task_create(RT_TASK *task, const char *name, int stksize, int prio, int mode);
int rt_task_start(RT_TASK *task, void (*entry)(void *arg), void *arg);
int rt_task_delete(RT_TASK *task);
int rt_task_join(RT_TASK *task);
int rt_task_set_periodic(RT_TASK *task, RTIME idate, RTIME period);
int rt_task_wait_period(unsigned long *overruns_r);

#endif
