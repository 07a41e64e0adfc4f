/*
 * Every instruction that the guest executes, for tests/bench/virtual/test_cycles.py. A plugin beside
 * memory.c. Parameters: code_fd gets a line "ADDRESS DISASSEMBLY" for each translated instruction,
 * log_fd the number of its line (32 bits) each time, behind their count. It begins when QEMU forgets
 * all code: memory.c lets it do so when it begins to count.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../../target/virtual/inside.h"
#include "../../../target/virtual/parameters.h"

EXPORT int qemu_plugin_version = PLUGIN_API;

extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const void *insn);
extern char *qemu_plugin_insn_disas(const void *insn);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);
extern void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, plugin_callback cb);

static int64_t code_fd, log_fd, flushes;
static const struct parameter parameters[] = {
	{ "code_fd", &code_fd },
	{ "log_fd", &log_fd },
	{ 0 },
};
#define LOGGED_MAX (1u << 27)
static FILE *code;
static uint32_t lines, *logged; /* shared with the file: QEMU ends without a goodbye */

static void executes(unsigned int vcpu, void *data)
{
	if (++*logged == LOGGED_MAX)
		abort();
	logged[*logged] = (uintptr_t)data;
}

static void translated(uintptr_t id, void *block)
{
	for (size_t i = 0; flushes && i < qemu_plugin_tb_n_insns(block); i++) {
		void *insn = qemu_plugin_tb_get_insn(block, i);
		char *words = qemu_plugin_insn_disas(insn);

		fprintf(code, "%" PRIx64 " %s\n", qemu_plugin_insn_vaddr(insn), words);
		free(words);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, executes, 0,
						       (void *)(uintptr_t)lines++);
	}
}

static void flushed(void)
{
	if (flushes++)
		abort();
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	if (!parameters_read("executed", argc, argv, parameters, NULL))
		return -1;
	code = fdopen(code_fd, "w");
	if (!code || ftruncate(log_fd, LOGGED_MAX * sizeof(*logged)))
		return -1;
	logged = mmap(NULL, LOGGED_MAX * sizeof(*logged), PROT_READ | PROT_WRITE, MAP_SHARED,
		      log_fd, 0);
	if (logged == MAP_FAILED)
		return -1;
	setlinebuf(code);
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translated, NULL);
	qemu_plugin_register_flush_cb(id, flushed);
	return 0;
}
