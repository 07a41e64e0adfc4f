/* EVL's threads of today, which take an argument; see dovetail.h. */
#ifndef TENNIS_EVL_THREAD_H
#define TENNIS_EVL_THREAD_H

#include "evl-common.h"

int evl_declared_run(struct evl_kthread *kthread, void (*fn)(void *arg), void *arg, int priority,
		     int clone_flags, const char *fmt, ...);

#define evl_run_kthread(__kthread, __fn, __arg, __priority, __clone_flags, __fmt, __args...) \
	evl_declared_run(__kthread, __fn, __arg, __priority, __clone_flags, __fmt, ##__args)

#endif /* TENNIS_EVL_THREAD_H */
