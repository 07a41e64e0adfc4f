// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xload - many periodic real-time tasks, each taking the square root of a random number. After the
 * program of that name in T. Knutsson's thesis (2008), which was for Xenomai alone; this one is
 * built for one of three kinds of real-time tasks:
 *
 *   POSIX threads, SCHED_FIFO      gcc -O2 xload.c -lpthread -lm (any kernel)
 *   Xenomai 4, libevl              -DXLOAD_EVL, and -levl
 *   Xenomai 3, the Alchemy API     -DXLOAD_ALCHEMY, with the flags of xeno-config --skin=alchemy
 *
 *   xload [-n TASKS] [-p PRIORITY] [-t PERIOD_US] [-r REPORT-FILE]
 *
 * It ends on SIGINT, SIGTERM and SIGHUP (exit code 0). Where a task cannot be created it removes
 * those that there are, and ends (1). The report (report.h) counts activations and overruns:
 * releases that were over before the task got to wait for them.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../report.h"

#if defined(XLOAD_EVL)
#include <evl/clock.h>
#include <evl/thread.h>
#elif defined(XLOAD_ALCHEMY)
#include <alchemy/task.h>
#include <alchemy/timer.h>
#endif

#define TASKS_MAX 1024
#define STACK_BYTES 65536 /* at least; 64 default stacks would not fit into a small target */

struct task {
	int number;
	unsigned int seed;
	volatile double root; /* the compiler may not leave the work out */
	atomic_ullong activations, overruns;
	int64_t next_ns; /* the release that it waits for */
#ifdef XLOAD_ALCHEMY
	RT_TASK handle;
#else
	pthread_t handle;
#endif
};

/* What the tasks are, for Tennis to read out of the program's file. */
static const char tasks[] __attribute__((used)) =
#if defined(XLOAD_EVL)
	"tennis-tasks=evl";
#elif defined(XLOAD_ALCHEMY)
	"tennis-tasks=alchemy";
#else
	"tennis-tasks=posix";
#endif

static int64_t task_count = 64, priority = 98, period_us = 5000;
static atomic_bool ending;
static sem_t begun; /* a task is periodic now, or cannot be: */
static atomic_int failure; /* an errno */

/*
 * The three kinds. create() makes a task that runs body(); begin() makes the calling task a
 * periodic one; wait_period() waits for its next release and returns how many it has missed. Both
 * return a negative errno where they fail.
 */
static void body(void *task);

#ifdef XLOAD_ALCHEMY

static int create(struct task *task)
{
	char name[32];
	int error;

	snprintf(name, sizeof(name), "xload-%d.%d", (int)getpid(), task->number);
	error = rt_task_create(&task->handle, name, 0, priority, T_JOINABLE);
	if (error)
		return error;
	error = rt_task_start(&task->handle, body, task);
	if (error)
		rt_task_delete(&task->handle);
	return error;
}

static void join(struct task *task)
{
	rt_task_join(&task->handle);
}

static int begin(struct task *task)
{
	return rt_task_set_periodic(NULL, TM_NOW, rt_timer_ns2ticks(period_us * 1000));
}

static int64_t wait_period(struct task *task)
{
	unsigned long missed = 0;
	int error = rt_task_wait_period(&missed);

	return error && error != -ETIMEDOUT ? error : (int64_t)missed;
}

#else /* POSIX, and EVL, whose threads are POSIX threads that attach themselves */

static void *run(void *task)
{
	body(task);
	return NULL;
}

static int create(struct task *task)
{
	struct sched_param parameters = { .sched_priority = priority };
	size_t stack = PTHREAD_STACK_MIN > STACK_BYTES ? PTHREAD_STACK_MIN : STACK_BYTES;
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
	pthread_attr_setschedparam(&attributes, &parameters);
	error = pthread_create(&task->handle, &attributes, run, task);
	pthread_attr_destroy(&attributes);
	return -error;
}

static void join(struct task *task)
{
	pthread_join(task->handle, NULL);
}

