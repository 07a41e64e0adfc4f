/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drill as a process: DRILL user|user-rt REPETITIONS PERIOD_NS GPIOCHIP-LABEL LINE FILE
 *
 * user: SCHED_OTHER. user-rt: SCHED_FIFO 98 (a second thread 99), memory locked, as the paper's
 * "hard" user space. It waits for a line on standard input before it measures, says "ready" when it
 * does, and writes header and repetitions to FILE when it is done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DRILL_PRIORITY 98
#define NS 1000000000ULL

typedef sem_t drill_semaphore;
#define DRILL_SEMAPHORE(name) static sem_t name /* zeroed: nobody has posted it yet */

static int drill_line_fd = -1;

static inline u64 drill_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static inline void drill_line(int up)
{
	struct gpio_v2_line_values values = { .bits = up, .mask = 1 };

	ioctl(drill_line_fd, GPIO_V2_LINE_SET_VALUES_IOCTL, &values);
}

static inline void drill_sleep_until(u64 when_ns)
{
	struct timespec then = { .tv_sec = when_ns / NS, .tv_nsec = when_ns % NS };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

static inline void drill_post(drill_semaphore *semaphore)
{
	sem_post(semaphore);
}

static inline void drill_wait(drill_semaphore *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

static void drill_overheads(void);

static void drill_fail(const char *what)
{
	fprintf(stderr, "drill: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void drill_open_line(const char *label, unsigned int line)
{
	struct gpio_v2_line_request request = {
		.offsets = { line },
		.consumer = "drill",
		.num_lines = 1,
		.config.flags = GPIO_V2_LINE_FLAG_OUTPUT,
	};

	for (int i = 0; i < 64; i++) {
		struct gpiochip_info info = { 0 };
		char path[32];
		int chip;

		snprintf(path, sizeof(path), "/dev/gpiochip%d", i);
		chip = open(path, O_RDWR | O_CLOEXEC);
		if (chip < 0)
			continue;
		if (!ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, &info) && !strcmp(info.label, label)) {
			if (ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request))
				drill_fail(path);
			drill_line_fd = request.fd;
			close(chip);
			return;
		}
		close(chip);
	}
	errno = ENODEV;
	drill_fail(label);
}

static void drill_schedule(int priority)
{
	struct sched_param parameters = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &parameters)) /* of the calling thread */
		drill_fail("SCHED_FIFO");
}

static long drill_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

#ifdef DRILL_OTHER
static sem_t drill_other_runs;
static bool drill_real_time;

static void *drill_other_thread(void *unused)
{
	(void)unused;
	if (drill_real_time)
		drill_schedule(DRILL_PRIORITY + 1);
	sem_post(&drill_other_runs);
	drill_other();
	return NULL;
}
#endif

static void drill_write(const char *path)
{
	FILE *file = fopen(path, "we");

	drill.header.version = DRILL_VERSION;
	drill.header.repetitions = drill.done;
	if (!file || fwrite(&drill.header, sizeof(drill.header), 1, file) != 1 ||
	    fwrite(drill.kept, sizeof(*drill.kept), drill.done, file) != drill.done || fclose(file))
		drill_fail(path);
}

static unsigned long drill_number(const char *text, unsigned long most)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end || end == text || !number || number > most) {
		fprintf(stderr, "drill: %s is no number from 1 to %lu\n", text, most);
		exit(2);
	}
	return number;
}

int main(int argc, char **argv)
{
	bool real_time = argc > 1 && !strcmp(argv[1], "user-rt");
	char line[16];
	long faults;

	if (argc != 7 || (!real_time && strcmp(argv[1], "user"))) {
		fprintf(stderr,
			"usage: drill user|user-rt REPETITIONS PERIOD_NS LABEL LINE FILE\n");
		return 2;
	}
	setpriority(PRIO_PROCESS, 0, 0); /* whoever started it may be nicer, or less so */
	drill.repetitions = drill_number(argv[2], 10000000);
	drill.period_ns = drill_number(argv[3], 4000000000);
	drill_open_line(argv[4], atoi(argv[5]));
	drill.kept = calloc(drill.repetitions, sizeof(*drill.kept));
	if (!drill.kept || (real_time && mlockall(MCL_CURRENT | MCL_FUTURE)))
		drill_fail("memory");
	memset(drill.kept, 1, drill.repetitions * sizeof(*drill.kept)); /* every page is there */
#ifdef DRILL_PREPARE
	if (drill_prepare())
		drill_fail("what the drill needs");
#endif
	if (real_time)
		drill_schedule(DRILL_PRIORITY);
#ifdef DRILL_OTHER
	pthread_t other;

	drill_real_time = real_time;
	if (pthread_create(&other, NULL, drill_other_thread, NULL))
		drill_fail("a second thread");
	drill_wait(&drill_other_runs);
#endif
	drill_overheads();
	drill_sleep_until(drill_now() + NS / 100);
	if (write(1, "ready\n", 6) != 6 || read(0, line, sizeof(line)) <= 0)
		drill_fail("standard input");
	faults = drill_faults();
	drill_run();
	drill.header.page_faults = drill_faults() - faults;
	drill_write(argv[6]);
	return 0;
}
