/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * QEMU's lm3s6965evb, a Stellaris LM3S6965: GPIO port B (a PL061) with the lines of the virtual
 * bench, and the first UART as the console. Lines of devices that QEMU lacks are free for tasks.
 */
#define GPIO 0x40005000u
#define GPIO_DATA(mask) REGISTER(GPIO + ((mask) << 2))
#define GPIO_DIR REGISTER(GPIO + 0x400)
#define GPIO_IS REGISTER(GPIO + 0x404)
#define GPIO_IBE REGISTER(GPIO + 0x408)
#define GPIO_IEV REGISTER(GPIO + 0x40C)
#define GPIO_IM REGISTER(GPIO + 0x410)
#define GPIO_ICR REGISTER(GPIO + 0x41C)
#define GPIO_PDR REGISTER(GPIO + 0x514)
#define GPIO_DEN REGISTER(GPIO + 0x51C)
#define RCGC2 REGISTER(0x400FE108)
#define UART_DR REGISTER(0x4000C000)

#define PING_TASK_LINE 1 /* the NVIC's, of GPIO port B */
#define FREE_LINE(n) (9 + (n)) /* PWM and quadrature decoders: QEMU has none */
#ifndef NS_PER_INSTRUCTION
#define NS_PER_INSTRUCTION 2 /* of the virtual bench's time */
#endif
#define BOARD_HZ 12500000 /* of SysTick, as the clock is from reset on */

enum board_lines { PING = 1, REPLY = 2, READY = 4, OVER = 16 };

static inline void board_start(void)
{
	RCGC2 |= 2; /* the port's clock */
	(void)RCGC2;
	GPIO_DATA(REPLY | READY) = 0;
	GPIO_PDR = PING | OVER;
	GPIO_DEN = PING | REPLY | READY | OVER;
	GPIO_DIR = REPLY | READY;
	GPIO_IS = 0; /* edges */
	GPIO_IBE = 0; /* of one kind: */
	GPIO_IEV = PING; /* rising */
	GPIO_ICR = 0xFF;
	GPIO_IM = PING;
}

static inline void reply_up(void)
{
	GPIO_DATA(REPLY) = REPLY;
}

static inline void reply_down(void)
{
	GPIO_DATA(REPLY) = 0;
}

static inline void ping_seen(void)
{
	GPIO_ICR = PING;
}

static inline void ready_up(void)
{
	GPIO_DATA(READY) = READY;
}

/* The instrument looks at the lines 1 us after QEMU began; an edge before that is not seen. */
static inline void wait_for_instrument(void)
{
	for (volatile int i = 0; i < 1000; i++)
		;
}

static inline void say(const char *text)
{
	while (*text)
		UART_DR = *text++;
}

/* End QEMU, where it was started with -semihosting: SYS_EXIT, the application's own end. */
static inline void board_end(void)
{
	register uint32_t what __asm__("r0") = 0x18, why __asm__("r1") = 0x20026;

	__asm__ volatile("bkpt 0xab" ::"r"(what), "r"(why) : "memory");
}
