// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet - the target's half of Tennis.
 *
 * The ping line rises: the top half (a hard interrupt, also on PREEMPT_RT) raises the reply line
 * and starts the bottom half, which lowers it again. The instrument outside times both edges.
 *
 * The lines come from a device-tree node
 *
 *	racquet {
 *		compatible = "tennis,racquet";
 *		ping-gpios = <&gpio 17 GPIO_ACTIVE_HIGH>;
 *		reply-gpios = <&gpio 27 GPIO_ACTIVE_HIGH>;
 *	};
 *
 * or, on a machine without one, from gpiochip=LABEL ping_line=N reply_line=N.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/interrupt.h>
#include <linux/miscdevice.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/swait.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define RACQUET_WORKQUEUE system_bh_highpri_wq /* runs in softirq context */
#else
#define RACQUET_WORKQUEUE system_highpri_wq /* no BH workqueues before 6.9 */
#endif

static char *bottom_half = "tasklet";
module_param(bottom_half, charp, 0444);
MODULE_PARM_DESC(bottom_half,
		 "what lowers the reply line: tasklet (default), thread, workqueue, user");

static char *gpiochip;
module_param(gpiochip, charp, 0444);
MODULE_PARM_DESC(gpiochip, "label of the GPIO chip, on a machine without a device-tree node");

static uint ping_line;
module_param(ping_line, uint, 0444);
MODULE_PARM_DESC(ping_line, "offset of the ping line in gpiochip");

static uint reply_line = 1;
module_param(reply_line, uint, 0444);
MODULE_PARM_DESC(reply_line, "offset of the reply line in gpiochip");

enum racquet_mode { TASKLET, THREAD, WORKQUEUE, USER };

static const char *const racquet_modes[] = {
	[TASKLET] = "tasklet",
	[THREAD] = "thread",
	[WORKQUEUE] = "workqueue",
	[USER] = "user",
};

/*
 * One racquet a machine, and static: a file of /dev/racquet that is still open when the device
 * goes away (an overlay that is removed) must not point to freed memory.
 */
static struct racquet {
	enum racquet_mode mode;
	struct gpio_desc *ping, *reply;
	atomic_long_t pings, replies, overruns;
	atomic_t in_flight; /* the reply line is up and the bottom half owes an edge */
	struct tasklet_struct tasklet;
	struct work_struct work;
	/* user: swait, because its lock is a raw one and may be taken in a hard interrupt on RT */
	struct swait_queue_head wait;
	atomic_t served; /* pings that the user process has not seen */
	struct mutex gone_lock; /* protects gone and, in write(), the reply line */
	bool gone;
} racquet = {
	.wait = __SWAIT_QUEUE_HEAD_INITIALIZER(racquet.wait),
	.gone_lock = __MUTEX_INITIALIZER(racquet.gone_lock),
	.gone = true,
};

#define RACQUET_NOT_PROBED 1
static int racquet_probe_error = RACQUET_NOT_PROBED; /* so that insmod can fail with the reason */

/* [bottom-half] */
/*
 * The one thing every bottom half does. The edge comes first, the books afterwards: a ping between
 * the two counts as an overrun although its edges are all there.
 */
static void racquet_lower(struct racquet *r)
{
	gpiod_set_value(r->reply, 0);
	if (atomic_xchg(&r->in_flight, 0))
		atomic_long_inc(&r->replies);
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
	atomic_long_inc(&r->pings);
	/* An edge that was still owed is now lost: the line was up already. */
	if (atomic_xchg(&r->in_flight, 1))
		atomic_long_inc(&r->overruns);

	switch (r->mode) {
	case TASKLET:
		tasklet_hi_schedule(&r->tasklet);
		break;
	case THREAD:
		return IRQ_WAKE_THREAD;
	case WORKQUEUE:
		queue_work(RACQUET_WORKQUEUE, &r->work);
		break;
	case USER:
		atomic_inc(&r->served);
		swake_up_one(&r->wait);
		break;
	}
	return IRQ_HANDLED;
}
/* [/top-half] */

/*
 * /dev/racquet: read() waits for a ping and gives how many there were since the last read (u32);
 * write() of anything lowers the line.
 */
