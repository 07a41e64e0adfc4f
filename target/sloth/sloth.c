/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* SLOTH: what is left for software to do. See sloth.h. */
#include "sloth.h"

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end; /* link.ld */
int main(void);

uint32_t *sloth_frame;
#define R(name, ceiling) struct resource name##_resource;
RESOURCES(R)
#undef R

__attribute__((naked, used)) void sloth_end(void)
{
	__asm__ volatile(PORT_EPILOGUE);
}

#ifdef PORT_CHAIN_EPILOGUE
__attribute__((naked, used)) void port_chain_epilogue(void)
{
	__asm__ volatile(PORT_CHAIN_EPILOGUE);
}
#endif

/* --- alarms: counted by SysTick, which is more urgent than all tasks --- */
static struct {
	volatile uint32_t left, cycle; /* ticks; left 0: it is off */
} alarms[SLOTH_ALARMS + 1];
#define A(name, task) (task),
static const uint8_t alarm_tasks[] = { ALARMS(A) 0 };
#undef A

static void tick(void)
{
	for (unsigned int i = 0; i < SLOTH_ALARMS; i++) {
		if (alarms[i].left && !--alarms[i].left) {
			alarms[i].left = alarms[i].cycle;
			sloth_pend(alarm_tasks[i]);
		}
	}
}

static StatusType checked(StatusType error)
{
#ifdef SLOTH_CHECKED
	if (error)
		ErrorHook(error);
#endif
	return error;
}

/* Only the last store turns it on: a tick between two of them finds it off. */
StatusType SetRelAlarm(AlarmType alarm, TickType offset, TickType cycle)
{
#ifdef SLOTH_CHECKED
	if (alarm >= SLOTH_ALARMS)
		return checked(E_OS_ID);
	if (!offset)
		return checked(E_OS_VALUE);
	if (alarms[alarm].left)
		return checked(E_OS_STATE);
#endif
	alarms[alarm].left = 0;
	alarms[alarm].cycle = cycle;
	alarms[alarm].left = offset;
	return checked(E_OK);
}

StatusType CancelAlarm(AlarmType alarm)
{
#ifdef SLOTH_CHECKED
	if (alarm >= SLOTH_ALARMS)
		return checked(E_OS_ID);
	if (!alarms[alarm].left)
		return checked(E_OS_NOFUNC);
#endif
	alarms[alarm].cycle = 0; /* a tick before the next store turns it off, too */
	alarms[alarm].left = 0;
	return checked(E_OK);
}

/* --- what the console tells of the configuration --- */
static void say_line(const char *what, const char *name, uint32_t number)
{
	const char digits[] = { ' ', (char)('0' + number), '\n', 0 };

	say(what);
	say(name);
	say(digits);
}

void introduce(const char *application)
{
	say("tennis: fact sloth ");
	say(application);
	say("\n");
#define T(name, line, priority) say_line("tennis: task ", #name " NVIC", name##_priority);
	TASKS(T)
#undef T
#define R(name, ceiling) say_line("tennis: ceiling ", #name, name##_ceiling);
	RESOURCES(R)
#undef R
}

/* --- from reset to the idle loop --- */
static void enable(unsigned int line, unsigned int priority)
{
	unsigned int shift = 8 * (line & 3);
	uint32_t others = NVIC_IPR(line >> 2) & ~(0xFFu << shift);

	NVIC_IPR(line >> 2) = others | PORT_PRIORITY(priority) << shift;
	NVIC_ISER(line >> 5) = 1u << (line & 31);
}

_Noreturn void StartOS(void)
{
	__asm__ volatile("cpsid i" ::: "memory");
	SCB_SHPR3 = PORT_PRIORITY(PORT_LEVELS) << 24; /* SysTick's */
#define T(name, line, priority) enable(line, priority);
	TASKS(T)
#undef T
	if (TICK_CYCLES) {
		SYST_RVR = TICK_CYCLES - 1;
		SYST_CVR = 0;
		SYST_CSR = 7; /* the processor's clock, interrupt, on */
	}
	__asm__ volatile("cpsie i\n\tisb" ::: "memory");
	IdleHook();
	for (;;)
		__asm__ volatile("wfi" ::: "memory");
}

_Noreturn void sloth_reset(void)
{
	uint32_t *from = &data_load;

	for (uint32_t *to = &data_start; to < &data_end;)
		*to++ = *from++;
	for (uint32_t *to = &bss_start; to < &bss_end;)
		*to++ = 0;
	main();
	for (;;)
		;
}

static void fault(void)
{
	say("tennis: error guest_panic SLOTH: a fault of the processor\n");
	for (;;)
		;
}

#define T(name, line, priority) void name##_vector(void);
TASKS(T)
#undef T
#define T(name, line, priority) [16 + (line)] = name##_vector,
__attribute__((section(".vectors"), used)) static void (*const vectors[16 + PORT_LINES])(void) = {
	[0] = (void (*)(void))&stack_top,
	[1] = (void (*)(void))sloth_reset,
	[2 ... 14] = fault,
	[15] = tick,
	TASKS(T)
};
#undef T
#ifdef BOARD_ENTRY
BOARD_ENTRY
#endif
