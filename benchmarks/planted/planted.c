// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * planted - answers each ping late, for one known reason: usage: planted CAUSE
 *
 * It times itself, by the kernel's time stamp of the ping: the last line that it prints says of its
 * latest answer when its own code ran, and how long it took from there. (Functions count when they end:
 * a call that comes last is a jump, and then it is the caller's.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gpiod.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 32
#define PAGE 4096

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static sem_t never;
static volatile unsigned long counted;
static char *shared, *own;
static int shared_file, ends[2];
static const char *longest = "it"; /* of two locks, the one that it waited longer for */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Without a call of anything: 2 ns an instruction on the bench. */
static void __attribute__((noinline)) compute_us(long us)
{
	for (long i = 0; i < us * 100; i++)
		counted++;
}

static void become(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &param))
		fail("its priority");
}

static void stay_on(int processor)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(processor, &mask);
	if (sched_setaffinity(0, sizeof(mask), &mask))
		fail("its processor");
}

/* --- what others do --- */

static void *keep(pthread_mutex_t *mutex)
{
	become(SCHED_OTHER, 0);
	for (;;) {
		pthread_mutex_lock(mutex);
		compute_us(300);
		pthread_mutex_unlock(mutex);
		usleep(100);
	}
	return NULL;
}

static void *keep_ledger(void *nothing)
{
	return keep(&ledger);
}

static void *keep_journal(void *nothing)
{
	return keep(&journal);
}

static void *hog(void *nothing)
{
	become(SCHED_FIFO, 80);
	for (;;) {
		compute_us(400);
		usleep(300);
	}
	return NULL;
}

static void *hog_first_processor(void *nothing)
{
	stay_on(0);
	return hog(nothing);
}

static void *work_in_turns(void *nothing)
{
	become(SCHED_FIFO, 50);
	for (;;) {
		compute_us(150);
		sched_yield();
	}
	return NULL;
}

static void *nothing_much(void *nothing)
{
	compute_us(120);
	return NULL;
}

static void on_signal(int number)
{
	compute_us(130);
	counted++;
}

static void start(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL))
		fail("a thread");
}

static void evict(void)
{
	if (fork())
		return;
	for (;;) {
		fallocate(shared_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGES * PAGE);
		usleep(500);
	}
}

static void read_slowly(void)
{
	char some[PAGE];

	if (fcntl(ends[1], F_SETPIPE_SZ, PAGE) < 0)
		fail("the pipe's size");
	if (fork())
		return;
	for (;;) {
		usleep(6000);
		if (read(ends[0], some, sizeof(some)) < 0)
			exit(1);
	}
}

/* --- what it does before it answers --- */

static void slack(void)
{
	usleep(20);
	counted++;
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		compute_us(100);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	counted++;
}

static void join(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, nothing_much, NULL))
		pthread_join(thread, NULL);
	counted++;
}

static void clocks(void)
{
	for (int i = 0; i < 3000; i++)
		counted += now_ns();
}

static void fresh_pages(void)
{
	madvise(own, PAGES * PAGE, MADV_DONTNEED);
	for (int i = 0; i < PAGES; i++)
		own[i * PAGE] = 1;
}

static void shared_pages(void)
{
	for (int i = 0; i < PAGES; i++)
		shared[i * PAGE] = 1;
}

static void one_lock(void)
{
	pthread_mutex_lock(&ledger);
	counted++;
	pthread_mutex_unlock(&ledger);
	counted++;
}

static void two_locks(void)
{
	int64_t began = now_ns(), first;

	one_lock();
	first = now_ns();
	pthread_mutex_lock(&journal);
	longest = now_ns() - first > first - began ? "journal" : "ledger";
	pthread_mutex_unlock(&journal);
	counted++;
}

static void times_out(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 300000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	sem_timedwait(&never, &until);
	counted++;
}

static void yields(void)
{
	sched_yield();
	counted++;
}

static void signals(void)
{
	raise(SIGUSR1);
	counted++;
}

static void prints(void)
{
	static const char line[2048] = "a line";

	if (write(ends[1], line, sizeof(line)) < 0)
		fail("the pipe");
}

static void maps(void)
{
	char *large = malloc(40 * PAGE);

	if (!large)
		fail("memory");
	for (int i = 0; i < 40; i++)
		large[i * PAGE] = 1;
	free(large);
	counted++;
}

static void at_once(void)
{
}

static void *hog_second_processor(void *nothing)
{
	stay_on(1);
	return hog(nothing);
}

static void *keep_ledger_there(void *nothing)
{
	stay_on(1);
	return keep(&ledger);
}

/* A child that lives as long as its parent, and now and then takes the processor. */
static void __attribute__((noinline)) leave_child(void)
{
	if (fork())
		return;
	become(SCHED_FIFO, 80);
	for (;;) {
		compute_us(350);
		usleep(200);
	}
}

