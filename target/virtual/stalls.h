/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor that waits while virtual time goes on: see stalls.c. */
#ifndef TENNIS_STALLS_H
#define TENNIS_STALLS_H

#include <stdint.h>

/*
 * Find where QEMU counts a vCPU's instructions, then call back: in the vCPU's thread, between two
 * blocks of code. It tries for some ms of virtual time, and ends QEMU where that fails.
 */
void stalls_learn(void *cpu, void (*learned)(void));
/* In code that the vCPU executes: it waits as long as so many instructions take. */
void stall(int64_t instructions);
/* How many instructions QEMU has executed, and those of the block that has just begun. */
int64_t stalls_executed(void);
/* A block of code begins: what was due during the one before has been met. */
void stalls_settled(void);
/* 1 << this: ns of an instruction. */
int stalls_shift(void);

#endif
