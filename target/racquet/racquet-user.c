// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet-user - the bottom half as a user process: waits on /dev/racquet, lowers the reply line.
 *
 * SCHED_FIFO with locked memory, as a real-time program should be; -p 0 makes it an ordinary one.
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

static const char usage[] =
	"usage: racquet-user [-p PRIORITY] [DEVICE]\n"
	"  -p PRIORITY  SCHED_FIFO 1..99 (default 50, as interrupt threads have); 0: SCHED_OTHER\n"
	"  DEVICE       default /dev/racquet, from insmod racquet.ko bottom_half=user\n"
	"example: racquet-user -p 80\n";

static int fail(const char *what, const char *hint)
{
	fprintf(stderr, "racquet-user: %s: %s%s\n", what, strerror(errno), hint);
	return 1;
}

int main(int argc, char **argv)
{
	const char *device = "/dev/racquet";
	struct sched_param param = { .sched_priority = 50 };
	uint32_t served;
	char *end;
	long priority;
	int opt, fd;

	while ((opt = getopt(argc, argv, "hp:")) != -1) {
		switch (opt) {
		case 'p':
			priority = strtol(optarg, &end, 10);
			param.sched_priority = priority;
			if (*optarg && !*end && priority >= 0 && priority <= 99)
				break;
			fprintf(stderr, "racquet-user: priority %s: use 0 to 99\n", optarg);
			return 2;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc)
		device = argv[optind];

	fd = open(device, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(device, "; was racquet.ko loaded with bottom_half=user?");
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return fail("mlockall", "; run it as root");
	if (param.sched_priority && sched_setscheduler(0, SCHED_FIFO, &param))
		return fail("SCHED_FIFO", "; run it as root");

	for (;;) {
		if (read(fd, &served, sizeof(served)) != sizeof(served)) {
			if (errno == EINTR)
				continue;
			return fail("read", "");
		}
		if (write(fd, "", 1) != 1)
			return fail("write", "");
	}
}
