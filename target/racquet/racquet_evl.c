// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet_evl - the Racquet on Xenomai 4.
 *
 * The top half is an out-of-band interrupt: it comes through while the kernel below has interrupts
 * off. The bottom half is a kernel thread of EVL's at its highest priority, woken by a flag.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <evl/control.h>
#include <evl/flag.h>
#include <evl/thread.h>
#include <linux/slab.h>

#include "racquet-pipeline.h"

struct racquet_answer {
	struct evl_flag pinged;
	struct evl_kthread thread;
};

/* Not static: the lock classes of a static flag would outlive a module that is loaded again. */
static struct racquet_answer *answer;

/* [bottom-half] */
static void racquet_lower_on_pings(void)
{
	while (!evl_kthread_should_stop()) {
		int err = evl_wait_flag(&answer->pinged);

		if (!err) {
			racquet_drive(&racquet, false);
			racquet_count_reply(&racquet);
			continue;
		}
		/* Woken up to stop; any other error would come again at once, at the highest priority. */
		if (!evl_kthread_should_stop())
			pr_err("the bottom half ended: waiting for a ping failed (%d)\n", err);
		break;
	}
}
/* [/bottom-half] */

/* EVL's threads took themselves as their argument once; Kbuild looks what they do here. */
#ifdef RACQUET_EVL_THREAD_IS_ARGUMENT
static void racquet_thread(struct evl_kthread *thread)
{
	racquet_lower_on_pings();
}

#define racquet_run(priority) \
	evl_run_kthread(&answer->thread, racquet_thread, priority, EVL_CLONE_PRIVATE, "racquet")
#else
static void racquet_thread(void *argument)
{
	racquet_lower_on_pings();
}

#define racquet_run(priority)                                                               \
	evl_run_kthread(&answer->thread, racquet_thread, NULL, priority, EVL_CLONE_PRIVATE, \
			"racquet")
#endif

/* [top-half] */
static irqreturn_t racquet_top_half(int irq, void *data)
{
	struct racquet *r = data;

	racquet_drive(r, true);
	racquet_count_ping(r);
	evl_raise_flag(&answer->pinged);
	return IRQ_HANDLED;
}
/* [/top-half] */

/* Runs once the interrupt is freed: nothing can raise the flag any more. */
static void racquet_stop(void *data)
{
	struct racquet *r = data;

	evl_stop_kthread(&answer->thread);
	evl_destroy_flag(&answer->pinged);
	kfree(answer);
	racquet_drive(r, false);
}

static int racquet_answer(struct device *dev, struct racquet *r)
{
	int err = racquet_enter_pipeline(dev, r);

	if (err)
		return err;
	answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	evl_init_flag(&answer->pinged);
	err = racquet_run(EVL_FIFO_MAX_PRIO);
	if (err) {
		evl_destroy_flag(&answer->pinged);
		kfree(answer);
		return dev_err_probe(dev, err, "no EVL thread\n");
	}
	err = devm_add_action_or_reset(dev, racquet_stop, r);
	if (err)
		return err;
	err = devm_request_irq(dev, r->irq, racquet_top_half, r->trigger | IRQF_OOB, "racquet", r);
	if (err)
		return dev_err_probe(dev, err, "no out-of-band interrupt %u\n", r->irq);
	dev_info(dev, "out-of-band interrupt %u, bottom half: EVL thread, priority %d\n", r->irq,
		 EVL_FIFO_MAX_PRIO);
	return 0;
}

static int __init racquet_init(void)
{
	if (!evl_is_running()) {
		pr_err("EVL does not run: see evl.state= on the kernel's command line\n");
		return -ENODEV;
	}
	return racquet_register_out_of_band();
}

module_init(racquet_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: answers a ping from Xenomai 4's out-of-band stage");
