/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drill as a kernel module: context=kernel (a thread, "drill") or, where DRILL_HRTIMER is
 * defined, context=hrtimer (a timer in the hard interrupt). It begins when 1 is written to its
 * parameter go; debugfs' tennis-drill gives header and repetitions, and waits until they are there.
 * The thread's priority is the caller's business: a module may choose SCHED_FIFO, and no number.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/timekeeping.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

typedef struct semaphore drill_semaphore;
#define DRILL_SEMAPHORE(name) static struct semaphore name = __SEMAPHORE_INITIALIZER(name, 0)

static char *context = "kernel";
module_param(context, charp, 0444);
MODULE_PARM_DESC(context, "kernel (default): a thread; hrtimer: a timer in the hard interrupt");

static uint repetitions = 1000;
module_param(repetitions, uint, 0444);

static uint period_ns = 1000000;
module_param(period_ns, uint, 0444);

static char *gpiochip;
module_param(gpiochip, charp, 0444);
MODULE_PARM_DESC(gpiochip, "label of the GPIO chip");

static uint reply_line = 1;
module_param(reply_line, uint, 0444);

static uint ping_line;
module_param(ping_line, uint, 0444);
MODULE_PARM_DESC(ping_line, "of a drill that answers to its own edges: wired to the reply line");

static struct gpio_desc *drill_desc;
static struct task_struct *drill_task;
#ifdef DRILL_OTHER
static struct task_struct *drill_other_task;
#endif
static struct dentry *drill_file;
static void *drill_memory; /* header and repetitions, as they are read */
static bool drill_cancelled;
static DECLARE_COMPLETION(drill_started);
static DECLARE_COMPLETION(drill_over);
static bool drill_is_timer;

static inline u64 drill_now(void)
{
	return ktime_get_ns();
}

static inline void drill_line(int up)
{
	gpiod_set_value(drill_desc, up);
}

static inline void drill_sleep_until(u64 when_ns)
{
	ktime_t when = ns_to_ktime(when_ns);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&when, HRTIMER_MODE_ABS);
}

static inline void drill_post(drill_semaphore *semaphore)
{
	up(semaphore);
}

static inline void drill_wait(drill_semaphore *semaphore)
{
	down(semaphore);
}

static inline void drill_overheads(void);

#ifdef DRILL_HRTIMER
static void drill_start_timer(void);
static void drill_stop_timer(void);
#endif

static int drill_thread(void *unused)
{
	wait_for_completion(&drill_started);
	if (drill_cancelled)
		goto over;
	drill_overheads();
	drill_sleep_until(drill_now() + 10 * NSEC_PER_MSEC);
#ifdef DRILL_HRTIMER
	if (drill_is_timer)
		drill_start_timer(); /* and comes back when it is done */
	else
#endif
		drill_run();
over:
	complete_all(&drill_over);
	return 0;
}

#ifdef DRILL_OTHER
static int drill_other_thread(void *unused)
{
	wait_for_completion(&drill_started);
	if (!drill_cancelled)
		drill_other();
	return 0;
}
#endif

static int drill_go(const char *value, const struct kernel_param *parameter)
{
	complete_all(&drill_started);
	return 0;
}

static const struct kernel_param_ops drill_go_ops = {
	.set = drill_go,
};
module_param_cb(go, &drill_go_ops, NULL, 0200);
MODULE_PARM_DESC(go, "write something to begin");

static ssize_t drill_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	int err = wait_for_completion_interruptible(&drill_over);

	if (err)
		return err;
	drill.header.version = DRILL_VERSION;
	drill.header.repetitions = drill.done;
	memcpy(drill_memory, &drill.header, sizeof(drill.header));
	return simple_read_from_buffer(buf, count, pos, drill_memory,
				       sizeof(drill.header) + drill.done * sizeof(*drill.kept));
}

static const struct file_operations drill_fops = {
	.owner = THIS_MODULE,
	.read = drill_read,
};

static struct gpiod_lookup_table drill_lookup = {
	.table = {
		GPIO_LOOKUP("", 0, "reply", GPIO_ACTIVE_HIGH),
		GPIO_LOOKUP("", 0, "ping", GPIO_ACTIVE_HIGH),
		{},
	},
};

