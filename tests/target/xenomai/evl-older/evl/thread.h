/* EVL's threads of older kernels, which are their own argument; see dovetail.h. */
#ifndef TENNIS_EVL_THREAD_H
#define TENNIS_EVL_THREAD_H

#include "evl-common.h"

int evl_declared_run(struct evl_kthread *kthread, void (*fn)(struct evl_kthread *kthread),
		     int priority, int clone_flags, const char *fmt, ...);

#define evl_run_kthread(__kthread, __fn, __priority, __clone_flags, __fmt, __args...) \
	evl_declared_run(__kthread, __fn, __priority, __clone_flags, __fmt, ##__args)

#endif /* TENNIS_EVL_THREAD_H */
