/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * A Raspberry Pi Pico 2 (RP2350), its Cortex-M33. Nobody has run it: no emulator of the chip was at
 * hand. A test holds the addresses against the chip's header files. Lines 46 to 51 of the NVIC belong
 * to no device.
 */
#define RESETS_AT 0x40020000
#define CLOCKS_AT 0x40010000
#define XOSC_AT 0x40048000
#define PLL_AT 0x40050000
#define IO_AT 0x40028000
#define UART_AT 0x40070000
#define IO_INTR0 REGISTER(IO_AT + 0x230)
#define IO_PROC0_INTE0 REGISTER(IO_AT + 0x248)
#define PADS_CTRL(pin) REGISTER(0x40038004 + 4 * (pin))
#define SIO_OUT_SET REGISTER(0xD0000018)
#define SIO_OUT_CLEAR REGISTER(0xD0000020)
#define SIO_OE_SET REGISTER(0xD0000038)

#define PING_TASK_LINE 21 /* IO_IRQ_BANK0 */
#define FREE_LINE(n) (46 + (n))
#define BOARD_HZ 150000000
#define PLL_DIVIDERS (5 << 16 | 2 << 12)
#define UART_DIVIDER (81 * 64 + 24)
#define NS_PER_INSTRUCTION 10 /* assumed: 3 cycles for a round of two instructions */

enum board_resets {
	IO_BANK0 = 1 << 6,
	PADS_BANK0 = 1 << 9,
	PLL_SYS = 1 << 14,
	UART0 = 1 << 26,
	BOARD_RESETS = IO_BANK0 | PADS_BANK0 | PLL_SYS | UART0,
};

/*
 * What tells the boot ROM that this is a program for its Arm processor: the block IMAGE_DEF (RP2350
 * datasheet, "Minimum Arm IMAGE_DEF"). The vectors are where the program begins, as it expects them.
 */
#define BOARD_ENTRY                                                                 \
	__attribute__((used, section(".vectors.definition"))) static const uint32_t \
		image_definition[] = { 0xffffded3, 0x10210142, 0x000001ff, 0, 0xab123579 };

/* Pads are isolated from reset on; an input's buffer is off. */
static inline void board_pads(void)
{
	PADS_CTRL(0) = 0x56; /* 4 mA, Schmitt trigger, input enabled: isolation off */
	for (int pin = 2; pin < 5; pin++)
		PADS_CTRL(pin) = 0x56;
}

#include "board-pico.h"
