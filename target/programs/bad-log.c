// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad-log - its mistake: it writes a line into a file before it answers. The line's way goes
 * through the file system and its locks, which other programs hold.
 */
#include "in-time.h"

int main(void)
{
	unsigned long ball = 0;
	int ping, reply;
	FILE *log = fopen("/run/program/log", "w");

	if (!log)
		fail("log");
	lock_memory();
	take_priority();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		fprintf(log, "ball %lu\n", ball++);
		fflush(log);
		answer(reply);
	}
}
