/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is used of QEMU: a few declarations of its plugin API and of its internals, which the
 * executable exports because it is built with modules (Debian's, Ubuntu's and Fedora's are). Their
 * types are opaque here.
 */
#ifndef TENNIS_QEMU_H
#define TENNIS_QEMU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Not every distribution ships the plugin API's header. From version 7 on callbacks get other
 * arguments, and registering takes user data: those here take no notice of what they get, and an
 * argument too many does no harm, so one form fits all versions.
 */
#define EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
typedef void (*plugin_callback)(void);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, plugin_callback cb,
						  void *user_data);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, plugin_callback cb,
					   void *user_data);

typedef struct IRQState *qemu_irq;
enum { QEMU_CLOCK_VIRTUAL = 1 };
extern int64_t qemu_clock_get_ns(int clock);
extern void timer_init_full(void *timer, void *list_group, int clock, int scale, int attributes,
			    void (*callback)(void *opaque), void *opaque);
extern void timer_mod_ns(void *timer, int64_t expire_ns);
extern void timer_del(void *timer);
extern void *object_resolve_path_type(const char *path, const char *type, bool *ambiguous);
extern void *object_resolve_path(const char *path, bool *ambiguous);
extern uint64_t object_property_get_uint(void *object, const char *name, void *errp);
extern qemu_irq qdev_get_gpio_in(void *device, int line);
extern void qdev_connect_gpio_out(void *device, int line, qemu_irq irq);
extern qemu_irq qemu_allocate_irq(void (*handler)(void *opaque, int line, int level), void *opaque,
				  int line);
extern void qemu_set_irq(qemu_irq irq, int level);

/* A QEMUTimer is 48 to 64 bytes in QEMU 7 to 11; there is room to spare. */
typedef char qemu_timer[256];

#endif
