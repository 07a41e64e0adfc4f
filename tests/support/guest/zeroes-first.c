// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first thing that happens to a page is a DC ZVA: it faults, and is executed again. Afterwards
 * the pages are read so often that a model of memory compares their addresses with the right ones.
 */
#include <stddef.h>
#include <sys/mman.h>

#define PAGES 64
#define PAGE 4096
#define LINE 64
#define ROUNDS 16

int main(void)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	long sum = 0;

	if (pages == MAP_FAILED)
		return 1;
	for (char *at = pages; at < pages + PAGES * PAGE; at += PAGE)
		asm volatile("dc	zva, %0" ::"r"(at) : "memory");
	for (int round = 0; round < ROUNDS; round++) {
		for (char *at = pages; at < pages + PAGES * PAGE; at += LINE)
			sum += *(volatile char *)at;
	}
	return sum != 0;
}
