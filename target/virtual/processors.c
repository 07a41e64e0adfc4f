// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several processors in one virtual time.
 *
 * With -icount QEMU runs all vCPUs in one thread, one after the other, each until the next deadline
 * of the virtual clock. That is deterministic, but no model of processors that run at once. Three
 * things are added here, all of them in that one thread; a machine with one processor has none.
 *
 * Turns. While several vCPUs have something to do, a timer ends each one's turn after turn_ns, and
 * for CLOSE_NS from each ping on after fine_turn_ns. It is in a list of its own: QEMU tells the list
 * when a deadline has come, but setting a timer of it kicks no vCPU.
 *
 * Interrupts for another vCPU. QEMU does not end the turn of the one that runs: the other would see
 * its interrupt milliseconds later. The interrupt lines of the vCPUs lead through here, and a rise
 * starts the turns.
 *
 * Speed. Each processor executes an instruction in the same time whether others run or not. So the
 * clock advances half as much per instruction while two run, and a quarter while four do. While
 * three of four run, each is a third too fast: the clock's rate is a power of two. And each must
 * have its whole part of a turn. QEMU ends it at a YIELD or WFE, as one that waits for a lock
 * executes, and the other one would have twice its speed; not so in code for parallel processors.
 */
#include "processors.h"

#include "clock.h"
#include "host_clock.h"
#include "kicks.h"
#include "machine.h"

#define CLOSE_NS 50000
#define TICKS_NS 12000000 /* a processor that is busy has a deadline within that time */
#define ATTRIBUTES_ALL (-1)

extern void *qemu_get_cpu(int index);
extern _Bool cpu_thread_is_idle(void *cpu);
extern void async_run_on_cpu(void *cpu, void (*work)(void *cpu, uint64_t data), uint64_t data);
extern void qemu_cpu_kick(void *cpu);
extern void tcg_cpu_init_cflags(void *cpu, _Bool parallel);
extern _Bool qemu_in_vcpu_thread(void);
extern void *timerlist_new(int clock, void (*notify)(void *opaque, int clock), void *opaque);
extern void qdev_connect_gpio_out_named(void *device, const char *name, int line, qemu_irq irq);
extern void rcu_add_force_rcu_notifier(void *notifier);
extern void rcu_remove_force_rcu_notifier(void *notifier);
extern __thread void *current_cpu;

/* from QEMU 8.1 on: a vCPU's part of the time until the deadline; before, each had all of it */
int64_t icount_percpu_budget(int count) __attribute__((weak));

int64_t turn_ns = 2000, fine_turn_ns = 100;

static void *cpus[CPUS_MAX];
static int cpu_count;
static int usual_shift; /* an instruction takes 1 << usual_shift ns */
static qemu_timer turn;
static bool taking_turns, resting, woken;
static int64_t turn_ends, close_until;
static bool setting; /* a timer of the list is being set: no deadline has come */
static void (*passing)(int64_t now, int64_t until);

/* --- the clock's rate --- */

static void check_timers(void)
{
	if (!clock_is_known(machine_now()))
		fail("the clock of this QEMU is not known: it plays with one processor only");
}

static void set_rate(int running)
{
	struct timers *t = timers();
	int64_t now = machine_now(); /* which puts all instructions on the clock */
	int shift = usual_shift;

	for (; running > 1 && shift > 0; running = (running + 1) / 2)
		shift--;
	if (t->shift == shift)
		return;
	t->shift = shift;
	t->bias = now - (t->instructions << shift);
}

void processors_rest(void)
{
	resting = true;
	woken = false;
	if (cpu_count > 1)
		set_rate(1);
}

void processors_rested(void)
{
	resting = false;
}

int processors_count(void)
{
	return cpu_count;
}

int processors_executing(void)
{
	for (int i = 0; i < cpu_count; i++) {
		if (cpus[i] == current_cpu)
			return i;
	}
	return -1;
}

/* What rests has work queued (idle.c), and QEMU takes it for busy. */
bool processors_is_busy(int number)
{
	return !resting && !cpu_thread_is_idle(cpus[number]);
}

/* --- turns --- */

static int running(void)
{
	int count = 0;

	for (int i = 0; i < cpu_count; i++)
		count += !cpu_thread_is_idle(cpus[i]);
	return count;
}

static void kick_all(void *cpu, uint64_t data)
{
	qemu_cpu_kick(cpu); /* in one thread: all of them */
}

/*
 * A deadline kicks all vCPUs. Where turns are shared, one that was kicked shares again what is left:
 * of two, the first would have five eighths of each turn.
 */
void processors_not_kicked(void)
{
	kicks_take_back(cpus, cpu_count);
}

static void forget_kicks(void *cpu, uint64_t data)
{
	kicks_learn(cpus, cpu_count);
	kicks_take_back(cpus, cpu_count);
}

