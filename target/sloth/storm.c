/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * Work, the lowest task, goes through all services without a pause, so that pings come at any of
 * their instructions. Each task checks what a wrong preemption would break; once something is
 * broken nobody answers any more.
 */
#include "sloth.h"

static volatile uint32_t one, other; /* Pair: who holds it finds them equal, and leaves them so */
static volatile uint32_t first, second; /* All: the same */
static volatile uint32_t raised, lowered, worked;
static volatile bool broken;

TASK(Raise)
{
	if (first != second || raised != lowered)
		broken = true;
	raised++;
	if (!broken)
		reply_up();
	ping_seen();
	ActivateTask(Lower);
	if (raised == lowered) /* Lower is lower, and must not have run yet */
		broken = true;
	TerminateTask();
}

TASK(Lower)
{
	GetResource(Pair);
	if (one != other || first != second)
		broken = true;
	one++;
	other++;
	ReleaseResource(Pair);
	lowered++;
	reply_down();
	TerminateTask();
}

__attribute__((noinline)) static void leave(bool chain)
{
	if (chain)
		ChainTask(Work);
	ActivateTask(Work);
	TerminateTask();
}

TASK(Work)
{
	GetResource(Pair);
	one++;
	GetResource(All);
	first++;
	second++;
	ReleaseResource(All);
	other++;
	ReleaseResource(Pair);
	leave(++worked & 1);
}

void IdleHook(void)
{
	introduce("storm");
	wait_for_instrument();
	ready_up();
	ActivateTask(Work);
}

int main(void)
{
	board_start();
	StartOS();
}
