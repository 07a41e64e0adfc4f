// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad-sleep - its mistake: it does not wait for the ping. It sleeps for 0.2 ms, and looks whether
 * one came meanwhile. usleep sleeps for as long at least, and longer.
 */
#include <poll.h>

#include "in-time.h"

static int has_come(int ping)
{
	struct pollfd looked = { .fd = ping, .events = POLLIN };

	return poll(&looked, 1, 0) == 1;
}

int main(void)
{
	int ping, reply;

	lock_memory();
	take_priority();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		usleep(200);
		while (has_come(ping)) {
			wait_for(ping);
			answer(reply);
		}
	}
}
