/* What xload uses of libevl's threads: declarations for a compile check. */
#ifndef _EVL_THREAD_H
#define _EVL_THREAD_H

#define EVL_CLONE_PRIVATE (1 << 0)
#define evl_attach_self(fmt, args...) evl_attach_thread(EVL_CLONE_PRIVATE, fmt, ##args)

int evl_attach_thread(int flags, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
