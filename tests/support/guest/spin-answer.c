// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/* In racquet-user's place: executes 50,000 instructions before each answer, so its time is known. */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOOPS 25000L /* of two instructions each */

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	struct sched_param param = { .sched_priority = 50 };
	int fd = open("/dev/racquet", O_RDWR);
	uint32_t served;

	if (fd < 0)
		return fail("open");
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || sched_setscheduler(0, SCHED_FIFO, &param))
		return fail("real time");
	for (;;) {
		long left = LOOPS;

		if (read(fd, &served, sizeof(served)) != sizeof(served))
			return fail("read");
		asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(left) : : "cc");
		if (write(fd, "", 1) != 1)
			return fail("write");
	}
}
