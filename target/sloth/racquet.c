/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* The Racquet on SLOTH: answers a ping from the task of its interrupt, and again from a lower one. */
#include "sloth.h"

TASK(Raise)
{
	reply_up();
	ping_seen();
	ActivateTask(Lower);
	TerminateTask();
}

TASK(Lower)
{
	reply_down();
	TerminateTask();
}

TASK(Hog)
{
	uint32_t rounds = HOLD_US * 1000 / (2 * NS_PER_INSTRUCTION); /* of two instructions */

	GetResource(Line);
	if (rounds)
		__asm__ volatile("1:\tsubs %0, %0, #1\n\tbne 1b" : "+l"(rounds)::"cc");
	ReleaseResource(Line);
	TerminateTask();
}

void IdleHook(void)
{
	introduce("racquet");
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
