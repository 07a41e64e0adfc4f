// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * bad-malloc - its mistake: it allocates a large block for each ball, and frees it. Of such a size
 * malloc asks the kernel each time, which fills the block with zeros.
 */
#include <malloc.h>

#include "in-time.h"

#define BLOCK (256 << 10)

int main(void)
{
	int ping, reply;

	/* as it is when a program begins; malloc would raise it to the largest block that was freed */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	lock_memory();
	take_priority();
	reply = take_reply();
	ping = take_ping();
	for (;;) {
		char *block;

		wait_for(ping);
		block = malloc(BLOCK);
		if (!block)
			fail("no memory");
		memset(block, 1, BLOCK);
		__asm__ volatile(""
				 :
				 : "r"(block)
				 : "memory"); /* or the compiler leaves it all out */
		answer(reply);
		free(block);
	}
}
