/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * What a Pico (RP2040) and a Pico 2 (RP2350) have in common: ping in at GP2, reply out at GP3, ready
 * out at GP4, the console at GP0 (UART0, 115200 baud). The board's header has the addresses and what
 * differs; all of the program is in RAM.
 */
#define CLEARS 0x3000 /* an alias of each register of a device, which clears bits */
#define RESETS_CLEAR REGISTER(RESETS_AT + CLEARS)
#define RESETS_DONE REGISTER(RESETS_AT + 8)
#define XOSC_CTRL REGISTER(XOSC_AT)
#define XOSC_STATUS REGISTER(XOSC_AT + 4)
#define XOSC_STARTUP REGISTER(XOSC_AT + 0xC)
#define PLL_CS REGISTER(PLL_AT)
#define PLL_PWR_CLEAR REGISTER(PLL_AT + 4 + CLEARS)
#define PLL_FBDIV REGISTER(PLL_AT + 8)
#define PLL_PRIM REGISTER(PLL_AT + 0xC)
#define CLK_REF_CTRL REGISTER(CLOCKS_AT + 0x30)
#define CLK_REF_SELECTED REGISTER(CLOCKS_AT + 0x38)
#define CLK_SYS_CTRL REGISTER(CLOCKS_AT + 0x3C)
#define CLK_SYS_SELECTED REGISTER(CLOCKS_AT + 0x44)
#define CLK_PERI_CTRL REGISTER(CLOCKS_AT + 0x48)
#define IO_CTRL(pin) REGISTER(IO_AT + 4 + 8 * (pin))
#define UART_DR REGISTER(UART_AT)
#define UART_FR REGISTER(UART_AT + 0x18)
#define UART_IBRD REGISTER(UART_AT + 0x24)
#define UART_FBRD REGISTER(UART_AT + 0x28)
#define UART_LCR_H REGISTER(UART_AT + 0x2C)
#define UART_CR REGISTER(UART_AT + 0x30)

enum board_lines { PING = 1 << 2, REPLY = 1 << 3, READY = 1 << 4, PING_RISES = 8 << 4 * 2 };

/* 12 MHz x 125 = 1500 MHz, divided to BOARD_HZ, as MicroPython has it. */
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
	PLL_PRIM = PLL_DIVIDERS;
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
	UART_IBRD = UART_DIVIDER / 64; /* BOARD_HZ / 16 / 115200, in 64ths */
	UART_FBRD = UART_DIVIDER % 64;
	UART_LCR_H = 3 << 5 | 1 << 4; /* 8 bits, FIFO */
	UART_CR = 1 << 8 | 1;
	SIO_OE_SET = REPLY | READY;
	IO_CTRL(0) = 2; /* UART0 TX */
	for (int pin = 2; pin < 5; pin++)
		IO_CTRL(pin) = 5; /* SIO */
	board_pads();
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
