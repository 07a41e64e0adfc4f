// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/* In racquet-user's place: answers like it, but sleeps in poll(), and reads a page that is not there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static void *volatile nowhere = (void *)1; /* no page is there; volatile: gcc must not know */

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	struct pollfd device = { .fd = open("/dev/racquet", O_RDWR | O_NONBLOCK),
				 .events = POLLIN };
	uint32_t served;

	if (device.fd < 0)
		return fail("open");
	/* nothing was served: poll() waits, and read() would */
	if (poll(&device, 1, 0) != 0 || read(device.fd, &served, sizeof(served)) != -1 ||
	    errno != EAGAIN)
		return fail("before the first ball");
	for (;;) {
		if (poll(&device, 1, -1) != 1 || device.revents != POLLIN)
			return fail("poll");
		/* a read that fails loses no ping */
		if (read(device.fd, nowhere, sizeof(served)) != -1 || errno != EFAULT)
			return fail("read to nowhere");
		if (read(device.fd, &served, sizeof(served)) != sizeof(served) || served != 1)
			return fail("read");
		if (write(device.fd, "", 1) != 1)
			return fail("write");
	}
}