static ssize_t racquet_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct racquet *r = &racquet;
	u32 served;
	int err;

	if (count < sizeof(served))
		return -EINVAL;
	while (!(served = atomic_xchg(&r->served, 0))) { /* another reader may have been faster */
		if (READ_ONCE(r->gone))
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = swait_event_interruptible_exclusive(r->wait, atomic_read(&r->served) ||
									   READ_ONCE(r->gone));
		if (err)
			return err;
	}
	if (copy_to_user(buf, &served, sizeof(served)))
		return -EFAULT;
	return sizeof(served);
}

static ssize_t racquet_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	struct racquet *r = &racquet;
	ssize_t ret = count;

	mutex_lock(&r->gone_lock);
	if (r->gone)
		ret = -ENODEV;
	else
		racquet_lower(r);
	mutex_unlock(&r->gone_lock);
	return ret;
}

static const struct file_operations racquet_fops = {
	.owner = THIS_MODULE,
	.read = racquet_read,
	.write = racquet_write,
};

static struct miscdevice racquet_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "racquet",
	.fops = &racquet_fops,
	.mode = 0660,
};

static ssize_t pings_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%ld\n", atomic_long_read(&racquet.pings));
}
static DEVICE_ATTR_RO(pings);

static ssize_t replies_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%ld\n", atomic_long_read(&racquet.replies));
}
static DEVICE_ATTR_RO(replies);

static ssize_t overruns_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%ld\n", atomic_long_read(&racquet.overruns));
}
static DEVICE_ATTR_RO(overruns);

static ssize_t bottom_half_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", racquet_modes[racquet.mode]);
}
static DEVICE_ATTR_RO(bottom_half);

static struct attribute *racquet_attrs[] = {
	&dev_attr_pings.attr,
	&dev_attr_replies.attr,
	&dev_attr_overruns.attr,
	&dev_attr_bottom_half.attr,
	NULL,
};
ATTRIBUTE_GROUPS(racquet);

/* Runs once the interrupt is freed: nothing can start a bottom half any more. */
static void racquet_stop(void *data)
{
	struct racquet *r = data;

	tasklet_kill(&r->tasklet);
	cancel_work_sync(&r->work);
	mutex_lock(&r->gone_lock);
	WRITE_ONCE(r->gone, true);
	gpiod_set_value(r->reply, 0);
	mutex_unlock(&r->gone_lock);
	swake_up_all(&r->wait);
}

static void racquet_deregister(void *misc)
{
	misc_deregister(misc);
}

static int racquet_setup(struct device *dev)
{
	struct racquet *r = &racquet;
	unsigned long trigger;
	int irq, err;

	r->ping = devm_gpiod_get(dev, "ping", GPIOD_IN);
	if (IS_ERR(r->ping))
		return dev_err_probe(dev, PTR_ERR(r->ping), "no ping line\n");
	r->reply = devm_gpiod_get(dev, "reply", GPIOD_OUT_LOW);
	if (IS_ERR(r->reply))
		return dev_err_probe(dev, PTR_ERR(r->reply), "no reply line\n");
	if (gpiod_cansleep(r->ping) || gpiod_cansleep(r->reply)) {
		dev_err(dev, "a line can sleep (an I2C or SPI expander?): use lines of the SoC\n");
		return -EINVAL;
	}
	irq = gpiod_to_irq(r->ping);
	if (irq < 0)
		return dev_err_probe(dev, irq, "the ping line has no interrupt\n");

	atomic_long_set(&r->pings, 0);
	atomic_long_set(&r->replies, 0);
	atomic_long_set(&r->overruns, 0);
	atomic_set(&r->in_flight, 0);
	atomic_set(&r->served, 0);
	tasklet_setup(&r->tasklet, racquet_tasklet);
	INIT_WORK(&r->work, racquet_work);
	WRITE_ONCE(r->gone, false);

	/* devm unwinds backwards: the device, the interrupt, then the bottom half, then the lines */
	err = devm_add_action_or_reset(dev, racquet_stop, r);
	if (err)
		return err;
	trigger = gpiod_is_active_low(r->ping) ? IRQF_TRIGGER_FALLING : IRQF_TRIGGER_RISING;
	/* IRQF_NO_THREAD: the top half stays in the hard interrupt, also on PREEMPT_RT */
	err = devm_request_threaded_irq(dev, irq, racquet_top_half,
					r->mode == THREAD ? racquet_thread : NULL,
					trigger | IRQF_NO_THREAD, "racquet", r);
	if (err)
		return dev_err_probe(dev, err, "no interrupt %d\n", irq);
	if (r->mode == USER) {
		err = misc_register(&racquet_misc);
		if (err)
			return dev_err_probe(dev, err, "no /dev/racquet\n");
		err = devm_add_action_or_reset(dev, racquet_deregister, &racquet_misc);
		if (err)
			return err;
	}
	dev_info(dev, "interrupt %d, bottom half: %s\n", irq, racquet_modes[r->mode]);
	return 0;
}

