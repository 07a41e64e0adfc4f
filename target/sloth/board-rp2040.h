/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * A Raspberry Pi Pico (RP2040), all of the program in its RAM: ping in at GP2, reply out at GP3,
 * ready out at GP4, the console at GP0 (UART0, 115200 baud). Only the emulator has run it so far.
 * The NVIC's lines from 26 on belong to no device.
 */
#define RESETS_CLEAR REGISTER(0x4000F000) /* the alias that clears bits */
#define RESETS_DONE REGISTER(0x4000C008)
#define XOSC_CTRL REGISTER(0x40024000)
#define XOSC_STATUS REGISTER(0x40024004)
#define XOSC_STARTUP REGISTER(0x4002400C)
#define PLL_CS REGISTER(0x40028000)
#define PLL_PWR_CLEAR REGISTER(0x4002B004)
#define PLL_FBDIV REGISTER(0x40028008)
#define PLL_PRIM REGISTER(0x4002800C)
#define CLK_REF_CTRL REGISTER(0x40008030)
#define CLK_REF_SELECTED REGISTER(0x40008038)
#define CLK_SYS_CTRL REGISTER(0x4000803C)
#define CLK_SYS_SELECTED REGISTER(0x40008044)
#define CLK_PERI_CTRL REGISTER(0x40008048)
#define IO_CTRL(pin) REGISTER(0x40014004 + 8 * (pin))
#define IO_INTR0 REGISTER(0x400140F0)
#define IO_PROC0_INTE0 REGISTER(0x40014100)
#define SIO_OUT_SET REGISTER(0xD0000014)
#define SIO_OUT_CLEAR REGISTER(0xD0000018)
#define SIO_OE_SET REGISTER(0xD0000024)
#define UART_DR REGISTER(0x40034000)
#define UART_FR REGISTER(0x40034018)
#define UART_IBRD REGISTER(0x40034024)
#define UART_FBRD REGISTER(0x40034028)
#define UART_LCR_H REGISTER(0x4003402C)
#define UART_CR REGISTER(0x40034030)
#define SCB_VTOR REGISTER(0xE000ED08)

#define PING_TASK_LINE 13 /* IO_IRQ_BANK0 */
#define FREE_LINE(n) (26 + (n))
#define BOARD_HZ 125000000
#define NS_PER_INSTRUCTION 12 /* on average, of a loop of two: 3 cycles of 8 ns a round */

enum board_resets {
	IO_BANK0 = 1 << 5,
	PADS_BANK0 = 1 << 8,
	PLL_SYS = 1 << 12,
	UART0 = 1 << 22,
	BOARD_RESETS = IO_BANK0 | PADS_BANK0 | PLL_SYS | UART0,
};
enum board_lines { PING = 1 << 2, REPLY = 1 << 3, READY = 1 << 4, PING_RISES = 8 << 4 * 2 };

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

/* 12 MHz x 125 / 6 / 2 = 125 MHz, as MicroPython has it. */
static inline void board_clock(void)
{
	XOSC_CTRL = 0xAA0;
	XOSC_STARTUP = 47; /* 1 ms */
	XOSC_CTRL = 0xFABAA0;
	while (!(XOSC_STATUS >> 31))
		;
	CLK_REF_CTRL = 2; /* the crystal */
	while (!(CLK_REF_SELECTED & 4))
		;
	PLL_CS = 1;
	PLL_FBDIV = 125;
	PLL_PWR_CLEAR = 1 << 0 | 1 << 5; /* on, and its oscillator */
	while (!(PLL_CS >> 31))
		;
	PLL_PRIM = 6 << 16 | 2 << 12;
	PLL_PWR_CLEAR = 1 << 3; /* the dividers behind it */
	CLK_SYS_CTRL = 1; /* the PLL */
	while (!(CLK_SYS_SELECTED & 2))
		;
	CLK_PERI_CTRL = 1 << 11; /* the UART's, from clk_sys */
}

static inline void board_start(void)
{
	RESETS_CLEAR = BOARD_RESETS;
	while (~RESETS_DONE & BOARD_RESETS)
		;
	board_clock();
	UART_IBRD = 67; /* 125 MHz / 16 / 115200 = 67 + 52 / 64 */
	UART_FBRD = 52;
	UART_LCR_H = 3 << 5 | 1 << 4; /* 8 bits, FIFO */
	UART_CR = 1 << 8 | 1;
	SIO_OE_SET = REPLY | READY;
	IO_CTRL(0) = 2; /* UART0 TX */
	for (int pin = 2; pin < 5; pin++)
		IO_CTRL(pin) = 5; /* SIO */
	IO_INTR0 = PING_RISES;
	IO_PROC0_INTE0 = PING_RISES;
}

static inline void reply_up(void)
{
	SIO_OUT_SET = REPLY;
}

static inline void reply_down(void)
{
	SIO_OUT_CLEAR = REPLY;
}

static inline void ping_seen(void)
{
	IO_INTR0 = PING_RISES;
}

static inline void ready_up(void)
{
	SIO_OUT_SET = READY;
}

/* A Brickwall is there before the target is. */
static inline void wait_for_instrument(void)
{
}

static inline void say(const char *text)
{
	while (*text) {
		while (UART_FR & 1 << 5) /* full */
			;
		UART_DR = *text++;
	}
}

/* Nobody to give the processor back to: it sleeps. */
static inline void board_end(void)
{
	for (;;)
		__asm__ volatile("wfi" ::: "memory");
}
