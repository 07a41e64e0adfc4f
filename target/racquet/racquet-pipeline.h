/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the Racquets on Dovetail's out-of-band stage (EVL, Cobalt) have in common: they run while
 * the kernel below believes that interrupts are off, so nothing that they touch may be its own.
 */
#ifndef RACQUET_PIPELINE_H
#define RACQUET_PIPELINE_H

#include <linux/gpio/driver.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>

#include "racquet-device.h"
#include "racquet-processor.h"

/*
 * Lines were set to input and output at probe, in-band. The raw call goes to the chip's register;
 * the others look at what the kernel knows of the line, and may take its locks for that.
 */
static inline void racquet_drive(struct racquet *r, bool active)
{
	gpiod_set_raw_value(r->reply, active != gpiod_is_active_low(r->reply));
}

static int racquet_check_irq(struct device *dev, unsigned int irq)
{
	struct irq_data *data = irq_get_irq_data(irq);

	while (data) {
		if (!data->chip || !(data->chip->flags & IRQCHIP_PIPELINE_SAFE)) {
			dev_err(dev,
				"interrupt chip %s is not pipeline-safe: no out-of-band interrupt\n",
				data->chip ? data->chip->name : "(none)");
			return -EOPNOTSUPP;
		}
#ifdef CONFIG_IRQ_DOMAIN_HIERARCHY
		data = data->parent_data;
#else
		data = NULL;
#endif
	}
	return 0;
}

/*
 * The kernel only warns where a chip on the ping's way was not made for the pipeline, and then
 * hangs. That way leads through the GPIO chip to those that it is cascaded from. Then the ping goes
 * to its processor.
 */
static int racquet_enter_pipeline(struct device *dev, struct racquet *r)
{
	int err = racquet_check_irq(dev, r->irq);
#ifdef CONFIG_GPIOLIB_IRQCHIP
	struct gpio_irq_chip *cascade = &gpiod_to_chip(r->ping)->irq;
	unsigned int i;

	for (i = 0; !err && cascade->parents && i < cascade->num_parents; i++)
		err = racquet_check_irq(dev, cascade->parents[i]);
#endif
	return err ?: racquet_place(dev, r->irq, gpiod_to_chip(r->ping));
}

MODULE_PARM_DESC(bottom_half, "what lowers the reply line: thread");

/* Called by racquet_init(), once it is known that the core runs. */
static int __init racquet_register_out_of_band(void)
{
	bottom_half = bottom_half ?: "thread";
	if (strcmp(bottom_half, "thread")) {
		pr_err("bottom_half=%s: use thread, all there is out-of-band\n", bottom_half);
		return -EINVAL;
	}
	return racquet_register();
}

#endif /* RACQUET_PIPELINE_H */
