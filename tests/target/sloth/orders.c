/* Known answers: the order in which the steps of tasks must come. One line of the console each. */
#include "sloth.h"

static char steps[64];
static unsigned int step_count;
static int which;
static volatile int chains;
static volatile bool running;
static uint32_t deepest;

static void step(const char *what)
{
	while (*what)
		steps[step_count++ % sizeof(steps)] = *what++;
}

static uint32_t stack_pointer(void)
{
	uint32_t sp;

	__asm__ volatile("mov %0, sp" : "=r"(sp));
	return sp;
}

static void note_depth(void)
{
	if (stack_pointer() < deepest)
		deepest = stack_pointer();
}

/* it does end: its task does */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static void end_below(int depth)
{
	if (depth)
		end_below(depth - 1);
	else
		TerminateTask();
	step("!"); /* nobody may come here */
}
#pragma GCC diagnostic pop

enum {
	NESTED,
	CEILING,
	CEILINGS,
	CHAIN_UP,
	CHAIN_DOWN,
	CHAIN_FOR_EVER,
	END_BELOW,
	EQUAL,
	INSIDE,
	ALARM,
	RETURN
};

TASK(One)
{
	step("1");
	switch (which) {
	case NESTED: /* figure 1.3 of the thesis */
		ActivateTask(Three);
		step("1");
		break;
	case CEILING:
		GetResource(Middle);
		step("g");
		ActivateTask(Two);
		step("1");
		ActivateTask(Three);
		step("1");
		ReleaseResource(Middle);
		step("r1");
		break;
	case CEILINGS:
		GetResource(Middle);
		GetResource(High);
		ActivateTask(Two);
		ActivateTask(Three);
		step("g");
		ReleaseResource(High);
		step("h");
		ReleaseResource(Middle);
		step("r");
		break;
	case CHAIN_UP: /* with one between the two pending behind a ceiling */
		GetResource(Middle);
		ActivateTask(Two);
		ReleaseResource(Middle);
		step("c");
		ChainTask(Three);
		break;
	case CHAIN_DOWN:
		if (chains++ == 0)
			ActivateTask(Three);
		step(".");
		break;
	case CHAIN_FOR_EVER: /* to itself, and back and forth */
		step_count--;
		note_depth();
		if (++chains < 10000)
			ChainTask(chains & 1 ? One : Three);
		break;
	case END_BELOW:
		ActivateTask(Two);
		step("1");
		break;
	case EQUAL: /* the same priority: no preemption, and only one activation is kept */
		ActivateTask(Same);
		ActivateTask(Same);
		step("1");
		break;
	case INSIDE: /* a ceiling below the one that is up lowers nothing */
		GetResource(High);
		GetResource(Low);
		ActivateTask(Two);
		step("g");
		ReleaseResource(Low);
		step("h");
		ReleaseResource(High);
		step("r");
		break;
	case RETURN: /* without TerminateTask */
		return;
	}
	TerminateTask();
}

TASK(Two)
{
	step("2");
	if (which == END_BELOW)
		end_below(5);
	TerminateTask();
}

TASK(Three)
{
	step("3");
	switch (which) {
	case NESTED: /* what a device would do */
		sloth_pend(Two);
		port_synchronise();
		step("3");
		break;
	case CHAIN_DOWN:
		ActivateTask(Two);
		step("c");
		ChainTask(One);
		break;
	case CHAIN_FOR_EVER:
		step_count--;
		note_depth();
		++chains;
		ChainTask(One);
		break;
	case ALARM:
		CancelAlarm(Often);
		running = false;
		break;
	}
	TerminateTask();
}

TASK(Same)
{
	step("s");
	TerminateTask();
}

static void tell(const char *what)
{
	steps[step_count] = 0;
	say(what);
	say(": ");
	say(steps);
	say("\n");
	step_count = 0;
}

static void run(int number, const char *what)
{
	uint32_t before = stack_pointer();

	which = number;
	chains = 0;
	deepest = before;
	ActivateTask(One);
	if (stack_pointer() != before || sloth_frame)
		step("(the stack is not what it was)");
	tell(what);
}

void IdleHook(void)
{
	register uint32_t kept __asm__("r7") = 0x12345678;

	run(NESTED, "nested");
	run(CEILING, "ceiling");
	run(CEILINGS, "ceilings");
	run(CHAIN_UP, "chain up");
	run(CHAIN_DOWN, "chain down");
	run(CHAIN_FOR_EVER, "chain for ever");
	say(deepest >= stack_pointer() - 176 ? "stack: bounded\n" : "stack: grows\n");
	run(END_BELOW, "end below");
	run(EQUAL, "equal");
	run(INSIDE, "inside");
	run(RETURN, "return");
	which = ALARM;
	running = true;
	SetRelAlarm(Often, 3, 2); /* 3, 5, 7, 9, 11 */
	SetRelAlarm(Once, 12, 0);
	while (running)
		__asm__ volatile("wfi");
	tell("alarm");
	__asm__ volatile("" : "+r"(kept));
	say(kept == 0x12345678 ? "r7: kept\n" : "r7: lost\n");
	board_end();
}

int main(void)
{
	board_start();
	StartOS();
}
