// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet - the target's half of Tennis.
 *
 * The ping line rises: the top half raises the reply line and starts the bottom half, which lowers
 * it again. The instrument outside times both edges. The top half is a hard interrupt, also on
 * PREEMPT_RT. With top_half=forced it runs where the kernel lets handlers run that ask for nothing,
 * which on PREEMPT_RT is a thread with bottom halves disabled. With top_half=explicit the driver
 * asks for a thread itself, and on every kernel bottom halves stay enabled in it.
 * racquet_evl.c and racquet_cobalt.c do the same on Xenomai's cores.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/swait.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "racquet-device.h"
#include "racquet-processor.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define RACQUET_WORKQUEUE system_bh_highpri_wq /* runs in softirq context */
#else
#define RACQUET_WORKQUEUE system_highpri_wq /* no BH workqueues before 6.9 */
#endif

enum racquet_mode { TASKLET, THREAD, WORKQUEUE, USER };

static const char *const racquet_modes[] = {
	[TASKLET] = "tasklet",
	[THREAD] = "thread",
	[WORKQUEUE] = "workqueue",
	[USER] = "user",
};

enum racquet_where { HARD, FORCED, EXPLICIT, THREADED };

static const char *const racquet_wheres[] = {
	[HARD] = "hard",
	[FORCED] = "forced",
	[EXPLICIT] = "explicit",
	[THREADED] = "threaded", /* what forced was called first */
};

static char *top_half = "hard";
module_param(top_half, charp, 0444);
MODULE_PARM_DESC(
	top_half,
	"where the handler runs: hard (default), forced (PREEMPT_RT's own thread), explicit (a thread that is asked for)");

static struct {
	enum racquet_mode mode;
	enum racquet_where where;
	struct tasklet_struct tasklet;
	struct work_struct work;
	/* user: swait, because its lock is a raw one and may be taken in a hard interrupt on RT */
	struct swait_queue_head wait;
	atomic_t served; /* pings that the user process has not seen */
	/* whoever polls sleeps on an ordinary queue, which a hard interrupt cannot wake on RT */
	wait_queue_head_t pollers;
	struct irq_work wake_pollers;
	struct mutex gone_lock; /* protects gone and, in write(), the reply line */
	bool gone;
} answer = {
	.wait = __SWAIT_QUEUE_HEAD_INITIALIZER(answer.wait),
	.pollers = __WAIT_QUEUE_HEAD_INITIALIZER(answer.pollers),
	.gone_lock = __MUTEX_INITIALIZER(answer.gone_lock),
	.gone = true,
};

/* [bottom-half] */
/*
 * The one thing every bottom half does. The edge comes first, the books afterwards: a ping between
 * the two counts as an overrun although its edges are all there.
 */
static void racquet_lower(struct racquet *r)
{
	gpiod_set_value(r->reply, 0);
	racquet_count_reply(r);
}

static void racquet_tasklet(struct tasklet_struct *tasklet)
{
	racquet_lower(&racquet);
}

static irqreturn_t racquet_thread(int irq, void *data)
{
	racquet_lower(data);
	return IRQ_HANDLED;
}

static void racquet_work(struct work_struct *work)
{
	racquet_lower(&racquet);
}
/* [/bottom-half] */

/* [top-half] */
static irqreturn_t racquet_top_half(int irq, void *data)
{
	struct racquet *r = data;

	gpiod_set_value(r->reply, 1);
	racquet_count_ping(r);

	switch (answer.mode) {
	case TASKLET:
		tasklet_hi_schedule(&answer.tasklet);
		break;
	case THREAD:
		return IRQ_WAKE_THREAD;
	case WORKQUEUE:
		queue_work(RACQUET_WORKQUEUE, &answer.work);
		break;
	case USER:
		atomic_inc(&answer.served);
		swake_up_one(&answer.wait);
		if (wq_has_sleeper(&answer.pollers))
			irq_work_queue(&answer.wake_pollers);
		break;
	}
	return IRQ_HANDLED;
}
/* [/top-half] */

/*
 * /dev/racquet: read() waits for a ping and gives how many there were since the last read (u32);
 * write() of anything lowers the line; poll() says whether read() would wait.
 */
static ssize_t racquet_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	u32 served;
	int err;

	if (count < sizeof(served))
		return -EINVAL;
	/* again and again: another reader may have been faster */
	while (!(served = atomic_xchg(&answer.served, 0))) {
		if (READ_ONCE(answer.gone))
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = swait_event_interruptible_exclusive(
			answer.wait, atomic_read(&answer.served) || READ_ONCE(answer.gone));
		if (err)
			return err;
	}
	if (copy_to_user(buf, &served, sizeof(served))) {
		atomic_add(served, &answer.served); /* for who reads next */
		swake_up_one(&answer.wait);
		return -EFAULT;
	}
	return sizeof(served);
}

static __poll_t racquet_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &answer.pollers, wait);
	if (READ_ONCE(answer.gone))
		return EPOLLERR | EPOLLHUP;
	return EPOLLOUT | EPOLLWRNORM | (atomic_read(&answer.served) ? EPOLLIN | EPOLLRDNORM : 0);
}