/* Begin a thread that can still be waited for after its end. */
static struct task_struct *drill_begin(int (*what)(void *), const char *name)
{
	struct task_struct *task = kthread_create(what, NULL, "%s", name);

	if (!IS_ERR(task)) {
		get_task_struct(task);
		wake_up_process(task);
	}
	return task;
}

static void drill_end(struct task_struct *task)
{
	kthread_stop(task);
	put_task_struct(task);
}

static int __init drill_get_line(void)
{
	int err;

	drill_lookup.table[0].key = gpiochip ?: "";
	drill_lookup.table[0].chip_hwnum = reply_line;
	drill_lookup.table[1].key = gpiochip ?: "";
	drill_lookup.table[1].chip_hwnum = ping_line;
	gpiod_add_lookup_table(&drill_lookup);
	drill_desc = gpiod_get(NULL, "reply", GPIOD_OUT_LOW);
	if (IS_ERR(drill_desc)) {
		err = PTR_ERR(drill_desc);
		pr_err("no line %u of gpiochip=%s (%d)\n", reply_line, gpiochip ?: "", err);
		goto no_line;
	}
	if (!gpiod_cansleep(drill_desc))
		return 0;
	pr_err("the line can sleep: use a line of the SoC\n");
	err = -EINVAL;
	gpiod_put(drill_desc);
no_line:
	gpiod_remove_lookup_table(&drill_lookup);
	return err;
}

static int __init drill_init(void)
{
	int err;

#ifdef DRILL_HRTIMER
	drill_is_timer = !strcmp(context, "hrtimer");
#endif
	if (!drill_is_timer && strcmp(context, "kernel")) {
		pr_err("this drill has no context=%s\n", context);
		return -EINVAL;
	}
	if (!repetitions || repetitions > 10000000 || !period_ns) {
		pr_err("repetitions from 1 to 10000000, and a period\n");
		return -EINVAL;
	}
	drill.repetitions = repetitions;
	drill.period_ns = period_ns;
	drill_memory = vzalloc(sizeof(drill.header) + repetitions * sizeof(*drill.kept));
	if (!drill_memory)
		return -ENOMEM;
	drill.kept = drill_memory + sizeof(drill.header);
	err = drill_get_line();
	if (err)
		goto no_line;
#ifdef DRILL_PREPARE
	err = drill_prepare();
	if (err)
		goto not_prepared;
#endif
#ifdef DRILL_OTHER
	drill_other_task = drill_begin(drill_other_thread, "drill-other");
	if (IS_ERR(drill_other_task)) {
		err = PTR_ERR(drill_other_task);
		goto no_other;
	}
#endif
	drill_task = drill_begin(drill_thread, "drill");
	if (IS_ERR(drill_task)) {
		err = PTR_ERR(drill_task);
		goto no_thread;
	}
	drill_file = debugfs_create_file("tennis-drill", 0400, NULL, NULL, &drill_fops);
	return 0;

no_thread:
	drill_cancelled = true;
	complete_all(&drill_started);
#ifdef DRILL_OTHER
	drill_end(drill_other_task);
no_other:
#endif
#ifdef DRILL_PREPARE
	drill_release();
not_prepared:
#endif
	gpiod_put(drill_desc);
	gpiod_remove_lookup_table(&drill_lookup);
no_line:
	vfree(drill_memory);
	return err;
}

static void __exit drill_exit(void)
{
	debugfs_remove(drill_file);
	if (!completion_done(&drill_started))
		drill_cancelled = true;
	complete_all(&drill_started);
	wait_for_completion(&drill_over);
	drill_end(drill_task);
#ifdef DRILL_OTHER
	drill_end(drill_other_task);
#endif
#ifdef DRILL_PREPARE
	drill_release();
#endif
	gpiod_set_value(drill_desc, 0);
	gpiod_put(drill_desc);
	gpiod_remove_lookup_table(&drill_lookup);
	vfree(drill_memory);
}

module_init(drill_init);
module_exit(drill_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis: a drill that times itself, and shows it on a line");
