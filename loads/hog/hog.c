// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * hog - a load whose answer is known: every period_us it holds the CPU for hold_us with interrupts
 * off. The worst interrupt latency under it must be hold_us and a little. With softirqs=1 it holds
 * back softirqs instead: what waits then is a tasklet, and on PREEMPT_RT a handler in a thread.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/version.h>

static uint hold_us = 100;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "how long interrupts stay off, in microseconds (default 100)");

static uint period_us = 3700;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "how often, in microseconds (default 3700)");

static bool softirqs;
module_param(softirqs, bool, 0444);
MODULE_PARM_DESC(softirqs, "1: hold back softirqs, not interrupts (default 0)");

static ulong holds;
module_param(holds, ulong, 0444);
MODULE_PARM_DESC(holds, "how often it has held the CPU (not to be set)");

static struct hrtimer timer;

static void hog_hold(void)
{
	if (hold_us >= 1000)
		mdelay(hold_us / 1000);
	udelay(hold_us % 1000);
}

static enum hrtimer_restart hog_fire(struct hrtimer *t)
{
	unsigned long flags;

	if (softirqs) {
		/* a soft timer runs in a softirq, on PREEMPT_RT in one of ktimers' */
		hog_hold();
	} else {
		/* a hard timer runs with interrupts off already; say so all the same */
		local_irq_save(flags);
		hog_hold();
		local_irq_restore(flags);
	}
	holds++;
	hrtimer_forward_now(t, ns_to_ktime(period_us * 1000ull));
	return HRTIMER_RESTART;
}

static int __init hog_init(void)
{
	/* HARD: in the hard interrupt on PREEMPT_RT, too */
	enum hrtimer_mode mode = softirqs ? HRTIMER_MODE_REL_SOFT : HRTIMER_MODE_REL_HARD;

	if (!hold_us || hold_us > 1000000 || period_us <= hold_us) {
		pr_err("hog: hold_us=%u period_us=%u: hold at most a second, and less than the period\n",
		       hold_us, period_us);
		return -EINVAL;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, hog_fire, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, mode);
	timer.function = hog_fire;
#endif
	hrtimer_start(&timer, ns_to_ktime(period_us * 1000ull), mode);
	return 0;
}

static void __exit hog_exit(void)
{
	hrtimer_cancel(&timer);
}

module_init(hog_init);
module_exit(hog_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: the load whose answer is known");