static void racquet_wake_pollers(struct irq_work *work)
{
	wake_up_all(&answer.pollers);
}

static ssize_t racquet_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	struct racquet *r = &racquet;
	ssize_t ret = count;

	mutex_lock(&answer.gone_lock);
	if (answer.gone)
		ret = -ENODEV;
	else
		racquet_lower(r);
	mutex_unlock(&answer.gone_lock);
	return ret;
}

static const struct file_operations racquet_fops = {
	.owner = THIS_MODULE,
	.read = racquet_read,
	.write = racquet_write,
	.poll = racquet_poll,
};

static struct miscdevice racquet_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "racquet",
	.fops = &racquet_fops,
	.mode = 0660,
};

/* Runs once the interrupt is freed: nothing can start a bottom half any more. */
static void racquet_stop(void *data)
{
	struct racquet *r = data;

	tasklet_kill(&answer.tasklet);
	cancel_work_sync(&answer.work);
	mutex_lock(&answer.gone_lock);
	WRITE_ONCE(answer.gone, true);
	gpiod_set_value(r->reply, 0);
	mutex_unlock(&answer.gone_lock);
	swake_up_all(&answer.wait);
	irq_work_sync(&answer.wake_pollers);
	wake_up_all(&answer.pollers);
}

static void racquet_deregister(void *misc)
{
	misc_deregister(misc);
}

/* Tell whether the kernel put the handler into a thread: then another stands in its place. */
static bool racquet_is_forced(unsigned int irq)
{
	const struct irq_desc *desc = irq_data_to_desc(irq_get_irq_data(irq));

	return desc->action && desc->action->handler != racquet_top_half;
}

/* [request] */
static int racquet_request(struct device *dev, struct racquet *r)
{
	irq_handler_t thread = answer.mode == THREAD ? racquet_thread : NULL;

	switch (answer.where) {
	case HARD: /* stay in the hard interrupt, also on PREEMPT_RT */
		return devm_request_threaded_irq(dev, r->irq, racquet_top_half, thread,
						 r->trigger | IRQF_NO_THREAD, "racquet", r);
	case EXPLICIT: /* all of the handler is the thread's */
		return devm_request_threaded_irq(dev, r->irq, NULL, racquet_top_half,
						 r->trigger | IRQF_ONESHOT, "racquet", r);
	default: /* leave it to the kernel */
		return devm_request_threaded_irq(dev, r->irq, racquet_top_half, thread, r->trigger,
						 "racquet", r);
	}
}
/* [/request] */

static int racquet_answer(struct device *dev, struct racquet *r)
{
	int err;

	atomic_set(&answer.served, 0);
	tasklet_setup(&answer.tasklet, racquet_tasklet);
	INIT_WORK(&answer.work, racquet_work);
	init_irq_work(&answer.wake_pollers, racquet_wake_pollers);
	WRITE_ONCE(answer.gone, false);

	err = devm_add_action_or_reset(dev, racquet_stop, r);
	if (err)
		return err;
	err = racquet_place(dev, r->irq, gpiod_to_chip(r->ping));
	if (err)
		return err;
	err = racquet_request(dev, r);
	if (err)
		return dev_err_probe(dev, err, "no interrupt %u\n", r->irq);
	if (answer.where == FORCED && !racquet_is_forced(r->irq)) {
		dev_err(dev, "top_half=%s: this kernel puts no handler into a thread by itself\n",
			top_half);
		return -EINVAL;
	}
	if (answer.mode == USER) {
		err = misc_register(&racquet_misc);
		if (err)
			return dev_err_probe(dev, err, "no /dev/racquet\n");
		err = devm_add_action_or_reset(dev, racquet_deregister, &racquet_misc);
		if (err)
			return err;
	}
	dev_info(dev, "interrupt %u, top half: %s, bottom half: %s\n", r->irq, top_half,
		 bottom_half);
	return 0;
}

static int __init racquet_init(void)
{
	int mode, where;

	bottom_half = bottom_half ?: "tasklet";
	mode = match_string(racquet_modes, ARRAY_SIZE(racquet_modes), bottom_half);
	if (mode < 0) {
		pr_err("bottom_half=%s: use tasklet, thread, workqueue or user\n", bottom_half);
		return -EINVAL;
	}
	where = match_string(racquet_wheres, ARRAY_SIZE(racquet_wheres), top_half);
	if (where < 0) {
		pr_err("top_half=%s: use hard, forced or explicit\n", top_half);
		return -EINVAL;
	}
	if (where == EXPLICIT && mode == THREAD) {
		pr_err("top_half=explicit: the interrupt's thread is the top half's, use another bottom_half than thread\n");
		return -EINVAL;
	}
	answer.mode = mode;
	answer.where = where == THREADED ? FORCED : where;
	return racquet_register();
}

module_init(racquet_init);
MODULE_PARM_DESC(bottom_half,
		 "what lowers the reply line: tasklet (default), thread, workqueue, user");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: answers a ping from its interrupt handler and from a bottom half");
