/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* SLOTH beneath Linux: from the boot loader to Linux at EL1, and from each exception to C. */
#include "layout.h"

	.section .head, "ax"
	.global	_start
_start:	b	enter			/* the header of an arm64 Image: any loader of those takes it */
	nop
	.quad	0			/* from a multiple of 2 MiB on */
	.quad	IMAGE_SIZE		/* the monitor's 2 MiB and the kernel's own size */
	.quad	0xa			/* little endian, pages of 4 KiB, anywhere */
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0

	.text
enter:	mov	x19, x0			/* the device tree, for Linux */
	ldr	x1, =stack_top
	mov	sp, x1
	ldr	x1, =vectors
	msr	vbar_el2, x1
	ldr	x1, =bss_start
	ldr	x2, =bss_end
1:	cmp	x1, x2
	b.hs	2f
	str	xzr, [x1], #8
	b	1b
2:	mrs	x0, CurrentEL
	bl	monitor_start

	/* stage 1: the monitor's memory is cached, as Linux' is; what both see would differ otherwise */
	ldr	x1, =stage1
	msr	ttbr0_el2, x1
	ldr	x1, =0xff04		/* attribute 0: device; 1: normal memory, write-back */
	msr	mair_el2, x1
	ldr	x1, =TCR_EL2
	msr	tcr_el2, x1
	tlbi	alle2
	dsb	sy
	isb
	ldr	x1, =SCTLR_EL2
	msr	sctlr_el2, x1
	isb

	/* what a kernel sets for itself when it is started at EL2, for a guest that owns all but interrupts */
	mrs	x1, midr_el1
	msr	vpidr_el2, x1
	mrs	x1, mpidr_el1
	msr	vmpidr_el2, x1
	mov	x1, #3			/* EL1 may read the counter and use its timer */
	msr	cnthctl_el2, x1
	msr	cntvoff_el2, xzr
	mov	x1, #0x33ff		/* floating point does not trap */
	msr	cptr_el2, x1
	msr	hstr_el2, xzr
	mrs	x1, pmcr_el0
	ubfx	x1, x1, #11, #5
	msr	mdcr_el2, x1		/* EL1 has all counters; debugging does not trap */
	ldr	x1, =0x30d00800
	msr	sctlr_el1, x1

	/* stage 2: what Linux sees */
	ldr	x1, =stage2
	msr	vttbr_el2, x1
	ldr	x1, =VTCR_EL2
	msr	vtcr_el2, x1
	ldr	x1, =HCR_EL2
	msr	hcr_el2, x1
	mov	x1, #0x3c5		/* EL1 with its own stack, all masked */
	msr	spsr_el2, x1
	ldr	x1, =KERNEL_AT
	msr	elr_el2, x1
	isb
	tlbi	vmalls12e1
	dsb	sy
	isb
	mov	x0, x19
	mov	x1, xzr
	mov	x2, xzr
	mov	x3, xzr
	eret

	/* what C may change; each register has its place in struct registers */
	.macro	save
	sub	sp, sp, #272
	stp	x0, x1, [sp]
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x17, [sp, #128]
	stp	x18, x19, [sp, #144]
	mrs	x0, elr_el2
	mrs	x1, spsr_el2
	stp	x30, x0, [sp, #240]
	str	x1, [sp, #256]
	.endm

	.balign	2048
vectors:
	.rept	5			/* with SP_EL0, which nobody uses; then a fault of the monitor's own */
	.balign	128
	b	broken
	.endr
	.balign	128			/* 0x280: a more urgent task comes */
	save
	bl	dispatch
	b	restore
	.rept	2
	.balign	128
	b	broken
	.endr
	.balign	128			/* 0x400: Linux calls, or did what it may not do */
	save
	b	from_linux
	.balign	128			/* 0x480: an interrupt while Linux runs, masked there or not */
	save
	bl	dispatch
	b	restore
	.rept	6
	.balign	128
	b	broken
	.endr

from_linux:				/* a load or a store may concern any register */
	stp	x20, x21, [sp, #160]
	stp	x22, x23, [sp, #176]
	stp	x24, x25, [sp, #192]
	stp	x26, x27, [sp, #208]
	stp	x28, x29, [sp, #224]
	mov	x0, sp
	bl	linux_traps
	ldp	x20, x21, [sp, #160]
	ldp	x22, x23, [sp, #176]
	ldp	x24, x25, [sp, #192]
	ldp	x26, x27, [sp, #208]
	ldp	x28, x29, [sp, #224]
restore:
	ldp	x30, x0, [sp, #240]
	ldr	x1, [sp, #256]
	msr	elr_el2, x0
	msr	spsr_el2, x1
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	ldp	x8, x9, [sp, #64]
	ldp	x10, x11, [sp, #80]
	ldp	x12, x13, [sp, #96]
	ldp	x14, x15, [sp, #112]
	ldp	x16, x17, [sp, #128]
	ldp	x18, x19, [sp, #144]
	ldp	x0, x1, [sp]
	add	sp, sp, #272
	eret

broken:	mrs	x0, esr_el2
	mrs	x1, elr_el2
	mrs	x2, far_el2
	bl	monitor_fault
