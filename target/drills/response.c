// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * response - from an edge that the target itself makes to the handler of its interrupt: table 10 of
 * Arm, Bradac, Kaczmarczyk (2016). The reply line must be wired to the ping line.
 *
 * A repetition begins before the line is raised and ends in the handler, which lowers it.
 */
#define DRILL_PREPARE
#include "drill.h"

#include <linux/interrupt.h>

DRILL_SEMAPHORE(seen);
static struct gpio_desc *response_ping;
static u64 response_begin_ns;

static irqreturn_t response_handler(int irq, void *unused)
{
	u64 end_ns = drill_now();

	drill_line(0);
	if (drill.done < drill.repetitions)
		drill_keep(response_begin_ns, end_ns);
	drill_post(&seen);
	return IRQ_HANDLED;
}

static int drill_prepare(void)
{
	int err;

	response_ping = gpiod_get(NULL, "ping", GPIOD_IN);
	if (IS_ERR(response_ping)) {
		pr_err("no line %u to listen to\n", ping_line);
		return PTR_ERR(response_ping);
	}
	/* in the hard interrupt, also on PREEMPT_RT */
	err = request_irq(gpiod_to_irq(response_ping), response_handler,
			  IRQF_TRIGGER_RISING | IRQF_NO_THREAD, "drill", NULL);
	if (err) {
		pr_err("no interrupt of line %u\n", ping_line);
		gpiod_put(response_ping);
	}
	return err;
}

static void drill_release(void)
{
	free_irq(gpiod_to_irq(response_ping), NULL);
	gpiod_put(response_ping);
}

static void drill_run(void)
{
	u64 now_ns = drill_now();
	u64 next_ns = now_ns;
	u32 left = drill.repetitions;

	while (left--) {
		next_ns = drill_next(next_ns, now_ns);
		drill_sleep_until(next_ns);
		response_begin_ns = drill_now();
		drill_line(1);
		drill_wait(&seen);
		now_ns = drill_now();
	}
}
