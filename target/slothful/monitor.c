/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* From the boot loader to Linux, and what Linux may ask for. */
#include "slothful.h"

#define EXCEPTION_CLASS(esr) ((esr) >> 26)
enum { HVC = 0x16, INSTRUCTION_ABORT = 0x20, DATA_ABORT = 0x24 };
#define FAULT "tennis: error guest_panic SLOTH: "

void say(const char *text)
{
	while (*text)
		REGISTER(UART_AT) = (uint8_t)*text++;
}

static void say_number(uint64_t value)
{
	char digits[17] = { 0 };

	for (int n = 15; n >= 0; n--, value >>= 4)
		digits[n] = "0123456789abcdef"[value & 15];
	say(digits);
}

_Noreturn void monitor_fault(uint64_t esr, uint64_t pc, uint64_t address)
{
	say(FAULT "an exception that has no place here, esr ");
	say_number(esr);
	say(" at ");
	say_number(pc);
	say(" about ");
	say_number(address);
	say("\n");
	for (;;)
		;
}

/* What Linux calls is preempted by tasks, too; its own interrupts wait in the controller. */
void linux_traps(struct registers *linux)
{
	uint64_t esr, far, hpfar;

	__asm__ volatile("mrs %0, esr_el2\n\tmrs %1, far_el2\n\tmrs %2, hpfar_el2"
			 : "=r"(esr), "=r"(far), "=r"(hpfar));
	interrupts_on();
	switch (EXCEPTION_CLASS(esr)) {
	case HVC:
		if ((uint32_t)linux->x[0] == CALL_ACTIVATE) {
			shared->figures.activations++;
			linux->x[0] = 0;
			ActivateTask(Echo);
		} else {
			linux->x[0] = (uint64_t)CALL_REFUSED;
		}
		break;
	case INSTRUCTION_ABORT: /* there is no device that Linux could run */
		linux_accesses(linux, esr & ~(1ull << 24), far, hpfar << 8);
		break;
	case DATA_ABORT:
		linux_accesses(linux, esr, far, hpfar << 8 | (far & 0xfff));
		break;
	default:
		monitor_fault(esr, linux->pc, far);
	}
	interrupts_off();
}

void monitor_start(uint64_t current_level)
{
	if (current_level >> 2 != 2) {
		say(FAULT "it was not started at EL2\n");
		for (;;)
			;
	}
	for (unsigned int at = 0; at < sizeof(struct sloth_shared); at += 4)
		REGISTER(SHARED_AT + at) = 0;
	say("tennis: fact beneath sloth\n");
#define T(name, line, priority) say("tennis: task " #name " GIC " #priority "\n");
	TASKS(T)
#undef T
	gpio_start();
	interrupts_start();
	memory_start();
	StartupHook();
}
