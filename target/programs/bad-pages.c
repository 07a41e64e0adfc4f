// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad-pages - its mistake: its memory is not locked. It keeps a record of each ball, 4 kB long as
 * records with a picture or a sample are, and each one is on a page that the kernel has to find
 * first. (A Raspberry Pi's kernel has no huge pages, of which one would be enough for 512 records;
 * here the program does without them.)
 */
#include <sys/prctl.h>

#include "in-time.h"

#define RECORD 4096
#define RECORDS 65536 /* then it begins again */

/* volatile: nobody reads it, and the compiler would leave it out */
static volatile char records[RECORDS][RECORD];

int main(void)
{
	unsigned long ball = 0;
	int ping, reply;

	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		fail("huge pages");
	take_priority();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		records[ball++ % RECORDS][0] = 1;
		answer(reply);
	}
}