/* The turn began in the middle of a round: QEMU goes on with those behind the one that ran last. */
static bool others_follow(void)
{
	for (int i = processors_executing() + 1; i < cpu_count; i++) {
		if (!cpu_thread_is_idle(cpus[i]))
			return true;
	}
	return false;
}

static void *first_running(void)
{
	int i = 0;

	while (i < cpu_count - 1 && cpu_thread_is_idle(cpus[i]))
		i++;
	return cpus[i];
}

static void set_turn_end(int64_t when)
{
	turn_ends = when;
	setting = true;
	timer_mod_ns(turn, when);
	setting = false;
}

static void set_turn(int64_t now)
{
	set_turn_end(now + (now < close_until ? fine_turn_ns : turn_ns));
}

static void turn_is_over(int64_t now)
{
	int count = running();
	bool shared = icount_percpu_budget;
	bool within_round = shared && others_follow();

	taking_turns = count > 1;
	set_rate(count);
	if (!taking_turns) {
		timer_del(turn);
		return;
	}
	if (shared)
		async_run_on_cpu(first_running(), forget_kicks, 0);
	else /* a vCPU that was kicked begins with a look at the timers, and finds time left */
		async_run_on_cpu(cpus[0], kick_all, 0);
	if (!within_round) {
		set_turn(now);
		return;
	}
	set_turn_end(now + 1); /* first the round comes to its end */
}

/*
 * Shots. A deadline that is set changes a run before it comes: QEMU kicks all vCPUs if another one
 * is set that is the earliest of all, and that one then is not. So the child has it for TICKS_NS at
 * least, in which others come. It is set where a deadline has come and kicked them anyway.
 */
void processors_tell_passing(void (*tell)(int64_t now, int64_t until))
{
	passing = tell;
}

void processors_will_pass(int64_t time)
{
	if (passing)
		passing(machine_now(), machine_now() + (time > TICKS_NS ? time : TICKS_NS));
}

static void deadline_has_come(void *opaque, int clock)
{
	int64_t now;

	if (setting || !qemu_in_vcpu_thread())
		return;
	now = machine_now();
	if (taking_turns && now >= turn_ends)
		turn_is_over(now);
	if (passing && !resting)
		passing(now, now + TICKS_NS);
}

static void never_called(void *opaque)
{
}

static void start_turns(void)
{
	int count = running();

	if (taking_turns || count < 2)
		return;
	set_rate(count);
	set_turn(machine_now());
	taking_turns = true;
	qemu_cpu_kick(cpus[0]); /* the turn of the one that runs is over */
}

void processors_woke(void)
{
	if (!woken)
		return;
	woken = false;
	start_turns();
}

void processors_look_closely(int64_t now)
{
	close_until = now + CLOSE_NS;
	if (taking_turns)
		set_turn(now);
}

static void interrupt_line(void *opaque, int line, int level)
{
	qemu_set_irq(opaque, level);
	if (level && resting)
		woken = true; /* counted later: who passes the time has work queued, and looks busy */
	else if (level)
		start_turns();
}

/* --- QEMU's RCU thread ends turns, at a time of the host's: it is no longer heard --- */

struct notifier {
	void (*notify)(struct notifier *n, void *data);
	struct notifier *next, **previous;
};

static void forget_rcu(void)
{
	static struct notifier own;

	rcu_add_force_rcu_notifier(&own);
	if (own.next)
		rcu_remove_force_rcu_notifier(own.next);
	rcu_remove_force_rcu_notifier(&own);
}

/* The first outputs of a GICv2 are the interrupt lines of the vCPUs. */
static void connect_interrupts(void)
{
	bool ambiguous = false;
	void *gic = object_resolve_path_type("", "arm_gic", &ambiguous);

	if (!gic || ambiguous)
		fail("several processors need a machine with one GICv2");
	for (int i = 0; i < cpu_count; i++)
		qdev_connect_gpio_out_named(
			gic, "sysbus-irq", i,
			qemu_allocate_irq(interrupt_line, qdev_get_gpio_in(cpus[i], 0), i));
}

void processors_connect(void)
{
	static void *lists[8];

	if (!use_icount)
		return; /* vCPUs have threads of their own, and take no turns */
	while (cpu_count < CPUS_MAX && (cpus[cpu_count] = qemu_get_cpu(cpu_count)))
		cpu_count++;
	if (cpu_count < 2)
		return;
	if (!host_clock_is_kept())
		fail("QEMU sees the host's time of day: the instrument was not preloaded");
	check_timers();
	usual_shift = timers()->shift;
	for (int i = 0; i < cpu_count; i++)
		tcg_cpu_init_cflags(cpus[i], true);
	connect_interrupts();
	forget_rcu();
	lists[QEMU_CLOCK_VIRTUAL] = timerlist_new(QEMU_CLOCK_VIRTUAL, deadline_has_come, NULL);
	timer_init_full(turn, lists, QEMU_CLOCK_VIRTUAL, 1, 0, never_called, NULL);
}
