// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet_cobalt - the Racquet on Xenomai 3.
 *
 * The top half is an RTDM interrupt: it comes through while the kernel below has interrupts off.
 * The bottom half is an RTDM task at Cobalt's highest priority, woken by an RTDM event.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <rtdm/driver.h>

#include "racquet-pipeline.h"

struct racquet_answer {
	rtdm_irq_t irq;
	rtdm_event_t pinged;
	rtdm_task_t task;
};

/* Not static: the lock classes of a static event would outlive a module that is loaded again. */
static struct racquet_answer *answer;

/* [bottom-half] */
static void racquet_task(void *argument)
{
	struct racquet *r = argument;

	while (!rtdm_task_should_stop()) {
		int err = rtdm_event_wait(&answer->pinged);

		if (!err) {
			racquet_drive(r, false);
			racquet_count_reply(r);
			continue;
		}
		/* Woken up to stop; any other error would come again at once, at the highest priority. */
		if (!rtdm_task_should_stop())
			pr_err("the bottom half ended: waiting for a ping failed (%d)\n", err);
		break;
	}
}
/* [/bottom-half] */

/* [top-half] */
static int racquet_top_half(rtdm_irq_t *irq)
{
	struct racquet *r = rtdm_irq_get_arg(irq, struct racquet);

	racquet_drive(r, true);
	racquet_count_ping(r);
	rtdm_event_signal(&answer->pinged);
	return RTDM_IRQ_HANDLED;
}
/* [/top-half] */

/* Runs once the interrupt is freed: nothing can signal the event any more. */
static void racquet_stop(void *data)
{
	struct racquet *r = data;

	rtdm_task_destroy(&answer->task);
	rtdm_event_destroy(&answer->pinged);
	kfree(answer);
	racquet_drive(r, false);
}

static void racquet_free_irq(void *data)
{
	rtdm_irq_free(&answer->irq);
}

static int racquet_answer(struct device *dev, struct racquet *r)
{
	int err = racquet_enter_pipeline(dev, r);

	if (err)
		return err;
	/* rtdm_irq_request() leaves the trigger as it is */
	err = irq_set_irq_type(r->irq, r->trigger);
	if (err)
		return dev_err_probe(dev, err, "interrupt %u knows no edges\n", r->irq);
	answer = kzalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	rtdm_event_init(&answer->pinged, 0);
	err = rtdm_task_init(&answer->task, "racquet", racquet_task, r, RTDM_TASK_HIGHEST_PRIORITY,
			     0);
	if (err) {
		rtdm_event_destroy(&answer->pinged);
		kfree(answer);
		return dev_err_probe(dev, err, "no RTDM task\n");
	}
	err = devm_add_action_or_reset(dev, racquet_stop, r);
	if (err)
		return err;
	err = rtdm_irq_request(&answer->irq, r->irq, racquet_top_half, RTDM_IRQTYPE_EDGE, "racquet",
			       r);
	if (err)
		return dev_err_probe(dev, err, "no RTDM interrupt %u\n", r->irq);
	err = devm_add_action_or_reset(dev, racquet_free_irq, r);
	if (err)
		return err;
	dev_info(dev, "out-of-band interrupt %u, bottom half: RTDM task, priority %d\n", r->irq,
		 RTDM_TASK_HIGHEST_PRIORITY);
	return 0;
}

static int __init racquet_init(void)
{
	if (!realtime_core_enabled()) {
		pr_err("Cobalt does not run: see xenomai.state= on the kernel's command line\n");
		return -ENODEV;
	}
	return racquet_register_out_of_band();
}

module_init(racquet_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: answers a ping from Xenomai 3's out-of-band stage");