#ifdef XLOAD_EVL
static int64_t now_ns(void)
{
	struct timespec now;

	evl_read_clock(EVL_CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int sleep_until(struct timespec when)
{
	return evl_sleep_until(EVL_CLOCK_MONOTONIC, &when);
}

static int attach(struct task *task)
{
	/* the core takes policy and priority over from the POSIX thread */
	int thread = evl_attach_self("xload-%d.%d", (int)getpid(), task->number);

	return thread < 0 ? thread : 0;
}
#else
static int64_t now_ns(void)
{
	return monotonic_ns();
}

static int sleep_until(struct timespec when)
{
	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

static int attach(struct task *task)
{
	(void)task;
	return 0;
}
#endif

static int begin(struct task *task)
{
	task->next_ns = now_ns();
	return attach(task);
}

static int64_t wait_period(struct task *task)
{
	int64_t period_ns = period_us * 1000, late_ns, missed = 0;
	int error;

	task->next_ns += period_ns;
	late_ns = now_ns() - task->next_ns;
	if (late_ns > 0) {
		missed = late_ns / period_ns + 1;
		task->next_ns += missed * period_ns;
	}
	error = sleep_until(to_timespec(task->next_ns));
	return error ? error : missed;
}

#endif

static void body(void *cookie)
{
	struct task *task = cookie;
	int error = begin(task);
	int64_t missed;

	if (error)
		failure = -error;
	sem_post(&begun);
	while (!error && !ending) {
		missed = wait_period(task);
		if (missed < 0) {
			failure = -missed;
			break;
		}
		/* rand() would take a lock, and leave the real-time part of the system for it */
		task->root = sqrt(rand_r(&task->seed));
		atomic_fetch_add(&task->activations, 1);
		atomic_fetch_add(&task->overruns, missed);
	}
}

/* Create a task and wait until it is a periodic one. */
static int add(struct task *task)
{
	int error = create(task);

	if (error)
		return -error;
	while (sem_wait(&begun) && errno == EINTR)
		;
	return failure;
}

static void remove_all(struct task *tasks, int64_t count)
{
	ending = true; /* each looks at its next release */
	for (int64_t i = 0; i < count; i++)
		join(&tasks[i]);
}

static bool report_all(int file, struct task *tasks)
{
	uint64_t activations = 0, overruns = 0;

	for (int64_t i = 0; i < task_count; i++) {
		activations += tasks[i].activations;
		overruns += tasks[i].overruns;
	}
	return file < 0 || report(file, activations, overruns);
}

int main(int argc, char **argv)
{
	static struct task tasks[TASKS_MAX];
	const char *path = NULL;
	sigset_t signals;
	int option, file = -1;

	while ((option = getopt(argc, argv, "n:p:t:r:")) != -1) {
		if (option == 'n')
			task_count = number("xload", "-n", optarg, 1, TASKS_MAX);
		else if (option == 'p')
			priority = number("xload", "-p", optarg, 1, 99);
		else if (option == 't')
			period_us = number("xload", "-t", optarg, 10, 1000000);
		else if (option == 'r')
			path = optarg;
		else
			return 2;
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("xload: cannot lock its memory");
		return 1;
	}
	if (path) {
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (file < 0) {
			fprintf(stderr, "xload: %s: %s\n", path, strerror(errno));
			return 1;
		}
	}
	signals = block_ending_signals();
	sem_init(&begun, 0, 0);
	for (int64_t i = 0; i < task_count; i++) {
		struct task *task = &tasks[i];
		int error;

		task->number = i;
		task->seed = i + 1; /* the same numbers in every run */
		error = add(task);
		if (error) {
			fprintf(stderr,
				"xload: cannot create task %d: %s; removing the %d before it\n",
				(int)i, strerror(error), (int)i);
			remove_all(tasks, failure ? i + 1 : i);
			if (path)
				unlink(path);
			return 1;
		}
	}
	while (!told_to_end(&signals)) {
		if (!failure && !report_all(file, tasks))
			failure = errno;
		if (failure) {
			fprintf(stderr, "xload: %s\n", strerror(failure));
			break;
		}
	}
	remove_all(tasks, task_count);
	if (path)
		unlink(path);
	return failure ? 1 : 0;
}
