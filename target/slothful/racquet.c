/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * The Racquet beneath Linux: the ping's interrupt raises the reply line, a lower task lowers it and
 * tells Linux when. Echo gives back what Linux sends.
 */
#include "racquet.h"

static uint64_t rise;

void Raise_task(void)
{
	uint32_t lines = GPIO(0x418); /* whose interrupt */

	if (lines & PING) {
		GPIO_LINES(REPLY) = REPLY;
		GPIO(0x41c) = PING;
		rise = counter();
		ActivateTask(Lower);
	}
	if (lines & ~TASKS_GPIO)
		gpio_forward(lines & ~TASKS_GPIO);
}

void Lower_task(void)
{
	GPIO_LINES(REPLY) = 0;
	WritePipe(rise, counter());
}

void Echo_task(void)
{
	struct sloth_record record;
	uint32_t pipe;

	while (ReadPipe(&record)) {
		pipe = GetResource(3); /* Lower writes there, too */
		WritePipe(record.rise, record.fall);
		ReleaseResource(pipe);
		shared->figures.echoed++;
	}
}
