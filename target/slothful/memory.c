/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * What Linux sees: all of the machine where it is, but not the monitor's memory and the controls of
 * virtual interrupts. Its CPU interface is the virtual one; distributor and GPIO chip trap.
 */
#include "slothful.h"

#define TABLE(name, entries) \
	uint64_t name[entries] __attribute__((aligned((entries) * 8 < 4096 ? 4096 : (entries) * 8)))
#define GIGA 30
#define MEGA2 21
#define PAGE 12
#define RAM_AT 0x40000000ull
#define LINUX_MAY (0xfu << 2 | 3 << 6 | 3 << 8 | 1 << 10) /* all that its own tables allow */
#define BLOCK 1
#define PAGE_OR_TABLE 3

TABLE(stage1, 4);
TABLE(stage2, 1024);
static TABLE(low, 512);
static TABLE(devices_gic, 512);
static TABLE(devices, 512);
static TABLE(ram, 512);
static TABLE(monitor, 512); /* 2 MiB of which Linux sees nothing but the shared pages */

#define GIC_PAGE(at) devices_gic[((at) - GICD_AT) >> PAGE]

void memory_start(void)
{
	for (uint64_t n = 0; n < 4; n++) /* the first holds devices, the others memory */
		stage1[n] = n << GIGA | 1 << 10 | 3 << 8 | (n ? 1 << 2 : 0) | BLOCK;
	for (uint64_t n = 0; n < 1024; n++)
		stage2[n] = n << GIGA | LINUX_MAY | BLOCK;
	for (uint64_t n = 0; n < 512; n++) {
		low[n] = n << MEGA2 | LINUX_MAY | BLOCK;
		ram[n] = (RAM_AT + (n << MEGA2)) | LINUX_MAY | BLOCK;
		devices_gic[n] = (GICD_AT + (n << PAGE)) | LINUX_MAY | PAGE_OR_TABLE;
		devices[n] = (UART_AT + (n << PAGE)) | LINUX_MAY | PAGE_OR_TABLE;
	}
	stage2[0] = (uintptr_t)low | PAGE_OR_TABLE;
	stage2[1] = (uintptr_t)ram | PAGE_OR_TABLE;
	low[GICD_AT >> MEGA2] = (uintptr_t)devices_gic | PAGE_OR_TABLE;
	low[UART_AT >> MEGA2] = (uintptr_t)devices | PAGE_OR_TABLE;
	devices[(GPIO_AT - UART_AT) >> PAGE] = 0;
	ram[(MONITOR_AT - RAM_AT) >> MEGA2] = (uintptr_t)monitor | PAGE_OR_TABLE;
	for (uint64_t at = SHARED_AT; at < SHARED_AT + sizeof(struct sloth_shared); at += 1 << PAGE)
		monitor[(at - MONITOR_AT) >> PAGE] = at | LINUX_MAY | PAGE_OR_TABLE;
	GIC_PAGE(GICD_AT) = 0;
	GIC_PAGE(GICC_AT) = GICV_AT | LINUX_MAY | PAGE_OR_TABLE;
	GIC_PAGE(GICC_AT + 0x1000) = (GICV_AT + 0x1000) | LINUX_MAY | PAGE_OR_TABLE;
	GIC_PAGE(GICH_AT) = 0;
	GIC_PAGE(GICV_AT) = 0;
	GIC_PAGE(GICV_AT + 0x1000) = 0;
}

/* The tasks' lines among those of a word that has 32 / each of them. */
static uint32_t tasks_bits(unsigned int first, unsigned int each)
{
	uint32_t bits = 0;

	for (unsigned int n = 0; n < 32 / each; n++)
		if (is_tasks_line(first + n))
			bits |= (each == 1 ? 1u : 3u) << n * each;
	return bits;
}

/* What Linux writes to the distributor, without what is a task's (Arm IHI 0048B, table 4-1). */
static void distributor_write(uint32_t at, unsigned int bytes, uint32_t value)
{
	uint32_t keep;

	if (at < 0x80)
		return; /* it is on, and stays on */
	if (at < 0x100) { /* groups */
		keep = tasks_bits((at - 0x80) * 8, 1);
		REGISTER(GICD_AT + at) = (REGISTER(GICD_AT + at) & keep) | (value & ~keep);
	} else if (at < 0x400) { /* set and clear: enabled, pending, active */
		REGISTER(GICD_AT + at) = value & ~tasks_bits((at & 0x7f) * 8, 1);
	} else if (at < 0xc00) { /* a byte a line: priorities, targets */
		for (unsigned int n = 0; n < bytes; n++)
			if (!is_tasks_line((at & 0x3ff) + n))
				REGISTER8(GICD_AT + at + n) = value >> n * 8;
	} else if (at < 0xd00) { /* edges or levels */
		keep = tasks_bits((at - 0xc00) * 4, 2);
		REGISTER(GICD_AT + at) = (REGISTER(GICD_AT + at) & keep) | (value & ~keep);
	} else if (at == 0xf00) { /* interrupts between processors */
		REGISTER(GICD_AT + at) = value;
	}
}

/* Linux gets the abort itself, as if nothing were at that address. */
static void refuse(struct registers *linux, uint64_t esr, uint64_t far)
{
	uint64_t vectors;
	bool from_kernel = (linux->pstate & 0xf) != 0, own_stack = linux->pstate & 1;

	shared->figures.refused++;
	/* the same syndrome, but an external abort; of class "same level" where it was the kernel */
	esr = (esr & ~0x3full & ~(1ull << 24)) | 0x10 | (from_kernel ? 1ull << 26 : 0);
	__asm__ volatile("mrs %0, vbar_el1" : "=r"(vectors));
	__asm__ volatile(
		"msr far_el1, %0\n\tmsr esr_el1, %1\n\tmsr elr_el1, %2\n\tmsr spsr_el1, %3" ::"r"(
			far),
		"r"(esr), "r"(linux->pc), "r"(linux->pstate));
	linux->pc = vectors + (!from_kernel ? 0x400 : own_stack ? 0x200 : 0);
	linux->pstate = 0x3c5;
}

/* A load or a store that trapped. With a syndrome it is done for Linux, without it is refused. */
void linux_accesses(struct registers *linux, uint64_t esr, uint64_t far, uint64_t address)
{
	bool described = esr & 1 << 24, write = esr & 1 << 6;
	unsigned int bytes = 1u << (esr >> 22 & 3), number = esr >> 16 & 31;
	uint32_t at = address & 0xfff, value = number < 31 ? linux->x[number] : 0;
	uint64_t page = address & ~0xfffull;

	if (!described || bytes > 4 || (page != GICD_AT && page != GPIO_AT)) {
		refuse(linux, esr, far);
		return;
	}
	shared->figures.trapped++;
	if (page == GPIO_AT)
		value = gpio_access(at & ~3u, write, value);
	else if (write)
		distributor_write(at, bytes, value);
	else
		value = bytes == 1 ? REGISTER8(GICD_AT + at) : REGISTER(GICD_AT + (at & ~3u));
	if (!write && number < 31)
		linux->x[number] = value;
	linux->pc += 4;
}
