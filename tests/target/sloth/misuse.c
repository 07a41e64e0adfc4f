/* Each thing that a service must refuse, and what it says: "WHAT: status, hook's status". */
#include "sloth.h"

static StatusType hooked;
static unsigned int hooks;

void ErrorHook(StatusType error)
{
	hooked = error;
	hooks++;
}

static void tell(const char *what, StatusType status)
{
	char digits[] = ": 0 0 0\n";

	digits[2] += status;
	digits[4] += hooked;
	digits[6] += hooks;
	say(what);
	say(digits);
	hooked = hooks = 0;
}

static int which;
enum { NOTHING, SERVICES, CHAINS, LEAVES, HOLDS };

TASK(One)
{
	switch (which) {
	case SERVICES:
		tell("right", GetResource(Middle));
		tell("taken twice", GetResource(Middle));
		tell("right inside", GetResource(Low));
		tell("wrong nesting", ReleaseResource(Middle));
		tell("terminate with a resource", TerminateTask());
		tell("chain with a resource", ChainTask(Two));
		tell("release inside", ReleaseResource(Low));
		tell("not taken", ReleaseResource(Low));
		tell("activate", ActivateTask(Two));
		tell("pending already", ActivateTask(Two));
		tell("release", ReleaseResource(Middle));
		break;
	case CHAINS:
		tell("chain to nobody", ChainTask(40));
		sloth_pend(Same);
		tell("chain to what is pending", ChainTask(Same));
		break;
	case LEAVES: /* without giving back what it has */
		GetResource(Low);
		GetResource(Middle);
		return;
	case HOLDS:
		GetResource(Middle);
		ActivateTask(Three); /* above the ceiling: it runs now */
		ReleaseResource(Middle);
		break;
	}
	TerminateTask();
}

TASK(Two)
{
	TerminateTask();
}

TASK(Same)
{
	TerminateTask();
}

TASK(Three)
{
	if (which == HOLDS) {
		tell("ceiling below the caller", GetResource(Low));
		tell("another task's", ReleaseResource(Middle));
	}
	TerminateTask();
}

static void run(int number)
{
	which = number;
	ActivateTask(One);
}

void IdleHook(void)
{
	tell("no such task", ActivateTask(60));
	tell("a line without a task", ActivateTask(FREE_LINE(3)));
	tell("terminate outside of tasks", TerminateTask());
	tell("chain outside of tasks", ChainTask(One));
	run(SERVICES);
	run(CHAINS);
	run(LEAVES);
	tell("returned with resources", 0);
	run(NOTHING);
	tell("and another one runs", ActivateTask(Two));
	run(HOLDS);
	tell("no such alarm", SetRelAlarm(7, 1, 0));
	tell("in no ticks", SetRelAlarm(Once, 0, 0));
	tell("off already", CancelAlarm(Once));
	tell("alarm", SetRelAlarm(Once, 5, 0));
	tell("on already", SetRelAlarm(Once, 5, 0));
	tell("cancel", CancelAlarm(Once));
	board_end();
}

int main(void)
{
	board_start();
	StartOS();
}
