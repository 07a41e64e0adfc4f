/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What plugins use that look into the guest, besides qemu.h: QEMU's callbacks in translated code,
 * registers, memory.
 */
#ifndef TENNIS_INSIDE_H
#define TENNIS_INSIDE_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "qemu.h"

typedef void (*code_callback)(unsigned int vcpu, void *data);
extern uint64_t qemu_plugin_tb_vaddr(const void *tb);
extern void qemu_plugin_register_vcpu_tb_exec_cb(void *tb, code_callback cb, int flags, void *data);

extern void *qemu_get_cpu(int index);
extern __thread void *current_cpu;
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

#define KERNEL_BEGIN 0xFFFF000000000000ull
#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/* gdb's numbers: 0 to 30, 31: the stack pointer, 32: the program counter, 33: PSTATE */
static inline uint64_t read_register(void *cpu, int number)
{
	static struct byte_array *bytes;
	uint64_t value = 0;

	if (!bytes)
		bytes = g_byte_array_new();
	g_byte_array_set_size(bytes, 0);
	aarch64_cpu_gdb_read_register(cpu, bytes, number);
	memcpy(&value, bytes->data, bytes->len < sizeof(value) ? bytes->len : sizeof(value));
	return value;
}

/* Of the kernel's memory. */
static inline bool read_memory(void *cpu, uint64_t address, void *data, size_t size)
{
	return address >= KERNEL_BEGIN && !cpu_memory_rw_debug(cpu, address, data, size, false);
}

/* Whether all was written. */
static inline bool write_whole(int fd, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		ssize_t wrote = write(fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return false;
		at += wrote;
		size -= wrote;
	}
	return true;
}

#endif
