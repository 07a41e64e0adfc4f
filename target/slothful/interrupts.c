/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* Who runs: tasks as the interrupt controller says; all other interrupts go to Linux. */
#include "slothful.h"

#define LR_HARDWARE (1u << 31) /* Linux' end of it deactivates the physical one, too */
#define LR_PENDING (1u << 28)
#define LR_PRIORITY (LINUX_PRIORITY >> 3 << 23)
#define LR_LINE 0x3ffu
#define HCR_ENABLE 1u
#define HCR_UNDERFLOW 2u /* maintenance interrupt when at most one list register is in use */
#define SPURIOUS 1020
#define LIST_REGISTERS_MAX \
	4 /* of a GIC-400's: more are not used, so that masked code has no loop */
#define SOFTWARE_LINES \
	16 /* between processors: no hardware behind them, and the sender in the number */

#define T(name, line, priority) [line] = name##_task,
static void (*const tasks[LINES])(void) = { TASKS(T) };
#undef T
static uint32_t waiting[LINES / 32]; /* for a list register */
static uint32_t list_registers;

bool is_tasks_line(unsigned int line)
{
	return line < LINES && tasks[line];
}

/*
 * With interrupts masked. One that Linux has not ended yet, and that no hardware raised, is made
 * pending once more where it is: two list registers must not have the same line.
 */
static void list(unsigned int line, uint32_t bits)
{
	uint32_t empty = GICH_ELRSR;

#pragma GCC unroll 4
	for (unsigned int n = 0; n < LIST_REGISTERS_MAX; n++) {
		uint32_t entry = bits & LR_HARDWARE || n >= list_registers ? 0 : GICH_LR(n);

		if (entry && !(empty & 1u << n) && (entry & LR_LINE) == line) {
			GICH_LR(n) = entry | LR_PENDING;
			return;
		}
	}
#pragma GCC unroll 4
	for (unsigned int n = 0; n < LIST_REGISTERS_MAX; n++) {
		if (n < list_registers && empty & 1u << n) {
			GICH_LR(n) = bits | LR_PENDING | LR_PRIORITY | line;
			return;
		}
	}
	shared->figures.full++;
	waiting[line / 32] |= BIT(line);
	GICH_HCR = HCR_ENABLE | HCR_UNDERFLOW;
}

static uint32_t bits_of(unsigned int line)
{
	bool hardware = line >= SOFTWARE_LINES && line != PIPE_LINE && !is_tasks_line(line);

	return hardware ? LR_HARDWARE | line << 10 : 0;
}

/*
 * Only where Linux has turned the line on: one that no driver has asked for is never ended by Linux,
 * and holds all others back.
 */
void inject(unsigned int line)
{
	if (!(GICD_ISENABLER(line) & BIT(line)))
		return;
	interrupts_off();
	list(line, 0);
	interrupts_on();
}

/* The physical line stays active, and silent, until Linux ends the virtual one. */
static void forward(uint32_t acknowledged)
{
	unsigned int line = acknowledged & LR_LINE;

	shared->figures.forwarded++;
	GICC_EOIR = acknowledged;
	if (line < SOFTWARE_LINES) {
		GICC_DIR = acknowledged;
		list(line, acknowledged & 0x1c00);
	} else {
		list(line, bits_of(line));
	}
}

/* A list register became free. */
void Refill_task(void)
{
	GICH_HCR = HCR_ENABLE;
	for (unsigned int word = 0; word < LINES / 32; word++) {
		while (waiting[word]) {
			unsigned int line = word * 32 + (unsigned int)__builtin_ctz(waiting[word]);
			bool again;

			interrupts_off();
			waiting[word] &= ~BIT(line);
			list(line, bits_of(line));
			again = waiting[word] & BIT(line);
			interrupts_on();
			if (again)
				return; /* full once more: the next maintenance interrupt goes on */
		}
	}
}

/*
 * The most urgent interrupt that pends. The labels tell tests where that is: who counts how long a
 * task may wait behind masked code begins, and ends, there.
 */
static inline uint32_t acknowledge(void)
{
	uint32_t acknowledged;

	__asm__ volatile("acknowledge_%=: ldr %w0, %1"
			 : "=r"(acknowledged)
			 : "Q"(GICC_IAR)
			 : "memory");
	return acknowledged;
}

/*
 * From the vectors, interrupts masked. What pends when a task ends follows without a return to
 * Linux. The running priority is that of the task: only a more urgent one comes while it runs.
 */
void dispatch(void)
{
	uint32_t acknowledged;
	unsigned int line;

	while ((line = (acknowledged = acknowledge()) & LR_LINE) < SPURIOUS) {
		if (!is_tasks_line(line)) {
			forward(acknowledged);
			continue;
		}
		interrupts_on();
		tasks[line]();
		interrupts_off();
		GICC_EOIR = acknowledged;
		GICC_DIR = acknowledged;
	}
}

static void enable(unsigned int line, unsigned int priority)
{
	GICD_IPRIORITYR(line) = PRIORITY(priority);
	if (line >= 32)
		GICD_ITARGETSR(line) = 1;
	if (line >= FREE_LINE(0))
		GICD_ICFGR(line) |= 2u
				    << line % 16 * 2; /* edges: to pend it once is to run it once */
	GICD_ISENABLER(line) = BIT(line);
}

void interrupts_start(void)
{
	list_registers = (GICH_VTR & 63) + 1;
#ifdef LIST_REGISTERS /* fewer, so that tests see them full */
	list_registers = LIST_REGISTERS;
#endif
	if (list_registers > LIST_REGISTERS_MAX)
		list_registers = LIST_REGISTERS_MAX;
	if (list_registers < 2) /* with one "at most one is in use" would be true for ever */
		monitor_fault(0, 0, GICH_AT);
	for (unsigned int n = 0; n < list_registers; n++)
		GICH_LR(n) = 0;
	GICH_HCR = HCR_ENABLE;
#define T(name, line, priority) enable(line, priority);
	TASKS(T)
#undef T
	GICD_CTLR = 1;
	GICC_PMR = 0xff;
	GICC_BPR = 0;
	GICC_CTLR =
		1 |
		1 << 9; /* on; the end of an interrupt drops the priority, GICC_DIR does the rest */
}
