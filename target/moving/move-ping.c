// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * move-ping - moves the interrupt of the virtual machine's GPIO chip to another processor.
 *
 * It is for rallies in which no Racquet is loaded that would do it (racquet-processor.h): a program
 * of somebody's own answers. The chip's interrupt is chained. Nobody requested it, so that /proc/irq
 * does not have it, and it stays where it was also if the chip's driver begins again. The module is
 * unloaded as soon as it was loaded, and is not in the kernel when balls are served.
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_irq.h>

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the processor that takes the interrupt");

static int __init move_ping_init(void)
{
	struct device_node *chip = of_find_compatible_node(NULL, NULL, "arm,pl061");
	int irq = chip ? irq_of_parse_and_map(chip, 0) : 0;

	of_node_put(chip);
	if (irq <= 0)
		return -ENODEV;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	return irq_set_affinity(irq, cpumask_of(cpu));
}

static void __exit move_ping_exit(void)
{
}

module_init(move_ping_init);
module_exit(move_ping_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Moves a GPIO chip's interrupt to another processor");
