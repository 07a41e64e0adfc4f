/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * SLOTH beneath Linux. After R. Mueller, "SLOTHFUL LINUX" (Erlangen 2012), who let the I-pipe patch
 * take Linux' interrupts away; here the hypervisor's exception level EL2 does, and Linux is not
 * changed. All physical interrupts come to the monitor, whatever Linux masks.
 *
 * A task is a line of the interrupt controller (GICv2); the line's priority is the task's. To
 * activate it is to pend the line. A resource's ceiling is the controller's priority mask. Linux'
 * interrupts have a lower priority than any task, and go to it as virtual ones.
 *
 * The services have the names of OSEK OS, as those of target/sloth; tasks are functions, run to
 * completion on one stack, and end by returning.
 */
#ifndef SLOTHFUL_H
#define SLOTHFUL_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "linux/pipe.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define REGISTER8(address) (*(volatile uint8_t *)(uintptr_t)(address))

/* --- GICv2 (Arm IHI 0048B) --- */
#define GICD_CTLR REGISTER(GICD_AT)
#define GICD_ISENABLER(line) REGISTER(GICD_AT + 0x100 + (line) / 32 * 4)
#define GICD_ISPENDR(line) REGISTER(GICD_AT + 0x200 + (line) / 32 * 4)
#define GICD_IPRIORITYR(line) REGISTER8(GICD_AT + 0x400 + (line))
#define GICD_ITARGETSR(line) REGISTER8(GICD_AT + 0x800 + (line))
#define GICD_ICFGR(line) REGISTER(GICD_AT + 0xc00 + (line) / 16 * 4)
#define GICC_CTLR REGISTER(GICC_AT)
#define GICC_PMR REGISTER(GICC_AT + 4)
#define GICC_BPR REGISTER(GICC_AT + 8)
#define GICC_IAR REGISTER(GICC_AT + 0xc)
#define GICC_EOIR REGISTER(GICC_AT + 0x10)
#define GICC_DIR REGISTER(GICC_AT + 0x1000)
#define GICH_HCR REGISTER(GICH_AT)
#define GICH_VTR REGISTER(GICH_AT + 4)
#define GICH_ELRSR REGISTER(GICH_AT + 0x30)
#define GICH_LR(n) REGISTER(GICH_AT + 0x100 + (n) * 4)
#define LINES 288
#define BIT(line) (1u << (line) % 32)

/* --- the tasks: T(name, line, priority from 1, the lowest); CONFIG is the application's header --- */
#define FREE_LINE(n) (232 + (n)) /* SPIs that no device of the board has */
#define PING_TASK_LINE 39 /* the GPIO chip's */
#define MAINTENANCE_LINE 25 /* a list register became free */
#define TIMER_LINE 26 /* EL2's own timer */
#include CONFIG /* TASKS(T), and ALARMS(A) where there are any: the application's */
#define HIGHEST 8
#define PRIORITY(priority) \
	((0x90 - 0x10 * (priority)) & 0xff) /* the GIC's: smaller is more urgent */
#define LINUX_PRIORITY 0xa0 /* what Linux gives to all of its interrupts */

#define T(name, line, priority) name = (line),
enum task_line { TASKS(T) };
#undef T
#define T(name, line, priority)                                                              \
	_Static_assert((priority) > 0 && (priority) <= HIGHEST, #name ": no such priority"); \
	_Static_assert((line) >= 16 && (line) < LINES, #name ": no such line");              \
	void name##_task(void);
TASKS(T)
#undef T

static inline void interrupts_on(void)
{
	__asm__ volatile("msr daifclr, #2" ::: "memory");
}

static inline void interrupts_off(void)
{
	__asm__ volatile("msr daifset, #2" ::: "memory");
}

static inline uint64_t counter(void)
{
	uint64_t count;

	__asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(count)::"memory");
	return count;
}

/* --- OSEK's services --- */
static inline void ActivateTask(enum task_line task)
{
	GICD_ISPENDR(task) = BIT(task);
	__asm__ volatile("dsb sy\n\tisb" ::
				 : "memory"); /* a more urgent one has run when this returns */
}

/* The chained task begins when this one has ended, whatever its priority is: dispatch() masks until then. */
#define ChainTask(task)                         \
	do {                                    \
		interrupts_off();               \
		GICD_ISPENDR(task) = BIT(task); \
		return;                         \
	} while (0)

/* Return what was masked before, for ReleaseResource. */
static inline uint32_t GetResource(unsigned int ceiling)
{
	uint32_t before = GICC_PMR;

	if (PRIORITY(ceiling) < before)
		GICC_PMR = PRIORITY(ceiling);
	__asm__ volatile("dsb sy\n\tisb" ::: "memory");
	return before;
}

static inline void ReleaseResource(uint32_t before)
{
	GICC_PMR = before;
	__asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

void StartupHook(void); /* the application's; once, before Linux */

/*
 * --- alarms.c: A(name, task), counted by the task Tick on TIMER_LINE ---
 *
 * Times are ticks of the counter. An alarm comes when Tick may run, so that Tick's priority says whom
 * alarms may delay. One that comes late keeps its phase, and activates its task once.
 */
#ifdef ALARMS
#define A(name, task) name,
enum alarm { ALARMS(A) SLOTH_ALARMS };
#undef A
/* An alarm that is on begins anew. offset above 0; cycle 0: once. One task at a time may set one. */
void SetRelAlarm(enum alarm alarm, uint64_t offset, uint64_t cycle);
void CancelAlarm(enum alarm alarm);
#endif

static inline uint64_t ticks_of_us(uint64_t us)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return us * hz / 1000000;
}

/* --- pipes.c --- */
#define shared ((volatile struct sloth_shared *)SHARED_AT)
bool WriteRecord(uint64_t rise, uint64_t fall); /* to Linux; false: it was full. One task only */
bool ReadRecord(struct sloth_record *record); /* from Linux; false: it is empty */

/*
 * Text to Linux, /dev/sloth1 and on; false: the pipe was full. A text is cut at TEXT_SIZE characters.
 * The format knows %s %c %d %u %x, l for 64 bits, and %%. Where more than one task writes to a pipe,
 * each takes the Locked form, with the priority of the highest of them as the ceiling.
 */
enum pipe { LOG, OTHER };
#define PRINTF(at) __attribute__((format(printf, at, (at) + 1)))
bool WritePipe(enum pipe pipe, const char *text);
bool WritefPipe(enum pipe pipe, const char *format, ...) PRINTF(2);
bool WritePipeLocked(enum pipe pipe, unsigned int ceiling, const char *text);
bool WritefPipeLocked(enum pipe pipe, unsigned int ceiling, const char *format, ...) PRINTF(3);

/* --- interrupts.c --- */
void interrupts_start(void);
void inject(unsigned int line); /* a virtual interrupt for Linux that no device raised */
bool is_tasks_line(unsigned int line);

/* --- gpio.c --- */
void gpio_start(void);
uint32_t gpio_access(uint32_t at, bool write,
		     uint32_t value); /* Linux', without what is a task's */

/* --- memory.c --- */
struct registers {
	uint64_t x[31], pc, pstate;
};
void memory_start(void);
void linux_accesses(struct registers *linux, uint64_t esr, uint64_t far, uint64_t address);

/* --- monitor.c --- */
void say(const char *text);
_Noreturn void monitor_fault(uint64_t esr, uint64_t pc, uint64_t address);

#endif
