/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * What the services cost beneath Linux: for each ping the reply line is up while one service runs,
 * and the instrument times it. The order is that of target/sloth/services.c, an empty pulse first.
 */
#include "racquet.h"

enum { EMPTY, ACTIVATE, DISPATCH, TERMINATE, NEXT, CHAIN, GET, RELEASE, RELEASE_DISPATCH, STEPS };
static unsigned int step = STEPS - 1;

static inline void reply_up(void)
{
	GPIO_LINES(REPLY) = REPLY;
}

static inline void reply_down(void)
{
	GPIO_LINES(REPLY) = 0;
}

void Raise_task(void)
{
	uint32_t lines = GPIO(0x418); /* whose interrupt */

	if (lines & PING) {
		GPIO(0x41c) = PING;
		step = (step + 1) % STEPS;
		ActivateTask(One);
	}
	if (lines & ~TASKS_GPIO)
		gpio_forward(lines & ~TASKS_GPIO);
}

void One_task(void)
{
	uint32_t before;

	switch (step) {
	case EMPTY: /* which all the others are compared with */
		reply_up();
		reply_down();
		break;
	case ACTIVATE: /* a task that must wait: no dispatch */
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
	case GET:
		reply_up();
		before = GetResource(5);
		reply_down();
		ReleaseResource(before);
		break;
	case RELEASE:
		before = GetResource(5);
		reply_up();
		ReleaseResource(before);
		reply_down();
		break;
	case RELEASE_DISPATCH:
		before = GetResource(5);
		ActivateTask(Two); /* it waits for the resource's end */
		reply_up();
		ReleaseResource(before); /* Two lowers it */
		break;
	}
}

void Next_task(void)
{
	reply_down();
}

void Two_task(void)
{
	reply_down();
}

void Back_task(void)
{
	reply_up();
}

void Three_task(void)
{
	reply_down();
}

void Echo_task(void)
{
}

void StartupHook(void)
{
}
