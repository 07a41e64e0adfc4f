// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * queue - a lock that four processors hold one after the other, in a known order, each for a known
 * time. Every period_us processor 0 takes it, and asks the others by interrupts to take it, too,
 * 10 us apart. A spinlock is given in the order in which it was asked for.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#define PROCESSORS 4

static uint period_us = 1000;
module_param(period_us, uint, 0444);

static ulong waits; /* of processor 3 */
module_param(waits, ulong, 0444);

static const uint hold_us[PROCESSORS] = { 10, 100, 20, 5 };
static DEFINE_RAW_SPINLOCK(lock);
static struct hrtimer timer;
static call_single_data_t calls[PROCESSORS];

static noinline void queue_hold(uint us)
{
	udelay(us);
}

/* In the interrupt that processor 0 sent. */
static noinline void queue_wait(void *unused)
{
	if (smp_processor_id() == PROCESSORS - 1 && raw_spin_is_locked(&lock))
		waits++;
	raw_spin_lock(&lock);
	queue_hold(hold_us[smp_processor_id()]);
	raw_spin_unlock(&lock);
}

static enum hrtimer_restart queue_fire(struct hrtimer *t)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	for (int cpu = 1; cpu < PROCESSORS; cpu++) {
		smp_call_function_single_async(cpu, &calls[cpu]);
		queue_hold(hold_us[0]);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	hrtimer_forward_now(t, ns_to_ktime(period_us * 1000ull));
	return HRTIMER_RESTART;
}

/* On processor 0: a timer stays where it was started. */
static void queue_start(void *unused)
{
	hrtimer_start(&timer, ns_to_ktime(period_us * 1000ull), HRTIMER_MODE_REL_PINNED_HARD);
}

static int __init queue_init(void)
{
	if (num_online_cpus() != PROCESSORS)
		return -EINVAL;
	for (int cpu = 1; cpu < PROCESSORS; cpu++)
		INIT_CSD(&calls[cpu], queue_wait, NULL);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = queue_fire;
	return smp_call_function_single(0, queue_start, NULL, 1);
}
module_init(queue_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis tests: a lock that is given from processor to processor");
