/*
 * planted - answers each ping late, for a known reason: usage: planted CAUSE...
 *
 * Several causes take turns, ball by ball. It times itself, by the kernel's time stamp of the ping: the
 * last line that it prints says of the latest answer of each when its own code ran, and how long it took
 * from there, in 0.1 us. (Functions count when they end: a call that comes last is a jump, and then it
 * is the caller's.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gpiod.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
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
#define TURNS 24

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static sem_t never;
static volatile unsigned long counted;
static char *shared, *own;
static int shared_file, ends[2];
static const char *longest = ""; /* of two locks, the one that it waited longer for */

/* Whose ball is next. What others do for a cause, they do in its turn. */
static struct {
	volatile long now;
	sem_t go[TURNS];
} *turns;

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

static void wait_for_turn(long turn)
{
	while (turns->now != turn)
		sem_wait(&turns->go[turn]);
}

static void take_turn(long turn)
{
	turns->now = turn;
	sem_post(&turns->go[turn]); /* two threads may help */
	sem_post(&turns->go[turn]);
}

/* --- what others do --- */

static void *keep(pthread_mutex_t *mutex, long turn)
{
	become(SCHED_OTHER, 0);
	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		wait_for_turn(turn);
		pthread_mutex_lock(mutex);
		compute_us(300);
		pthread_mutex_unlock(mutex);
		usleep(100);
	}
	return NULL;
}

static void *keep_ledger(void *turn)
{
	return keep(&ledger, (long)turn);
}

static void *keep_journal(void *turn)
{
	return keep(&journal, (long)turn);
}

static void *hog(void *turn)
{
	become(SCHED_FIFO, 80);
	for (;;) {
		wait_for_turn((long)turn);
		compute_us(400);
		usleep(300);
	}
	return NULL;
}

/* Below the line's thread, and above an ordinary process. */
static void *work_between(void *turn)
{
	become(SCHED_FIFO, 40);
	for (;;) {
		wait_for_turn((long)turn);
		compute_us(400);
		usleep(300);
	}
	return NULL;
}

static void *hog_first_processor(void *turn)
{
	stay_on(0);
	return hog(turn);
}

static void *work_in_turns(void *turn)
{
	become(SCHED_FIFO, 50);
	for (;;) {
		wait_for_turn((long)turn);
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

static void start(void *(*function)(void *), long turn)
{
	pthread_t thread;

	if (function && pthread_create(&thread, NULL, function, (void *)turn))
		fail("a thread");
}

static void evict(long turn)
{
	if (fork())
		return;
	for (;;) {
		wait_for_turn(turn);
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
	static const char line[3 * PAGE] = "a line"; /* one is read at once, and one has room */

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

static void *hog_second_processor(void *turn)
{
	stay_on(1);
	return hog(turn);
}

static void *keep_ledger_there(void *turn)
{
	stay_on(1);
	return keep_ledger(turn);
}

/* A child that lives as long as its parent, and now and then takes the processor. */
static void __attribute__((noinline)) leave_child(long turn)
{
	if (fork())
		return;
	become(SCHED_FIFO, 80);
	for (;;) {
		wait_for_turn(turn);
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
	{ "same-name", at_once, 0, work_between },
	{ "bound", at_once, 50, hog_first_processor },
	{ "left-child", at_once, 50 },
	{ "two-processors", one_lock, 50, keep_ledger_there, hog_second_processor },
	{ "debounced", at_once, 50 },
	{ "open-drain", at_once, 50 },
	{ 0 },
};

static int is(const struct cause *cause, const char *name)
{
	return !strcmp(cause->name, name);
}

/* What others do, and what it needs before it takes its lines. */
static void prepare(const struct cause *cause, long turn)
{
	if (cause->before_answer == shared_pages)
		evict(turn);
	if (cause->before_answer == prints)
		read_slowly();
	if (cause->helper == hog_first_processor || cause->helper == keep_ledger_there)
		stay_on(0);
	if (is(cause, "left-child"))
		leave_child(turn);
	start(cause->helper, turn);
	start(cause->another, turn);
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
	struct {
		const struct cause *cause;
		int64_t ran, took;
		const char *longest;
	} of[TURNS] = { 0 };
	struct gpiod_line_request *ping, *reply;
	const struct cause *first;
	unsigned int in, out;
	long count = argc - 1;

	shared_file = memfd_create("shared", 0);
	if (count < 1 || !settings || !events || pipe(ends) || ftruncate(shared_file, PAGES * PAGE))
		fail("it cannot begin");
	shared = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shared_file, 0);
	own = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	turns->now = -1;
	sem_init(&never, 0, 0);
	signal(SIGUSR1, on_signal);
	prctl(PR_SET_TIMERSLACK, 900000);
	for (long i = 0; i < count; i++) {
		const struct cause *cause = causes;

		while (cause->name && !is(cause, argv[i + 1]))
			cause++;
		if (!cause->name || i == TURNS)
			fail("no such cause");
		of[i].cause = cause;
		of[i].longest = "";
		sem_init(&turns->go[i], 1, 0);
		prepare(cause, i);
	}
	first = of[0].cause;
	gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_OUTPUT);
	if (is(first, "open-drain"))
		gpiod_line_settings_set_drive(settings, GPIOD_LINE_DRIVE_OPEN_DRAIN);
	reply = take("GPIO27", settings, &out);
	gpiod_line_settings_set_drive(settings, GPIOD_LINE_DRIVE_PUSH_PULL);
	gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_INPUT);
	gpiod_line_settings_set_edge_detection(settings, GPIOD_LINE_EDGE_RISING);
	if (is(first, "debounced"))
		gpiod_line_settings_set_debounce_period_us(settings, 500);
	ping = take("GPIO17", settings, &in);
	for (long heard = 0;; heard++) {
		long turn = heard % count;
		const struct cause *cause = of[turn].cause;
		int64_t began, ran, answered;

		printf("heard %ld:", heard);
		for (long i = 0; i < count; i++)
			printf(" %lld/%lld%s", (long long)of[i].ran / 100,
			       (long long)of[i].took / 100, of[i].longest);
		printf("\n");
		fflush(stdout);
		become(cause->priority ? SCHED_FIFO : SCHED_OTHER, cause->priority);
		take_turn(turn);
		if (gpiod_line_request_read_edge_events(ping, events, 1) != 1)
			fail("GPIO17");
		ran = now_ns();
		began = gpiod_edge_event_get_timestamp_ns(
			gpiod_edge_event_buffer_get_event(events, 0));
		cause->before_answer();
		answered = now_ns();
		gpiod_line_request_set_value(reply, out, GPIOD_LINE_VALUE_ACTIVE);
		gpiod_line_request_set_value(reply, out, GPIOD_LINE_VALUE_INACTIVE);
		if (answered - began > of[turn].ran + of[turn].took) {
			of[turn].ran = ran - began;
			of[turn].took = answered - ran;
			of[turn].longest = longest;
		}
		longest = "";
	}
}
