/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * The GPIO chip (Arm PL061) has eight lines and one interrupt. Ping and reply are the tasks'; the
 * others are Linux', whose accesses trap and go on without what is not its own.
 */
#include "racquet.h"
#include "slothful.h"

#define GPIO_DATA_MAX 0x3fc
#define GPIO_IE 0x410
#define GPIO_RIS 0x414
#define GPIO_MIS 0x418
#define GPIO_IC 0x41c
#define GPIO_AFSEL 0x420

static uint32_t wanted; /* the lines whose interrupts Linux has turned on */

void gpio_start(void)
{
	GPIO(0x400) = REPLY; /* directions */
	GPIO_LINES(REPLY) = 0;
	GPIO(0x404) = 0; /* edges, */
	GPIO(0x408) = 0; /* of one kind: */
	GPIO(0x40c) = PING; /* rising */
	GPIO(GPIO_IC) = 0xff;
	GPIO(GPIO_IE) = PING;
}

/* In the task of the chip's interrupt: a line of Linux' rose. It stays silent until Linux clears it. */
void gpio_forward(uint32_t lines)
{
	interrupts_off();
	GPIO(GPIO_IE) &= ~lines;
	interrupts_on();
	inject(PING_TASK_LINE);
}

static uint32_t gpio_read(uint32_t at)
{
	if (at <= GPIO_DATA_MAX)
		return GPIO(at);
	if (at == GPIO_IE)
		return wanted;
	if (at == GPIO_MIS)
		return GPIO(GPIO_RIS) & wanted;
	if (at < GPIO_IE + 0x20)
		return GPIO(at) & ~TASKS_GPIO;
	return GPIO(at); /* who the chip is */
}

static void gpio_write(uint32_t at, uint32_t value)
{
	uint32_t linux_lines = value & 0xff & ~TASKS_GPIO;

	if (at <= GPIO_DATA_MAX) { /* the address says which lines */
		GPIO(at & ~(TASKS_GPIO << 2)) = value;
		return;
	}
	interrupts_off();
	if (at == GPIO_IE) {
		wanted = linux_lines;
		GPIO(GPIO_IE) = linux_lines | PING;
	} else if (at == GPIO_IC) {
		GPIO(GPIO_IC) = linux_lines;
		GPIO(GPIO_IE) |= linux_lines & wanted;
	} else if (at <= GPIO_AFSEL) {
		GPIO(at) = (GPIO(at) & TASKS_GPIO) | linux_lines;
	}
	interrupts_on();
}

uint32_t gpio_access(uint32_t at, bool write, uint32_t value)
{
	if (!write)
		return gpio_read(at);
	gpio_write(at, value);
	return 0;
}