static int racquet_probe(struct platform_device *pdev)
{
	if (!racquet.gone) {
		dev_err(&pdev->dev, "one racquet a machine: this is a second one\n");
		return -EBUSY;
	}
	racquet_probe_error = racquet_setup(&pdev->dev);
	return racquet_probe_error;
}

static const struct of_device_id racquet_of_match[] = {
	{ .compatible = "tennis,racquet" },
	{},
};
MODULE_DEVICE_TABLE(of, racquet_of_match);

static struct platform_driver racquet_driver = {
	.probe = racquet_probe,
	.driver = {
		.name = "racquet",
		.of_match_table = racquet_of_match,
		.dev_groups = racquet_groups,
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
		.suppress_bind_attrs = true,
	},
};

static struct gpiod_lookup_table racquet_lookup = {
	.dev_id = "racquet",
	.table = {
		GPIO_LOOKUP("", 0, "ping", GPIO_ACTIVE_HIGH),
		GPIO_LOOKUP("", 0, "reply", GPIO_ACTIVE_HIGH),
		{},
	},
};

static struct platform_device *racquet_device; /* from module parameters */

/* Stands in for the device-tree node. */
static int __init racquet_add_device(void)
{
	racquet_lookup.table[0].key = gpiochip;
	racquet_lookup.table[0].chip_hwnum = ping_line;
	racquet_lookup.table[1].key = gpiochip;
	racquet_lookup.table[1].chip_hwnum = reply_line;
	gpiod_add_lookup_table(&racquet_lookup);
	racquet_device = platform_device_register_simple("racquet", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(racquet_device)) {
		gpiod_remove_lookup_table(&racquet_lookup);
		return PTR_ERR(racquet_device);
	}
	if (!racquet_probe_error)
		return 0;
	if (racquet_probe_error == -EPROBE_DEFER)
		pr_err("no GPIO chip is labelled %s: see /sys/kernel/debug/gpio\n", gpiochip);
	if (racquet_probe_error == -EPROBE_DEFER || racquet_probe_error == RACQUET_NOT_PROBED)
		racquet_probe_error = -ENODEV;
	platform_device_unregister(racquet_device);
	gpiod_remove_lookup_table(&racquet_lookup);
	return racquet_probe_error;
}

static int __init racquet_init(void)
{
	int err, mode;

	mode = match_string(racquet_modes, ARRAY_SIZE(racquet_modes), bottom_half);
	if (mode < 0) {
		pr_err("bottom_half=%s: use tasklet, thread, workqueue or user\n", bottom_half);
		return -EINVAL;
	}
	racquet.mode = mode;
	err = platform_driver_register(&racquet_driver);
	if (err)
		return err;
	if (gpiochip && racquet_probe_error != RACQUET_NOT_PROBED) {
		pr_err("the device tree names the lines already: leave gpiochip= out\n");
		err = -EBUSY;
	} else if (gpiochip)
		err = racquet_add_device();
	else if (racquet_probe_error == RACQUET_NOT_PROBED)
		pr_info("no lines yet: no device-tree node, and gpiochip= was not given\n");
	else if (racquet_probe_error != -EPROBE_DEFER)
		err = racquet_probe_error;
	if (err)
		platform_driver_unregister(&racquet_driver);
	return err;
}

static void __exit racquet_exit(void)
{
	if (gpiochip) {
		platform_device_unregister(racquet_device);
		gpiod_remove_lookup_table(&racquet_lookup);
	}
	platform_driver_unregister(&racquet_driver);
}

module_init(racquet_init);
module_exit(racquet_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: answers a ping from the hard interrupt and from a bottom half");
