/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * racquet - your own, on SLOTH. The ping's interrupt is the task Raise;
 * Lower, a task below it, counts the ball in the books (the resource
 * Books) and lowers the line; Audit, the lowest, checks the books.
 *
 * You fill the gaps, here and in racquet.h. The services
 * are in target/sloth/sloth.h.
 */
#include "sloth.h"

static volatile bool auditing;
static volatile bool torn; /* a ball was entered in the middle of an audit */
static volatile uint32_t entered;

static void enter_ball(void)
{
	torn |= auditing;
	entered++;
}

static void audit(void) /* takes HOLD_US */
{
	/* rounds of two instructions */
	uint32_t rounds = HOLD_US * 1000 / (2 * NS_PER_INSTRUCTION);

	auditing = true;
	if (rounds)
		__asm__ volatile("1:\tsubs %0, %0, #1\n\tbne 1b" : "+l"(rounds)::"cc");
	auditing = false;
}

static void answer(void) /* wrong books: no answer */
{
	if (!torn)
		reply_down();
}

TASK(Raise)
{
	reply_up();
	ping_seen();
	/* [gap] 1: let Lower run, and end. */
	/* [solution] */
	ActivateTask(Lower);
	TerminateTask();
	/* [/solution] */
}

TASK(Lower)
{
	/* [gap] 2: call enter_ball() while you hold Books, then answer(), and end. */
	/* [solution] */
	GetResource(Books);
	enter_ball();
	ReleaseResource(Books);
	answer();
	TerminateTask();
	/* [/solution] */
}

TASK(Audit)
{
	/* [gap] 3: call audit() while you hold Books, and end. */
	/* [solution] */
	GetResource(Books);
	audit();
	ReleaseResource(Books);
	TerminateTask();
	/* [/solution] */
}

void IdleHook(void)
{
	introduce("own");
	wait_for_instrument();
	if (HOLD_US)
		SetRelAlarm(Due, 1, 1);
	ready_up();
}

int main(void)
{
	board_start();
	StartOS();
}
