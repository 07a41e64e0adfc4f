// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet_sloth - Linux' end of SLOTH's pipes, where SLOTH beneath Linux answers the pings.
 *
 * /dev/sloth0: read() gives whole records (pipe.h) that tasks wrote, and waits for one; poll() and
 * O_NONBLOCK are as usual. write() takes whole records and tells the task Echo; a full pipe is
 * EAGAIN, and counted. It is in the Racquet's place, and its device has the Racquet's name.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/arm-smccc.h>
#include <linux/debugfs.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "pipe.h"

static struct sloth_shared *shared;
static DECLARE_WAIT_QUEUE_HEAD(readers);
static DEFINE_MUTEX(reading); /* one reader at a time: the pipe has one tail */
static DEFINE_MUTEX(writing);
static struct dentry *figures;
static atomic_t interrupts;

static irqreturn_t racquet_sloth_interrupt(int irq, void *data)
{
	atomic_inc(&interrupts);
	wake_up_interruptible(&readers);
	return IRQ_HANDLED;
}

static bool racquet_sloth_more(void)
{
	struct sloth_pipe *pipe = &shared->to_linux;

	return smp_load_acquire(&pipe->head) != READ_ONCE(pipe->tail);
}

static ssize_t racquet_sloth_read(struct file *file, char __user *buffer, size_t count,
				  loff_t *position)
{
	struct sloth_pipe *pipe = &shared->to_linux;
	struct sloth_record record;
	size_t done = 0;
	int err;

	if (count < sizeof(record))
		return -EINVAL;
	err = mutex_lock_interruptible(&reading);
	if (err)
		return err;
	while (!racquet_sloth_more()) {
		mutex_unlock(&reading);
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(readers, racquet_sloth_more());
		if (!err)
			err = mutex_lock_interruptible(&reading);
		if (err)
			return err;
	}
	while (done + sizeof(record) <= count && racquet_sloth_more()) {
		record = pipe->record[pipe->tail % PIPE_RECORDS];
		if (copy_to_user(buffer + done, &record, sizeof(record))) {
			mutex_unlock(&reading);
			return done ? done : -EFAULT;
		}
		smp_store_release(&pipe->tail, (pipe->tail + 1) % PIPE_RECORDS);
		done += sizeof(record);
	}
	mutex_unlock(&reading);
	return done;
}

static ssize_t racquet_sloth_write(struct file *file, const char __user *buffer, size_t count,
				   loff_t *position)
{
	struct sloth_pipe *pipe = &shared->from_linux;
	struct sloth_record record;
	struct arm_smccc_res result;
	size_t done = 0;
	unsigned int next;
	int err;

	if (!count || count % sizeof(record))
		return -EINVAL;
	err = mutex_lock_interruptible(&writing);
	if (err)
		return err;
	for (; done < count; done += sizeof(record)) {
		next = (pipe->head + 1) % PIPE_RECORDS;
		if (next == smp_load_acquire(&pipe->tail)) {
			pipe->overruns++;
			err = -EAGAIN;
			break;
		}
		if (copy_from_user(&record, buffer + done, sizeof(record))) {
			err = -EFAULT;
			break;
		}
		pipe->record[pipe->head % PIPE_RECORDS] = record;
		smp_store_release(&pipe->head, next);
	}
	mutex_unlock(&writing);
	if (!done)
		return err;
	arm_smccc_1_1_hvc(CALL_ACTIVATE, &result);
	return done;
}

static __poll_t racquet_sloth_poll(struct file *file, struct poll_table_struct *table)
{
	struct sloth_pipe *pipe = &shared->from_linux;
	bool room;

	poll_wait(file, &readers, table);
	room = (READ_ONCE(pipe->head) + 1) % PIPE_RECORDS != READ_ONCE(pipe->tail);
	return (racquet_sloth_more() ? EPOLLIN | EPOLLRDNORM : 0) |
	       (room ? EPOLLOUT | EPOLLWRNORM : 0);
}

static const struct file_operations racquet_sloth_operations = {
	.owner = THIS_MODULE,
	.read = racquet_sloth_read,
	.write = racquet_sloth_write,
	.poll = racquet_sloth_poll,
};

static struct miscdevice racquet_sloth_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sloth0",
	.fops = &racquet_sloth_operations,
	.mode = 0600,
};

static int figures_show(struct seq_file *file, void *data)
{
	struct sloth_figures *f = &shared->figures;

	seq_printf(file, "forwarded %u\nfull %u\ntrapped %u\nrefused %u\nechoed %u\n", f->forwarded,
		   f->full, f->trapped, f->refused, f->echoed);
	seq_printf(file, "activations %u\nto_linux_overruns %u\nfrom_linux_overruns %u\n",
		   f->activations, shared->to_linux.overruns, shared->from_linux.overruns);
	seq_printf(file, "interrupts %u\n", atomic_read(&interrupts));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(figures);

static int racquet_sloth_probe(struct platform_device *device)
{
	int irq = platform_get_irq(device, 0), err;
	u64 at;

	if (irq < 0)
		return irq;
	err = of_property_read_u64(device->dev.of_node, "tennis,shared", &at);
	if (err)
		return err;
	shared = devm_memremap(&device->dev, at, sizeof(*shared), MEMREMAP_WB);
	if (IS_ERR(shared))
		return PTR_ERR(shared);
	err = devm_request_irq(&device->dev, irq, racquet_sloth_interrupt, 0, "sloth", shared);
	if (err)
		return err;
	err = misc_register(&racquet_sloth_device);
	if (err)
		return err;
	figures = debugfs_create_file("sloth", 0400, NULL, NULL, &figures_fops);
	return 0;
}

static const struct of_device_id racquet_sloth_match[] = { { .compatible = "tennis,sloth" }, {} };
MODULE_DEVICE_TABLE(of, racquet_sloth_match);

/* Its records come from interrupts at any time: it stays until Linux ends. */
static struct platform_driver racquet_sloth_driver = {
	.probe = racquet_sloth_probe,
	.driver = {
		.name = "racquet",
		.of_match_table = racquet_sloth_match,
		.suppress_bind_attrs = true,
	},
};
builtin_platform_driver(racquet_sloth_driver);

MODULE_DESCRIPTION("Tennis: Linux' end of SLOTH's pipes");
MODULE_LICENSE("GPL");
