/* What racquet_evl uses of EVL, except how its threads are started; see dovetail.h. */
#ifndef TENNIS_EVL_COMMON_H
#define TENNIS_EVL_COMMON_H

#include <linux/types.h>

#define EVL_FIFO_MAX_PRIO 99
#define EVL_CLONE_PRIVATE 0

struct evl_flag {
	bool raised;
};

struct evl_kthread {
	int unused;
};

int evl_is_running(void);
void evl_init_flag(struct evl_flag *flag);
void evl_destroy_flag(struct evl_flag *flag);
void evl_raise_flag(struct evl_flag *flag);
int evl_wait_flag(struct evl_flag *flag);
void evl_stop_kthread(struct evl_kthread *kthread);
bool evl_kthread_should_stop(void);

#endif /* TENNIS_EVL_COMMON_H */