static const struct cause {
	const char *name;
	void (*before_answer)(void);
	int priority; /* 0: an ordinary process */
	void *(*helper)(void *), *(*another)(void *);
} causes[] = {
	{ "slack", slack, 0 },
	{ "child", child, 50 },
	{ "join", join, 50 },
	{ "vdso", clocks, 50 },
	{ "page", fresh_pages, 50 },
	{ "evicted", shared_pages, 50 },
	{ "lock", one_lock, 50, keep_ledger },
	{ "two-locks", two_locks, 50, keep_ledger, keep_journal },
	{ "timeout", times_out, 50 },
	{ "yield", yields, 50, work_in_turns },
	{ "signal", signals, 50 },
	{ "pipe", prints, 50 },
	{ "malloc", maps, 50 },
	{ "trap", at_once, 80 },
	{ "same-name", at_once, 0, hog },
	{ "bound", at_once, 50, hog_first_processor },
	{ "left-child", at_once, 50 },
	{ "two-processors", one_lock, 50, keep_ledger_there, hog_second_processor },
	{ "debounced", at_once, 50 },
	{ "open-drain", at_once, 50 },
	{ 0 },
};

static bool is(const struct cause *cause, const char *name)
{
	return !strcmp(cause->name, name);
}

/* What nobody hears or sees has no time: say how many pings came. */
static void say_heard(int pings)
{
	printf("heard %d\n", pings);
	fflush(stdout);
}

/* --- its lines --- */

static struct gpiod_line_request *take(const char *name, struct gpiod_line_settings *settings,
				       unsigned int *offset)
{
	struct gpiod_chip *chip = gpiod_chip_open("/dev/gpiochip0");
	struct gpiod_line_config *config = gpiod_line_config_new();
	struct gpiod_line_request *request = NULL;
	int found = chip && config ? gpiod_chip_get_line_offset_from_name(chip, name) : -1;

	*offset = found;
	if (found >= 0 && !gpiod_line_config_add_line_settings(config, offset, 1, settings))
		request = gpiod_chip_request_lines(chip, NULL, config);
	if (!request)
		fail(name);
	return request;
}

int main(int argc, char **argv)
{
	struct gpiod_line_settings *settings = gpiod_line_settings_new();
	struct gpiod_edge_event_buffer *events = gpiod_edge_event_buffer_new(1);
	const struct cause *cause = causes;
	struct gpiod_line_request *ping, *reply;
	unsigned int in, out;
	int64_t latest = 0;
	int heard = 0;

	while (cause->name && (argc < 2 || strcmp(cause->name, argv[1])))
		cause++;
	if (!cause->name || !settings || !events || pipe(ends))
		fail("no such cause");
	shared_file = memfd_create("shared", 0);
	if (ftruncate(shared_file, PAGES * PAGE))
		fail("shared memory");
	shared = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shared_file, 0);
	own = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sem_init(&never, 0, 0);
	signal(SIGUSR1, on_signal);
	prctl(PR_SET_TIMERSLACK, 900000);
	if (cause->before_answer == shared_pages)
		evict();
	if (cause->before_answer == prints)
		read_slowly();
	if (cause->helper == hog_first_processor || cause->helper == keep_ledger_there)
		stay_on(0);
	if (is(cause, "left-child"))
		leave_child();
	if (cause->priority)
		become(SCHED_FIFO, cause->priority);
	if (cause->helper)
		start(cause->helper);
	if (cause->another)
		start(cause->another);
	gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_OUTPUT);
	if (is(cause, "open-drain"))
		gpiod_line_settings_set_drive(settings, GPIOD_LINE_DRIVE_OPEN_DRAIN);
	reply = take("GPIO27", settings, &out);
	gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_INPUT);
	gpiod_line_settings_set_edge_detection(settings, GPIOD_LINE_EDGE_RISING);
	if (is(cause, "debounced"))
		gpiod_line_settings_set_debounce_period_us(settings, 500);
	ping = take("GPIO17", settings, &in);
	if (is(cause, "debounced") || is(cause, "open-drain"))
		say_heard(0);
	for (;;) {
		int64_t began, ran, answered;

		if (gpiod_line_request_read_edge_events(ping, events, 1) != 1)
			fail("GPIO17");
		ran = now_ns();
		began = gpiod_edge_event_get_timestamp_ns(
			gpiod_edge_event_buffer_get_event(events, 0));
		cause->before_answer();
		answered = now_ns();
		gpiod_line_request_set_value(reply, out, GPIOD_LINE_VALUE_ACTIVE);
		gpiod_line_request_set_value(reply, out, GPIOD_LINE_VALUE_INACTIVE);
		if (is(cause, "open-drain"))
			say_heard(++heard);
		if (is(cause, "open-drain") || answered - began <= latest)
			continue;
		latest = answered - began;
		printf("ran %lld took %lld %s\n", (long long)(ran - began),
		       (long long)(answered - ran), longest);
		fflush(stdout);
	}
}
