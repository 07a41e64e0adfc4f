// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet - your own. The ping line rises: the top half raises the reply line and wakes a kernel
 * thread of its own; that thread lowers the line again.
 *
 * racquet-device.h has found the two lines and counts. You fill the four gaps.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/sched.h>

#include "racquet-device.h"

static struct kthread_worker *worker; /* a thread that does one piece of work after the other */
static struct kthread_work work; /* what it is to do */

/* The bottom half: runs in the worker's thread, which may sleep and has a priority. */
static void racquet_bottom_half(struct kthread_work *unused)
{
	/* [gap] 1: lower the reply line, then count the reply (racquet_count_reply). */
	/* [solution] */
	gpiod_set_value(racquet.reply, 0);
	racquet_count_reply(&racquet);
	/* [/solution] */
}

/* The top half: a hard interrupt. Nothing here may sleep, and every line of it costs latency. */
static irqreturn_t racquet_top_half(int irq, void *data)
{
	/* [gap] 2: raise the line, count the ping (racquet_count_ping), queue the worker's work. */
	/* [solution] */
	struct racquet *r = data;

	gpiod_set_value(r->reply, 1);
	racquet_count_ping(r);
	kthread_queue_work(worker, &work);
	/* [/solution] */
	return IRQ_HANDLED;
}

/* Runs once the interrupt is freed: no ping can come any more, but the last one may be at work. */
static void racquet_stop(void *data)
{
	/* [gap] 3: end the worker, and leave the reply line low. */
	/* [solution] */
	struct racquet *r = data;

	kthread_destroy_worker(worker); /* does what is still to be done, then ends the thread */
	gpiod_set_value(r->reply, 0);
	/* [/solution] */
}

/* Called with both lines at hand. What devm was given is undone backwards when the module goes. */
static int racquet_answer(struct device *dev, struct racquet *r)
{
	/*
	 * [gap] 4: make the worker (kthread_create_worker), a real-time thread (sched_set_fifo); let
	 * devm undo it with racquet_stop; then ask for the interrupt r->irq with the flags r->trigger
	 * and IRQF_NO_THREAD. In this order: why? Pass errors on.
	 */
	/* [solution] */
	int err;

	kthread_init_work(&work, racquet_bottom_half);
	worker = kthread_create_worker(0, "racquet");
	if (IS_ERR(worker))
		return dev_err_probe(dev, PTR_ERR(worker), "no worker\n");
	sched_set_fifo(worker->task);
	err = devm_add_action_or_reset(dev, racquet_stop, r);
	if (err)
		return err;
	err = devm_request_irq(dev, r->irq, racquet_top_half, r->trigger | IRQF_NO_THREAD,
			       "racquet", r);
	if (err)
		return dev_err_probe(dev, err, "no interrupt %u\n", r->irq);
	dev_info(dev, "interrupt %u, bottom half: a worker of our own\n", r->irq);
	/* [/solution] */
	return 0;
}

static int __init racquet_init(void)
{
	return racquet_register();
}
module_init(racquet_init);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis, lab 3: a Racquet with a bottom half of its own");
