// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual time while the guest sleeps.
 *
 * With -icount sleep=off it is QEMU's main loop that moves the clock of a guest that sleeps, and it
 * races with the vCPU's thread: it may see a vCPU as halted whose last instructions are not on the
 * clock yet. Whatever is due then comes late. Here the vCPU's thread moves the clock itself.
 *
 * Each WFI instruction queues work for its vCPU. QEMU runs that work when the vCPU has left its code
 * and its instructions are on the clock. While work is queued the main loop takes the vCPU for busy,
 * and does not touch the clock: there is nobody to race with.
 *
 * A WFE does not sleep, as in QEMU 7 to 10. QEMU 11 sleeps there unless an event has come, and the
 * kernel's udelay() would give its turns away to others: so one comes before each WFE.
 */
#include "idle.h"

#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "processors.h"
#include "qemu.h"

#define ATTRIBUTES_ALL (-1)
#define WFI_A64 0xD503207Fu
#define WFE_A64 0xD503205Fu
#define WFI_T16 0xBF30u /* of a Cortex-M */

extern __thread void *current_cpu;
extern _Bool all_cpu_threads_idle(void);
extern void async_run_on_cpu(void *cpu, void (*work)(void *cpu, uint64_t data), uint64_t data);
extern void icount_start_warp_timer(void);
extern _Bool qemu_clock_run_timers(int clock);
extern int64_t qemu_clock_deadline_ns_all(int clock, int attributes);
extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern size_t qemu_plugin_insn_size(const void *insn);
#if PLUGIN_API >= 3
extern size_t qemu_plugin_insn_data(const void *insn, void *into, size_t size);
#else
extern const void *qemu_plugin_insn_data(const void *insn);
#endif
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, void (*cb)(unsigned int, void *),
						   int flags, void *data);

void helper_sev(void *unused) __attribute__((weak)); /* from QEMU 11 on */

static void pass_time(void *cpu, uint64_t data)
{
	int64_t left = -1; /* until the earliest deadline */

	if (all_cpu_threads_idle())
		left = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, ATTRIBUTES_ALL);
	if (left < 0) {
		processors_woke();
		return;
	}
	processors_rest();
	processors_will_pass(left);
	icount_start_warp_timer(); /* to that deadline */
	/* first busy again: a timer that is set by another one would move the clock at once */
	async_run_on_cpu(cpu, pass_time, 0);
	qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
	processors_rested();
}

/* QEMU 10.0 to 11.1 tell for which processor the code was translated, not which one executes it. */
static void waits(unsigned int index, void *data)
{
	async_run_on_cpu(current_cpu, pass_time, 0);
}

static void an_event_comes(unsigned int index, void *data)
{
	helper_sev(NULL);
	processors_not_kicked(); /* it kicks the others */
}

static uint32_t code_of(const void *insn)
{
	size_t size = qemu_plugin_insn_size(insn);
	uint32_t code = 0;

	if (size > sizeof(code))
		return 0;
#if PLUGIN_API >= 3
	qemu_plugin_insn_data(insn, &code, size);
#else
	memcpy(&code, qemu_plugin_insn_data(insn), size);
#endif
	return code;
}

void idle_watch(void *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);

	if (!use_icount)
		return; /* the host's clock goes on while the guest sleeps */
	for (size_t i = 0; i < count; i++) {
		void *insn = qemu_plugin_tb_get_insn(block, i);
		uint32_t code = code_of(insn);

		if (code == WFI_A64 || code == WFI_T16)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, waits, 0, NULL);
		else if (code == WFE_A64 && helper_sev)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, an_event_comes, 0, NULL);
	}
}
