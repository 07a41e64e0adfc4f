/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which processor takes the ping, and its threads.
 *
 * A GPIO controller may have one interrupt for many lines. Nobody requests that one, so that
 * /proc/irq does not have it; the lines follow it wherever it goes, and irqaffinity=N does not move
 * it: the kernel adds the first processor, and an Arm GIC takes the first of several. So it is moved
 * here, and put back when the device goes.
 */
#ifndef RACQUET_PROCESSOR_H
#define RACQUET_PROCESSOR_H

#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/gpio/driver.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

static int interrupt_cpu = -1;
module_param(interrupt_cpu, int, 0444);
MODULE_PARM_DESC(interrupt_cpu, "the processor that takes the ping's interrupt (-1: as it is)");

struct racquet_moved {
	unsigned int irq;
	struct cpumask before;
};

/*
 * A line that cannot be moved by itself: its threads still go where the kernel believes it is.
 * irq_set_affinity() refuses it, and nothing else that modules may call sets these masks. The
 * interrupt's thread reads them under the descriptor's lock.
 */
static void racquet_believe(unsigned int irq, const struct cpumask *where)
{
	struct irq_data *data = irq_get_irq_data(irq);
	struct irq_desc *desc = irq_data_to_desc(data);
	unsigned long flags;

	raw_spin_lock_irqsave(&desc->lock, flags);
	irq_data_update_affinity(data, where);
	irq_data_update_effective_affinity(data, where);
	raw_spin_unlock_irqrestore(&desc->lock, flags);
}

static void racquet_put_back(void *data)
{
	struct racquet_moved *moved = data;

	if (irq_set_affinity(moved->irq, &moved->before))
		racquet_believe(moved->irq, &moved->before);
}

static int racquet_remember(struct device *dev, unsigned int irq)
{
	struct racquet_moved *moved = devm_kmalloc(dev, sizeof(*moved), GFP_KERNEL);
	struct irq_desc *desc = irq_data_to_desc(irq_get_irq_data(irq));
	unsigned long flags;

	if (!moved)
		return -ENOMEM;
	moved->irq = irq;
	raw_spin_lock_irqsave(&desc->lock, flags);
	cpumask_copy(&moved->before, irq_get_affinity_mask(irq));
	raw_spin_unlock_irqrestore(&desc->lock, flags);
	return devm_add_action_or_reset(dev, racquet_put_back, moved);
}

/* Move what the lines of a controller are chained to. */
static int racquet_move_parents(struct device *dev, const struct gpio_chip *chip)
{
	int err = -EOPNOTSUPP;
#ifdef CONFIG_GPIOLIB_IRQCHIP
	unsigned int i;

	for (i = 0; chip->irq.parents && i < chip->irq.num_parents; i++) {
		if (!chip->irq.parents[i])
			continue;
		err = racquet_remember(dev, chip->irq.parents[i]);
		if (!err)
			err = irq_set_affinity(chip->irq.parents[i], cpumask_of(interrupt_cpu));
		if (err)
			return err;
	}
#endif
	return err;
}

/* Before the line's interrupt is requested: its threads begin where it is. */
static int racquet_place(struct device *dev, unsigned int irq, const struct gpio_chip *chip)
{
	int err;

	if (interrupt_cpu < 0)
		return 0;
	if (interrupt_cpu >= nr_cpu_ids || !cpu_online(interrupt_cpu))
		return dev_err_probe(dev, -EINVAL, "there is no processor %d\n", interrupt_cpu);
	err = racquet_remember(dev, irq);
	if (err)
		return err;
	err = irq_set_affinity(irq, cpumask_of(interrupt_cpu));
	if (err)
		err = racquet_move_parents(dev, chip);
	if (err)
		return dev_err_probe(dev, err,
				     "interrupt %u stays where it is: its controller moves none\n",
				     irq);
	racquet_believe(irq, cpumask_of(interrupt_cpu));
	return 0;
}

#endif /* RACQUET_PROCESSOR_H */
