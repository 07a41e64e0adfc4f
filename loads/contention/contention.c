// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * contention - a load whose answer is known: every period_us the processor holder_cpu takes a
 * spinlock, sends waiter_cpu an interprocessor interrupt, and holds the lock for hold_us. The
 * interrupt's handler wants the lock, and waits for it with interrupts off. So the worst interrupt
 * latency of waiter_cpu must be hold_us and a little, and another processor is the reason.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/version.h>

static uint hold_us = 100;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "how long the lock is held, in microseconds (default 100)");

static uint period_us = 3700;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "how often, in microseconds (default 3700)");

static uint holder_cpu;
module_param(holder_cpu, uint, 0444);
MODULE_PARM_DESC(holder_cpu, "the processor that holds the lock (default 0)");

static uint waiter_cpu = 1;
module_param(waiter_cpu, uint, 0444);
MODULE_PARM_DESC(waiter_cpu, "the processor that waits for it (default 1)");

static ulong waits;
module_param(waits, ulong, 0444);
MODULE_PARM_DESC(waits, "how often it has waited (not to be set)");

/* raw: it spins on PREEMPT_RT, too */
static DEFINE_RAW_SPINLOCK(lock);
static struct hrtimer timer;

/* On waiter_cpu, in the interrupt. */
static noinline void contention_wait(void *unused)
{
	if (raw_spin_is_locked(&lock))
		waits++;
	raw_spin_lock(&lock);
	raw_spin_unlock(&lock);
}

static call_single_data_t call = CSD_INIT(contention_wait, NULL);

static noinline void contention_hold(void)
{
	udelay(hold_us);
}

static enum hrtimer_restart contention_fire(struct hrtimer *t)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	smp_call_function_single_async(waiter_cpu, &call);
	contention_hold();
	raw_spin_unlock_irqrestore(&lock, flags);
	hrtimer_forward_now(t, ns_to_ktime(period_us * 1000ull));
	return HRTIMER_RESTART;
}

/* On holder_cpu: a timer stays where it was started. */
static void contention_start(void *unused)
{
	hrtimer_start(&timer, ns_to_ktime(period_us * 1000ull), HRTIMER_MODE_REL_PINNED_HARD);
}

static int __init contention_init(void)
{
	if (!hold_us || hold_us > 999 || period_us <= hold_us) {
		pr_err("contention: hold_us=%u period_us=%u: hold less than a millisecond, and less than the period\n",
		       hold_us, period_us);
		return -EINVAL;
	}
	if (holder_cpu == waiter_cpu || holder_cpu >= nr_cpu_ids || waiter_cpu >= nr_cpu_ids ||
	    !cpu_online(holder_cpu) || !cpu_online(waiter_cpu)) {
		pr_err("contention: holder_cpu=%u waiter_cpu=%u: two processors that run are needed\n",
		       holder_cpu, waiter_cpu);
		return -EINVAL;
	}
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, contention_fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = contention_fire;
#endif
	return smp_call_function_single(holder_cpu, contention_start, NULL, 1);
}

static void __exit contention_exit(void)
{
	hrtimer_cancel(&timer);
	/* what waiter_cpu was asked for last is done when it did this, too */
	smp_call_function_single(waiter_cpu, contention_wait, NULL, 1);
}

module_init(contention_init);
module_exit(contention_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: a lock that two processors want");
