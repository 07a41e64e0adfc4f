/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * A Raspberry Pi Pico (RP2040). Only the emulator has run it so far; a test holds the addresses
 * against the chip's header files. The NVIC's lines from 26 on belong to no device.
 */
#define RESETS_AT 0x4000C000
#define CLOCKS_AT 0x40008000
#define XOSC_AT 0x40024000
#define PLL_AT 0x40028000
#define IO_AT 0x40014000
#define UART_AT 0x40034000
#define IO_INTR0 REGISTER(IO_AT + 0xF0)
#define IO_PROC0_INTE0 REGISTER(IO_AT + 0x100)
#define SIO_OUT_SET REGISTER(0xD0000014)
#define SIO_OUT_CLEAR REGISTER(0xD0000018)
#define SIO_OE_SET REGISTER(0xD0000024)

#define PING_TASK_LINE 13 /* IO_IRQ_BANK0 */
#define FREE_LINE(n) (26 + (n))
#define BOARD_HZ 125000000
#define PLL_DIVIDERS (6 << 16 | 2 << 12)
#define UART_DIVIDER (67 * 64 + 52)
#define NS_PER_INSTRUCTION 12 /* on average, of a loop of two: 3 cycles of 8 ns a round */

enum board_resets {
	IO_BANK0 = 1 << 5,
	PADS_BANK0 = 1 << 8,
	PLL_SYS = 1 << 12,
	UART0 = 1 << 22,
	BOARD_RESETS = IO_BANK0 | PADS_BANK0 | PLL_SYS | UART0,
};

/* The boot ROM jumps to the first word of a program in RAM, and knows of no vectors there. */
#define BOARD_ENTRY                                                            \
	__attribute__((naked, used, section(".entry"))) void board_entry(void) \
	{                                                                      \
		__asm__ volatile("ldr r0, =vectors\n\t"                        \
				 "ldr r1, =0xE000ED08\n\t"                     \
				 "str r0, [r1]\n\t"                            \
				 "ldm r0!, {r1, r2}\n\t"                       \
				 "msr msp, r1\n\t"                             \
				 "bx r2\n\t"                                   \
				 ".ltorg");                                    \
	}

/* Pads are connected from reset on. */
static inline void board_pads(void)
{
}

#include "board-pico.h"
