// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet_sloth - Linux' end of SLOTH's pipes, where SLOTH beneath Linux answers the pings.
 *
 * /dev/sloth0: read() gives whole records (pipe.h) that tasks wrote, and waits for one; poll() and
 * O_NONBLOCK are as usual. write() takes whole records and tells the task Echo; a full pipe is
 * EAGAIN, and counted. /dev/sloth1 and on: read() gives whole texts, and says how many were lost.
 * It is in the Racquet's place, and its device has the Racquet's name.
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

static bool racquet_sloth_more(void *pipe)
{
	struct sloth_pipe *records = pipe; /* a pipe of text begins like it */

	return smp_load_acquire(&records->head) != READ_ONCE(records->tail);
}

/* Wait until a pipe has more; then nobody else reads until the caller has unlocked. */
static int racquet_sloth_wait(struct file *file, void *pipe)
{
	int err = mutex_lock_interruptible(&reading);

	while (!err && !racquet_sloth_more(pipe)) {
		mutex_unlock(&reading);
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(readers, racquet_sloth_more(pipe));
		if (!err)
			err = mutex_lock_interruptible(&reading);
	}
	return err;
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
	err = racquet_sloth_wait(file, pipe);
	if (err)
		return err;
	while (done + sizeof(record) <= count && racquet_sloth_more(pipe)) {
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
	return (racquet_sloth_more(&shared->to_linux) ? EPOLLIN | EPOLLRDNORM : 0) |
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

/* --- texts --- */
#define LOST_SIZE 32 /* of the line that says how many texts were lost */

static struct {
	struct miscdevice device;
	unsigned int number; /* of the text that was read last */
} texts[TEXT_PIPES];

static unsigned int text_pipe_of(struct file *file)
{
	/* misc_open() left the device there */
	return container_of(file->private_data, typeof(texts[0]), device) - texts;
}

static ssize_t sloth_text_read(struct file *file, char __user *buffer, size_t count,
			       loff_t *position)
{
	unsigned int n = text_pipe_of(file);
	struct sloth_text_pipe *pipe = &shared->text[n];
	size_t done = 0;
	int err;

	if (count < LOST_SIZE + TEXT_SIZE)
		return -EINVAL;
	err = racquet_sloth_wait(file, pipe);
	if (err)
		return err;
	while (done + LOST_SIZE + TEXT_SIZE <= count && racquet_sloth_more(pipe)) {
		struct sloth_text text = pipe->record[pipe->tail % PIPE_RECORDS];
		unsigned int lost = text.number - texts[n].number - 1, size = 0;
		char line[LOST_SIZE + TEXT_SIZE];

		if (lost)
			size = scnprintf(line, LOST_SIZE, "[%u lost]\n", lost);
		text.size = min(text.size, TEXT_SIZE);
		memcpy(line + size, text.text, text.size);
		size += text.size;
		if (copy_to_user(buffer + done, line, size)) {
			err = -EFAULT;
			break;
		}
		texts[n].number = text.number;
		smp_store_release(&pipe->tail, (pipe->tail + 1) % PIPE_RECORDS);
		done += size;
	}
	mutex_unlock(&reading);
	return done ? done : err;
}

static __poll_t sloth_text_poll(struct file *file, struct poll_table_struct *table)
{
	poll_wait(file, &readers, table);
	return racquet_sloth_more(&shared->text[text_pipe_of(file)]) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations sloth_text_operations = {
	.owner = THIS_MODULE,
	.read = sloth_text_read,
	.poll = sloth_text_poll,
};

static int sloth_texts_register(struct device *device)
{
	for (unsigned int n = 0; n < TEXT_PIPES; n++) {
		struct miscdevice *text = &texts[n].device;
		int err;

		text->minor = MISC_DYNAMIC_MINOR;
		text->fops = &sloth_text_operations;
		text->mode = 0400;
		text->name = devm_kasprintf(device, GFP_KERNEL, "sloth%u", n + 1);
		err = text->name ? misc_register(text) : -ENOMEM;
		if (err) {
			while (n--)
				misc_deregister(&texts[n].device);
			return err;
		}
	}
	return 0;
}

static int figures_show(struct seq_file *file, void *data)
{
	struct sloth_figures *f = &shared->figures;

	seq_printf(file, "forwarded %u\nfull %u\ntrapped %u\nrefused %u\nechoed %u\n", f->forwarded,
		   f->full, f->trapped, f->refused, f->echoed);
	seq_printf(file, "activations %u\nto_linux_overruns %u\nfrom_linux_overruns %u\n",
		   f->activations, shared->to_linux.overruns, shared->from_linux.overruns);
	seq_printf(file, "cut %u\ninterrupts %u\n", f->cut, atomic_read(&interrupts));
	for (unsigned int n = 0; n < TEXT_PIPES; n++)
		seq_printf(file, "text%u_overruns %u\n", n + 1, shared->text[n].overruns);
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
	err = sloth_texts_register(&device->dev);
	if (err) {
		misc_deregister(&racquet_sloth_device);
		return err;
	}
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
