/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the profile uses of QEMU besides qemu.h: its plugin API's callbacks, registers, memory. */
#ifndef TENNIS_PROFILE_H
#define TENNIS_PROFILE_H

#include <stddef.h>

#include "qemu.h"

typedef void (*code_callback)(unsigned int vcpu, void *data);
extern uint64_t qemu_plugin_tb_vaddr(const void *tb);
extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern void qemu_plugin_register_vcpu_tb_exec_cb(void *tb, code_callback cb, int flags, void *data);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);

extern void *qemu_get_cpu(int index);
extern int cpu_memory_rw_debug(void *cpu, uint64_t address, void *data, size_t size, bool write);

/* A GByteArray of GLib's, which QEMU brings along. */
struct byte_array {
	uint8_t *data;
	unsigned int len;
};
extern int aarch64_cpu_gdb_read_register(void *cpu, struct byte_array *into, int number);
/* from GLib */
struct byte_array *g_byte_array_new(void);
struct byte_array *g_byte_array_set_size(struct byte_array *array, unsigned int length);

/* Forget all translated code before the next instruction: QEMU 7 to 10.1, and newer ones. */
void tb_flush(void *cpu) __attribute__((weak));
void queue_tb_flush(void *cpu) __attribute__((weak));

#endif
