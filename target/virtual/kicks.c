// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where QEMU notes that a vCPU was kicked: found by experiment.
 *
 * QEMU has a function that kicks a vCPU, cpu_exit(), and none that takes a kick back. What it notes
 * is a byte of the vCPU (exit_request in its CPUState), whose place differs between versions and
 * builds, and no header or symbol of the executable tells it. So a vCPU is kicked, and the place is
 * the one byte that went from 0 to 1. Anything else is no answer: a vCPU that was kicked already, or
 * whose state another thread changed meanwhile. Then it is tried again, and in the end given up.
 */
#include "kicks.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "machine.h"

#define LOOKED_AT 2048 /* bytes of a vCPU; it has more than ten times as many */
#define TRIES 1000

extern void cpu_exit(void *cpu);

static size_t kick_at; /* 0: not known */

static size_t find(uint8_t *cpu)
{
	uint8_t before[LOOKED_AT];
	size_t found = 0;

	memcpy(before, cpu, sizeof(before));
	cpu_exit(cpu);
	for (size_t i = 0; i < sizeof(before); i++) {
		if (before[i] == cpu[i])
			continue;
		if (found || before[i] || cpu[i] != 1)
			return 0;
		found = i;
	}
	return found;
}

void kicks_learn(void *const *cpus, int count)
{
	static int tries;

	for (int i = 0; !kick_at && i < count; i++)
		kick_at = find(cpus[i]);
	if (!kick_at && ++tries == TRIES)
		fail("the vCPUs of this QEMU are not known: it plays with one processor only");
}

void kicks_take_back(void *const *cpus, int count)
{
	for (int i = 0; kick_at && i < count; i++)
		((uint8_t *)cpus[i])[kick_at] = 0;
}
