/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every Racquet has in common: a platform device with two lines, and counters in its folder
 * in sysfs. Each module includes this once and says in racquet_answer() how it answers. It is no file
 * of its own to be linked: kbuild cannot make racquet.ko of racquet.o and another one, and a Racquet
 * of one's own stays one C file.
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
#ifndef RACQUET_DEVICE_H
#define RACQUET_DEVICE_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/interrupt.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sysfs.h>

static char *bottom_half; /* the module's racquet_init() knows the choices, and the default */
module_param(bottom_half, charp, 0444);

static char *gpiochip;
module_param(gpiochip, charp, 0444);
MODULE_PARM_DESC(gpiochip, "label of the GPIO chip, on a machine without a device-tree node");

static uint ping_line;
module_param(ping_line, uint, 0444);
MODULE_PARM_DESC(ping_line, "offset of the ping line in gpiochip");

static uint reply_line = 1;
module_param(reply_line, uint, 0444);
MODULE_PARM_DESC(reply_line, "offset of the reply line in gpiochip");

/*
 * One racquet a machine, and static: a file of /dev/racquet that is still open when the device
 * goes away (an overlay that is removed) must not point to freed memory.
 */
static struct racquet {
	struct gpio_desc *ping, *reply;
	unsigned int irq;
	unsigned long trigger; /* IRQF_TRIGGER_... of the ping */
	atomic_long_t pings, replies, overruns;
	atomic_t in_flight; /* the reply line is up and the bottom half owes an edge */
	unsigned long in_use; /* bit 0: a device has the lines */
} racquet;

/*
 * The module's own: ask for the interrupt and start the bottom half, with devm. Unwound backwards,
 * before the lines go: the interrupt first, then the bottom half.
 */
static int racquet_answer(struct device *dev, struct racquet *r);

#define RACQUET_NOT_PROBED 1
static int racquet_probe_error = RACQUET_NOT_PROBED; /* so that insmod can fail with the reason */

/* The books are kept after the edge, so that they cost no latency. */
static inline void racquet_count_ping(struct racquet *r)
{
	atomic_long_inc(&r->pings);
	/* An edge that was still owed is now lost: the line was up already. */
	if (atomic_xchg(&r->in_flight, 1))
		atomic_long_inc(&r->overruns);
}

static inline void racquet_count_reply(struct racquet *r)
{
	if (atomic_xchg(&r->in_flight, 0))
		atomic_long_inc(&r->replies);
}

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
	return sysfs_emit(buf, "%s\n", bottom_half);
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

static void racquet_release(void *data)
{
	struct racquet *r = data;

	clear_bit_unlock(0, &r->in_use);
}

static int racquet_setup(struct device *dev)
{
	struct racquet *r = &racquet;
	int irq, err;

	err = devm_add_action_or_reset(dev, racquet_release, r);
	if (err)
		return err;
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
	r->irq = irq;
	r->trigger = gpiod_is_active_low(r->ping) ? IRQF_TRIGGER_FALLING : IRQF_TRIGGER_RISING;
	atomic_long_set(&r->pings, 0);
	atomic_long_set(&r->replies, 0);
	atomic_long_set(&r->overruns, 0);
	atomic_set(&r->in_flight, 0);
	return racquet_answer(dev, r);
}

static int racquet_probe(struct platform_device *pdev)
{
	if (test_and_set_bit_lock(0, &racquet.in_use)) {
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

/* Called by racquet_init(). */
static int __init racquet_register(void)
{
	int err = platform_driver_register(&racquet_driver);

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
module_exit(racquet_exit);

#endif /* RACQUET_DEVICE_H */
