// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * answer - the end of a ball behind the Racquet: its handler in the kernel has raised the reply line
 * already, and this lowers it.
 *
 * A read of /dev/racquet waits for a ping, and tells how many came. A write lowers the line.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE "/dev/racquet"
#define PRIORITY 50 /* as the kernel's threads of interrupts have */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

int main(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	uint32_t pings;
	int device;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("cannot lock its memory");
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("cannot take a real-time priority");
	device = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail(DEVICE);
	for (;;) {
		if (read(device, &pings, sizeof(pings)) != sizeof(pings))
			fail(DEVICE);
		if (write(device, "", 1) != 1)
			fail(DEVICE);
	}
}
