// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * answer - answers each ping as soon as it knows of it: its reply rises, and falls.
 *
 * Before the first ping it locks its memory and takes a real-time priority. Behind it, it calls
 * nothing but the kernel, three times a ball.
 */
#include "in-time.h"

int main(void)
{
	int ping, reply;

	lock_memory();
	take_priority();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		wait_for(ping);
		answer(reply);
	}
}
