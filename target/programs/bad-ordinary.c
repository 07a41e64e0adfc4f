// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/* bad-ordinary - its mistake: nobody gave it a priority, and it waits as other programs do. */
#include "in-time.h"

int main(void)
{
	int ping, reply;

	lock_memory();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		answer(reply);
	}
}
