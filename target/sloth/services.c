/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * What the services cost: the reply line is up from before a service until what comes behind it,
 * and the instrument listens. The order of the pulses is that of SERVICES in
 * tennis/bench/sloth/services.py, again and again.
 */
#include "sloth.h"

enum { ACTIVATE, DISPATCH, TERMINATE, NEXT, CHAIN, GET_AND_RELEASE, RELEASE };
static volatile int step;

TASK(One)
{
	switch (step) {
	case ACTIVATE: /* a task that must wait: no dispatch */
		reply_up();
		reply_down(); /* an empty pulse, which all the others are compared with */
		reply_up();
		ActivateTask(Next);
		reply_down();
		break;
	case DISPATCH:
		reply_up();
		ActivateTask(Two); /* which lowers it */
		break;
	case TERMINATE:
		ActivateTask(Back); /* which raises it and ends */
		reply_down();
		break;
	case NEXT:
		ActivateTask(Next); /* it waits for the end of this one, and lowers the line */
		reply_up();
		break;
	case CHAIN:
		reply_up();
		ChainTask(Three); /* which lowers it */
		break;
	case GET_AND_RELEASE:
		reply_up();
		GetResource(Middle);
		reply_down();
		reply_up();
		ReleaseResource(Middle);
		reply_down();
		break;
	case RELEASE:
		GetResource(Middle);
		ActivateTask(Two); /* it waits for the resource's end */
		reply_up();
		ReleaseResource(Middle); /* Two lowers it */
		break;
	}
	TerminateTask();
}

/* Nothing comes before the line, so that only the way here is timed. */
TASK(Next)
{
	reply_down();
	TerminateTask();
}

TASK(Two)
{
	reply_down();
	TerminateTask();
}

TASK(Back)
{
	reply_up();
	TerminateTask();
}

TASK(Three)
{
	reply_down();
	TerminateTask();
}

void IdleHook(void)
{
	say("tennis: fact sloth services\n");
	wait_for_instrument();
	ready_up();
	for (;;) {
		for (step = ACTIVATE; step <= RELEASE; step++)
			ActivateTask(One);
	}
}

int main(void)
{
	board_start();
	StartOS();
}
