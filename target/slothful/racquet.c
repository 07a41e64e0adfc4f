/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * The Racquet beneath Linux: the ping's interrupt raises the reply line, a lower task lowers it and
 * tells Linux when. Echo gives back what Linux sends. Report writes a line for people now and then:
 * cat /dev/sloth1.
 */
#include "racquet.h"

#define REPORT_US 250000

static uint64_t rise;
static uint32_t pings;

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

/* Not a part of Lower: nothing of it is to be done before the line is down. */
static __attribute__((noinline)) void tell(void)
{
	pings++;
	WriteRecord(rise, counter());
}

void Lower_task(void)
{
	GPIO_LINES(REPLY) = 0;
	tell();
}

void Echo_task(void)
{
	struct sloth_record record;
	uint32_t pipe;

	while (ReadRecord(&record)) {
		pipe = GetResource(3); /* Lower writes there, too */
		WriteRecord(record.rise, record.fall);
		ReleaseResource(pipe);
		shared->figures.echoed++;
	}
}

void Report_task(void)
{
	WritefPipe(LOG, "%u pings, %u records from Linux\n", pings, shared->figures.echoed);
}

void StartupHook(void)
{
	SetRelAlarm(Now_and_then, ticks_of_us(REPORT_US), ticks_of_us(REPORT_US));
}
