/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * Where things lie on QEMU's virt board (GICv2, one Cortex-A57), and what EL2's registers say.
 * The monitor has the 2 MiB in front of the kernel's image; linux.dtsi tells Linux to keep out.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#define MONITOR_AT 0x40200000
#define MONITOR_SIZE 0x200000
#define SHARED_AT 0x40300000 /* what Linux sees of it: pipe.h */
#define KERNEL_AT 0x40400000

#define GICD_AT 0x08000000 /* distributor */
#define GICC_AT 0x08010000 /* CPU interface, two pages */
#define GICH_AT 0x08030000 /* virtual interface control */
#define GICV_AT 0x08040000 /* virtual CPU interface, two pages */
#define UART_AT 0x09000000
#define GPIO_AT 0x09030000 /* PL061 */

/* RW: EL1 is AArch64; IMO: interrupts come to EL2, whatever Linux masks; VM: stage 2 */
#define HCR_EL2 (1 << 31 | 1 << 4 | 1 << 0)
/* reserved ones, instruction cache, stack alignment, data cache, MMU */
#define SCTLR_EL2 0x30c51835
/* RES1, RES1; 40 bits of addresses out; inner shareable, write-back; 32 bits in */
#define TCR_EL2 (1 << 31 | 1 << 23 | 2 << 16 | 3 << 12 | 1 << 10 | 1 << 8 | 32)
/* RES1; 40 bits out; inner shareable, write-back; from level 1; 40 bits in */
#define VTCR_EL2 (1 << 31 | 2 << 16 | 3 << 12 | 1 << 10 | 1 << 8 | 1 << 6 | 24)

#endif
