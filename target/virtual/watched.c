// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which instructions of the kernel are looked at, and what is called when one is executed: code is
 * read when QEMU translates it.
 */
#include <stdlib.h>

#include "sections.h"

extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);
#if PLUGIN_API >= 3
extern size_t qemu_plugin_insn_data(const void *insn, void *into, size_t size);
#else
extern const void *qemu_plugin_insn_data(const void *insn);
#endif

#define PLACES_MAX 256
#define ASKS_WITHIN 128 /* bytes from the begin of a function that asks who is to run */
#define ERET_CODE 0xD69F03E0u
#define MSR_DAIF 0xD51B4220u /* and the register, as in those below */
#define MSR_SPSR_EL1 0xD5184000u
#define MRS_ESR_EL1 0xD5385200u
#define MSR_CNTV_TVAL 0xD51BE300u
#define MSR_CNTV_CTL 0xD51BE320u
#define MSR_CNTV_CVAL 0xD51BE340u

static void *remembered(struct place place)
{
	struct place *copy = malloc(sizeof(*copy)); /* as long as the translated code may live */

	if (!copy)
		fail("no memory");
	*copy = place;
	return copy;
}

/* Of instructions whose result is looked at, the next one's place. */
struct results {
	struct place places[PLACES_MAX];
	int count;
};

static void await_result(struct results *results, uint64_t pc, int rt)
{
	int k = 0;

	while (k < results->count && results->places[k].pc != pc)
		k++;
	if (k == PLACES_MAX)
		fail("more reads of one kind than the plugin has room for");
	results->places[k] = (struct place){ .pc = pc, .rt = rt };
	results->count += k == results->count;
}

static void watch_result(void *insn, uint64_t pc, const struct results *results, code_callback cb)
{
	for (int k = 0; k < results->count; k++) {
		if (results->places[k].pc == pc)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, 0,
							       remembered(results->places[k]));
	}
}

static bool is_vector(uint64_t pc)
{
	return !(pc & 0x7F) &&
	       (pc - vectors < VECTORS_SIZE || (harden && pc - harden < 3 * VECTORS_SIZE));
}

static bool in_gic_handler(uint64_t pc)
{
	return pc - gic < (uint64_t)(gic_end - gic) || pc - gic3 < (uint64_t)(gic3_end - gic3);
}

static uint32_t code_of(const void *insn)
{
	uint32_t code = 0;

#if PLUGIN_API >= 3
	qemu_plugin_insn_data(insn, &code, sizeof(code));
#else
	memcpy(&code, qemu_plugin_insn_data(insn), sizeof(code));
#endif
	return code;
}

static void watch_with_register(void *insn, uint64_t pc, uint32_t code)
{
	static const struct {
		uint32_t code;
		code_callback cb;
		int which;
	} watched[] = {
		{ MSR_DAIF, writes_mask, 0 },
		{ MSR_SPSR_EL1, writes_return_state, 0 },
		{ MSR_CNTV_TVAL, writes_timer, TIMER_TVAL },
		{ MSR_CNTV_CTL, writes_timer, TIMER_CTL },
		{ MSR_CNTV_CVAL, writes_timer, TIMER_CVAL },
	};

	for (size_t i = 0; i < ELEMENTS(watched); i++) {
		if ((code & ~31u) == watched[i].code)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, watched[i].cb, 0,
				remembered((struct place){
					.pc = pc, .rt = code & 31, .which = watched[i].which }));
	}
}

static void watch_for_threads(void *insn, uint64_t pc, uint32_t code)
{
	int offset = (code >> 10 & 0xFFF) * 4;
	code_callback cb = NULL;

	/* STR Wt, [Xn, #offset] */
	if ((code & 0xFFC00000) == 0xB9000000 && offset == preempt)
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, writes_preempt_count, 0,
			remembered(
				(struct place){ .pc = pc, .rt = code & 31, .rn = code >> 5 & 31 }));
	/* LDR Xt, [Xn, #preempt]: with it the function asks; behind it an interrupt is too late */
	if ((code & 0xFFC00000) == 0xF9400000 && (code >> 10 & 0xFFF) * 8 == preempt) {
		for (size_t i = 0; i < CHANCES; i++)
			cb = pc - functions.chance[i] < ASKS_WITHIN ? may_switch : cb;
	}
	if (pc == (uint64_t)functions.bottom_held)
		cb = holds_bottom;
	if (pc == (uint64_t)functions.bottom_let_go)
		cb = lets_bottom_go;
	if (cb)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, 0, (void *)(uintptr_t)pc);
}

void watch(void *insn, uint64_t pc, bool first)
{
	static struct results syndromes, iars;
	uint32_t code = code_of(insn), before;
	void *at = (void *)(uintptr_t)pc;

	/* it may sleep when all is translated anew: then what follows WFI is translated before it */
	if (first && read_memory(cpu, pc - 4, &before, sizeof(before)) && before == WFI_CODE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, wakes, 0, at);
	if (is_vector(pc))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, enters_vector, 0, at);
	watch_result(insn, pc, &syndromes, has_read_syndrome);
	watch_result(insn, pc, &iars, may_have_read_iar);
	if ((code & 0xFFFFF0FF) == 0xD50340DF && code >> 8 & 2)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, sets_mask, 0, at);
	else if ((code & 0xFFFFF0FF) == 0xD50340FF && code >> 8 & 2)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, clears_mask, 0, at);
	else if (code == ERET_CODE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, returns, 0, at);
	else if (code == WFI_CODE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, sleeps, 0, at);
	else if ((code & ~31u) == MRS_ESR_EL1)
		await_result(&syndromes, pc + 4, code & 31);
	else
		watch_with_register(insn, pc, code);
	if (threads)
		watch_for_threads(insn, pc, code);
	/* LDR Wt, [Xn, #offset]; LDAR Wt, [Xn], which stands for it on a Cortex-A57 (erratum 832075) */
	if (in_gic_handler(pc) &&
	    ((code & 0xFFC00000) == 0xB9400000 || (code & 0xFFFFFC00) == 0x88DFFC00)) {
		int offset = code >> 24 == 0xB9 ? (code >> 10 & 0xFFF) * 4 : 0;

		await_result(&iars, pc + 4, code & 31);
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, may_read_iar, 0,
			remembered((struct place){ .rn = code >> 5 & 31, .offset = offset }));
	}
}
