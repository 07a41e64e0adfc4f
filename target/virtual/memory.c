// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Caches, TLBs and slow registers in virtual time: a plugin beside the instrument. One processor.
 *
 * From the moment at which the guest is ready, each line of code and data that it touches is looked
 * up in caches, each page in TLBs, and each access to a device has its price. What is missed makes
 * the processor wait (stalls.c). What the tables hold is which lines are there, never what is in
 * them: QEMU's memory is always right, and nothing here changes what the guest computes.
 *
 * Code is looked up where a block begins, and at each further line of it. A line of code has one
 * record, so that "the same line as the last" is one comparison of pointers. Data that is in the line
 * of the access before is in the first cache, and not looked up.
 *
 * The TLBs also hold physical addresses, for asking QEMU at each access takes too long. So they must
 * be told what the guest tells its own: the address space (in TTBR1_EL1), and what it invalidates.
 * Now and then an address is compared with QEMU's. The operand of such an instruction is read when
 * the next one begins: in the middle of a block registers are where the host has them.
 *
 * Parameters: those of the table below, each in the unit of its name. Costs are whole instructions
 * long (stalls.c says why), and come on top of what an instruction takes. tennis/bench/virtual/memory.py
 * reads profiles and gives them; docs/memory.md says what the model is not.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cycles.h"
#include "inside.h"
#include "machine.h"
#include "parameters.h"
#include "stalls.h"

EXPORT int qemu_plugin_version = PLUGIN_API;

extern size_t qemu_plugin_tb_n_insns(const void *tb);
extern void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const void *insn);
extern void *qemu_plugin_insn_haddr(const void *insn);
#if PLUGIN_API >= 3
extern size_t qemu_plugin_insn_data(const void *insn, void *into, size_t size);
#else
extern const void *qemu_plugin_insn_data(const void *insn);
#endif
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *insn, code_callback cb, int flags,
						   void *data);
typedef void (*memory_callback)(unsigned int vcpu, uint32_t info, uint64_t address, void *data);
extern void qemu_plugin_register_vcpu_mem_cb(void *insn, memory_callback cb, int flags, int rw,
					     void *data);
extern _Bool qemu_plugin_mem_is_store(uint32_t info);
extern void *qemu_plugin_get_hwaddr(uint32_t info, uint64_t address);
extern _Bool qemu_plugin_hwaddr_is_io(const void *hwaddr);
extern uint64_t qemu_plugin_hwaddr_phys_addr(const void *hwaddr);
extern uint64_t cpu_get_phys_page_attrs_debug(void *cpu, uint64_t address, void *attributes);
extern void *qemu_ram_block_by_name(const char *name);
extern void *qemu_ram_get_host_addr(void *block);
extern uint64_t qemu_ram_get_used_length(void *block);
/* Forget all translated code before the next instruction: QEMU 7 to 10.1, and newer ones. */
void tb_flush(void *cpu) __attribute__((weak));
void queue_tb_flush(void *cpu) __attribute__((weak));

/* --- the machine `virt` --- */
#define RAM_AT 0x40000000ull
#define RAM_BLOCK "mach-virt.ram"
#define GIC_AT 0x08000000ull
#define GIC_SIZE 0x20000ull
#define GPIO_AT 0x09030000ull
#define GPIO_SIZE 0x1000ull

#define PAGE_BITS 12
#define PAGE_SIZE (1ull << PAGE_BITS)
#define TABLES 0xFFFFFFFFFFFEull /* of TTBR1_EL1: where the page tables are */
#define NOT_MAPPED UINT64_MAX /* QEMU's answer to where a page is */
#define ZEROED 64 /* bytes, by a DC ZVA of QEMU's Cortex-A57 */
#define CHECKED 4096 /* one in so many lookups is compared with QEMU's */
#define LOADS_AND_STORES 3
#define IS_STORE (1u << 17) /* of what QEMU says of an access: asking it takes too long */
#define LISTED_MAX 64 /* entries of a first TLB */
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* --- parameters --- */

struct cache {
	int64_t sets, ways, replacement; /* no sets: there is no such cache */
	uint32_t *lines; /* of each set, the one that is to go last comes first */
	uint8_t *last; /* of each set, where a line was last; least recently used: the first */
};
enum { LEAST_RECENTLY_USED, ROUND_ROBIN, RANDOM };
/* Where a line is found: costs are by this. */
enum level { FIRST, SECOND, THIRD, MEMORY, LEVELS };
enum device { GPIO, INTERRUPTS, TIMER, OTHER, DEVICES };

static struct cache code_cache, data_cache, second, third;
static int64_t line_bytes, code_entries, data_entries, pages_sets, pages_ways;
static int64_t kernel_code_page = PAGE_SIZE, emptied_by_switches;
/* in ns until the model begins, then in instructions */
static int64_t load_cost[LEVELS], store_cost[LEVELS], pages_cost, walk_cost;
static int64_t write_back_cost; /* 0: no line is dirty */
static int64_t read_cost[DEVICES], write_cost[DEVICES];
/* of a ball that is played again: bits of causes that cost nothing from some moment on */
static int64_t free_causes, free_from_ns;
/* of an instant that shots play again: as many bits for each shot, from its ping on */
static int64_t free_shots;

#define OF_CACHE(name, cache)                                             \
	{ name "_sets", &(cache).sets }, { name "_ways", &(cache).ways }, \
	{                                                                 \
		name "_replacement", &(cache).replacement                 \
	}
#define OF_DEVICE(name, device)                       \
	{ name "_read_ns", &read_cost[device] },      \
	{                                             \
		name "_write_ns", &write_cost[device] \
	}
static const struct parameter parameters[] = {
	{ "line_bytes", &line_bytes },
	OF_CACHE("code", code_cache),
	OF_CACHE("data", data_cache),
	OF_CACHE("second", second),
	OF_CACHE("third", third),
	{ "emptied_by_switches", &emptied_by_switches },
	{ "code_entries", &code_entries },
	{ "data_entries", &data_entries },
	{ "pages_sets", &pages_sets },
	{ "pages_ways", &pages_ways },
	{ "kernel_code_page_bytes", &kernel_code_page },
	{ "second_ns", &load_cost[SECOND] },
	{ "third_ns", &load_cost[THIRD] },
	{ "memory_ns", &load_cost[MEMORY] },
	{ "store_second_ns", &store_cost[SECOND] },
	{ "store_third_ns", &store_cost[THIRD] },
	{ "store_memory_ns", &store_cost[MEMORY] },
	{ "pages_ns", &pages_cost },
	{ "walk_ns", &walk_cost },
	{ "write_back_ns", &write_back_cost },
	OF_DEVICE("gpio", GPIO),
	OF_DEVICE("interrupts", INTERRUPTS),
	OF_DEVICE("timer", TIMER),
	OF_DEVICE("other", OTHER),
	{ "plain_ps", &class_costs.ps[PLAIN] },
	{ "load_ps", &class_costs.ps[LOAD] },
	{ "store_ps", &class_costs.ps[STORE] },
	{ "branch_ps", &class_costs.ps[BRANCH] },
	{ "barrier_ps", &class_costs.ps[BARRIER] },
	{ "system_ps", &class_costs.ps[SYSTEM] },
	{ "atomic_ps", &class_costs.ps[ATOMIC] },
	{ "exception_return_ps", &class_costs.ps[EXCEPTION_RETURN] },
	{ "mispredicted_ps", &class_costs.ps[MISPREDICTED] },
	{ "exception_entry_ps", &class_costs.ps[EXCEPTION_ENTRY] },
	{ "predictor_counters", &predictor_counters },
	{ "predictor_returns", &predictor_returns },
	{ "predictor_targets", &predictor_targets },
	{ "free_causes", &free_causes },
	{ "free_from_ns", &free_from_ns },
	{ "free_shots", &free_shots },
	{ 0 },
};

_Noreturn void fail(const char *message)
{
	fprintf(stderr, "memory: %s\n", message);
	_exit(3);
}

static void *zeroed(size_t count, size_t size)
{
	void *made = calloc(count ? count : 1, size);

	if (!made)
		fail("no memory");
	return made;
}

/* --- what was waited for --- */

enum cause { CODE, DATA, STORES, PAGES, DEVICE, CYCLES, CAUSES };
static const char *const cause_names[] = { "code", "data", "stores", "pages", "devices", "cycles" };
static uint64_t times[CAUSES];
static int64_t waited[CAUSES]; /* instructions */

/* That moment is a ping, for which QEMU puts all instructions on the clock. */
static inline bool is_free(enum cause cause)
{
	const struct timers *t = timers();

	if (!(free_shots | free_causes))
		return false;
	if (free_shots)
		return machine_shot >= 0 && free_shots >> (machine_shot * CAUSES + cause) & 1;
	return free_causes >> cause & 1 && t->bias + (t->instructions << t->shift) >= free_from_ns;
}

static int64_t given_back; /* instructions: time that a block which begins is yet to get */

/*
 * where: a level, a device, or a class; of a page FIRST: the shared table had it, else its entry's
 * level; of a store FIRST: a dirty line went to memory. Below 0: code takes less than QEMU's time,
 * of which later waits at the same moment are a part.
 */
static inline void waits(int64_t instructions, enum cause cause, int where)
{
	int64_t rest;

	if (!instructions || is_free(cause))
		return;
	waited[cause] += instructions;
	if (instructions < 0) {
		given_back -= instructions;
		return;
	}
	times[cause]++;
	rest = instructions > given_back ? instructions - given_back : 0;
	given_back -= instructions - rest;
	if (!rest)
		return;
	if (machine_stalls && where != CLASSES)
		machine_stalls(STALL_KIND(cause, where), rest << stalls_shift());
	stall(rest);
}

/* --- caches --- */

#define NO_LINE UINT32_MAX
#define DIRTY (1u << 30)
static uint32_t dirty; /* DIRTY: memory has an older line; 0: lines are not written back */

static void *cpu;
static uint8_t *ram;
static uint64_t ram_size;
static int line_bits;

static uint32_t drawn_below(uint32_t count)
{
	static uint32_t state = 1; /* of a xorshift generator: it repeats */

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return (uint64_t)state * count >> 32;
}

static void empty(struct cache *cache)
{
	memset(cache->lines, 0xFF, cache->sets * cache->ways * sizeof(*cache->lines));
}

static void make(struct cache *cache)
{
	if (cache->sets & (cache->sets - 1))
		fail("a cache's number of sets is no power of two");
	cache->lines = zeroed(cache->sets * cache->ways, sizeof(*cache->lines));
	cache->last = zeroed(cache->sets, sizeof(*cache->last));
	empty(cache);
}

static uint32_t gone; /* from where the last line was put that was not there */

static inline bool is_same(uint32_t there, uint32_t line)
{
	return !((there ^ line) & ~dirty);
}

/* Put a line first of so many; each line goes to the next place, and takes the one that is there. */
static inline bool had_put_first(uint32_t *set, int64_t ways, uint32_t line, uint32_t flag)
{
	uint32_t goes = line | flag;

	for (int64_t way = 0; way < ways; way++) {
		uint32_t there = set[way];

		set[way] = goes;
		if (is_same(there, line)) {
			set[0] |= there & dirty;
			return true;
		}
		goes = there;
	}
	gone = goes;
	return false;
}

/* The place of a line's set in which a line was last. */
static inline uint32_t *last_of(const struct cache *cache, uint32_t line)
{
	int64_t set = line & (cache->sets - 1);

	return cache->lines + set * cache->ways + cache->last[set];
}

/* Whether a line was there; it is now. Mostly it is where its set's last one was, and stays there. */
static inline bool had(struct cache *cache, uint32_t line, uint32_t flag)
{
	uint32_t *set = cache->lines + (line & (cache->sets - 1)) * cache->ways;
	uint8_t *last = &cache->last[line & (cache->sets - 1)];

	if (is_same(set[*last], line)) {
		set[*last] |= flag;
		return true;
	}
	if (cache->replacement == LEAST_RECENTLY_USED)
		return had_put_first(set, cache->ways, line, flag);
	for (int64_t way = 0; way < cache->ways; way++) {
		if (is_same(set[way], line)) {
			set[way] |= flag;
			*last = way;
			return true;
		}
	}
	*last = 0;
	if (cache->replacement == ROUND_ROBIN)
		return had_put_first(set, cache->ways, line, flag);
	*last = drawn_below(cache->ways);
	gone = set[*last];
	set[*last] = line | flag;
	return false;
}

/* As a processor's own counters count: a board has the same (docs/physical-checklist.md). */
static uint64_t missed_code, missed_data, missed_second, missed_code_pages, missed_data_pages;

/* A line leaves a cache: if it is dirty, the next one takes it, or memory. */
static void leaves(uint32_t line, enum level next)
{
	struct cache *cache = next == SECOND ? &second : &third;

	if (line == NO_LINE || !(line & dirty))
		return;
	if (next == MEMORY)
		waits(write_back_cost, STORES, FIRST);
	else if (!cache->sets || !had(cache, line & ~dirty, dirty))
		leaves(cache->sets ? gone : line, next + 1);
}

static enum level beyond_first(uint32_t line)
{
	if (second.sets && had(&second, line, 0))
		return SECOND;
	missed_second++;
	if (second.sets)
		leaves(gone, THIRD);
	if (third.sets && had(&third, line, 0))
		return THIRD;
	if (third.sets)
		leaves(gone, MEMORY);
	return MEMORY;
}

static enum level fetched(struct cache *first, uint32_t line, bool store)
{
	enum level level;
	uint32_t goes;

	if (had(first, line, store ? dirty : 0))
		return FIRST;
	goes = gone;
	level = beyond_first(line);
	leaves(goes, SECOND);
	return level;
}

/* --- TLBs: two lists, and a table that both share --- */

enum kind { IS_RAM, IS_DEVICE };
struct page {
	uint64_t key; /* 0: none */
	uint32_t line; /* the first of it, in RAM */
	uint16_t kind, device;
};
#define HINTS 256
/* Every page fits everywhere; the one that came first goes first. */
struct list {
	struct page pages[LISTED_MAX];
	/* by a key's last bits: where one was last, and how many are listed */
	uint8_t hints[HINTS], keys[HINTS];
	int64_t count, next;
};
static struct list code_pages, data_pages;
static uint64_t code_epoch = 1; /* another one whenever a page may have left code_pages */
/* Pages of RAM that are among data_pages, by address, so that most accesses need no key. */
static struct {
	uint64_t number;
	uint32_t line;
} quick[HINTS];
static struct page *pages; /* sets of pages_ways, the one that was used last first */
static uint64_t address_space; /* ASID */

/* A key: the page's number, these flags, and the address space unless it is in all of them. */
#define NUMBER 0xFFFFFFFFFull
#define GLOBAL (1ull << 36)
#define VALID (1ull << 37)
#define LARGE (1ull << 38) /* of code */
#define SPACE_AT 40

static inline uint64_t key_in(uint64_t address, uint64_t space)
{
	uint64_t key = (address >> PAGE_BITS & NUMBER) | VALID;

	return address >> 63 ? key | GLOBAL : key | space << SPACE_AT;
}

static inline uint64_t key_of(uint64_t address)
{
	return key_in(address, address_space);
}

/* Without the address space. */
static uint64_t code_key_of(uint64_t address)
{
	if (address >> 63 && kernel_code_page != PAGE_SIZE)
		return key_in(address & ~(kernel_code_page - 1), 0) | LARGE;
	return key_in(address, 0);
}

static inline struct page *listed(struct list *list, uint64_t key)
{
	uint8_t *hint = &list->hints[key % HINTS];

	if (list->pages[*hint].key == key)
		return &list->pages[*hint];
	for (int64_t i = 0; list->keys[key % HINTS] && i < list->count; i++) {
		if (list->pages[i].key == key) {
			*hint = i;
			return &list->pages[i];
		}
	}
	return NULL;
}

static void forget(struct list *list, struct page *page)
{
	if (!page->key)
		return;
	code_epoch += list == &code_pages;
	list->keys[page->key % HINTS]--;
	quick[page->key % HINTS].number = UINT64_MAX;
	page->key = 0;
}

static struct page *put(struct list *list, const struct page *page)
{
	struct page *into = &list->pages[list->next];

	forget(list, into);
	list->hints[page->key % HINTS] = list->next;
	list->keys[page->key % HINTS]++;
	*into = *page;
	list->next = list->next + 1 == list->count ? 0 : list->next + 1;
	return into;
}

static void forget_pages(uint64_t mask, uint64_t key)
{
	struct list *const lists[] = { &code_pages, &data_pages };

	for (size_t which = 0; which < ELEMENTS(lists); which++) {
		for (int64_t i = 0; i < lists[which]->count; i++) {
			if ((lists[which]->pages[i].key & mask) == key)
				forget(lists[which], &lists[which]->pages[i]);
		}
	}
	for (int64_t i = 0; i < pages_sets * pages_ways; i++) {
		if ((pages[i].key & mask) == key)
			pages[i].key = 0;
	}
}

/*
 * A walk reads the last entry by way of the second cache, 8 bytes of it; those before are in the
 * walker's own cache. Where the entry lies is not known, so its line is made up: of neighbours it is
 * the same.
 */
static void walks(uint64_t key)
{
	uint64_t entry = (key & NUMBER) * 8 + (key >> SPACE_AT << 28);

	enum level level = beyond_first(1u << 31 | ((uint32_t)(entry >> line_bits) & ~dirty));

	waits(walk_cost + load_cost[level], PAGES, level);
}

static int large_bits; /* pages of 4 KiB in a large one, which are a power of two */
static uint64_t pages_mask; /* of a set's number; 0: their number is no power of two */

/* The table's entry of a page, which is put first; one that was missed is for the caller to fill. */
static struct page *in_table(uint64_t key, bool *missed)
{
	static struct page alone; /* where there is no table */
	/* without a clock large pages share a set, as in the first profiles */
	uint64_t number = key & LARGE && class_costs.ps[PLAIN] ? key >> large_bits : key;
	struct page *set, found;
	int64_t way = 0;

	number = pages_mask ? number & pages_mask : number % (pages_sets ? pages_sets : 1);
	set = pages + number * pages_ways;
	*missed = true;
	if (!pages_ways)
		return &alone;
	while (way < pages_ways - 1 && set[way].key != key)
		way++;
	*missed = set[way].key != key;
	found = set[way];
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = found;
	return set;
}

static void waits_for_page(uint64_t key, bool missed)
{
	if (missed)
		walks(key);
	else
		waits(pages_cost, PAGES, FIRST);
}

/* --- data --- */

static uint64_t last_line = UINT64_MAX; /* of data, virtual */
static uint64_t lookups;

static int64_t line_in_page(uint64_t address)
{
	return (address & (PAGE_SIZE - 1)) >> line_bits;
}

static struct page page_at(uint64_t key, uint64_t physical)
{
	struct page page = { .key = key, .line = NO_LINE, .kind = IS_DEVICE, .device = OTHER };

	if (physical - RAM_AT < ram_size) {
		page.kind = IS_RAM;
		page.line = (physical - RAM_AT) >> PAGE_BITS << (PAGE_BITS - line_bits);
	} else if (physical - GIC_AT < GIC_SIZE) {
		page.device = INTERRUPTS;
	} else if (physical - GPIO_AT < GPIO_SIZE) {
		page.device = GPIO;
	}
	return page;
}

static uint64_t asked(uint32_t info, uint64_t address)
{
	return qemu_plugin_hwaddr_phys_addr(qemu_plugin_get_hwaddr(info, address));
}

static struct page *data_page(uint64_t address, uint32_t info)
{
	uint64_t key = key_of(address);
	struct page *page = listed(&data_pages, key);
	bool missed;

	if (page)
		return page;
	missed_data_pages++;
	page = in_table(key, &missed);
	if (missed)
		*page = page_at(key, asked(info, address));
	waits_for_page(key, missed);
	return put(&data_pages, page);
}

static void check(const struct page *page, uint32_t info, uint64_t address)
{
	struct page right = page_at(page->key, asked(info, address));

	if (right.kind != page->kind || right.line != page->line)
		fail("an address that the model remembers is not the one that QEMU has");
}

static __attribute__((noinline)) void touches(uint32_t line, bool store)
{
	enum level level = fetched(&data_cache, line, store);

	missed_data += level != FIRST;
	if (store)
		waits(store_cost[level], STORES, level);
	else
		waits(load_cost[level], DATA, level);
}

static __attribute__((noinline)) void accesses_slowly(uint32_t info, uint64_t address)
{
	bool store = info & IS_STORE;
	struct page *page;

	last_line = address >> line_bits;
	page = data_page(address, info);
	if (!(++lookups % CHECKED))
		check(page, info, address);
	if (page->kind == IS_RAM) {
		quick[page->key % HINTS].number = address >> PAGE_BITS;
		quick[page->key % HINTS].line = page->line;
		touches(page->line + line_in_page(address), store);
		return;
	}
	last_line = UINT64_MAX; /* each access counts */
	waits(store ? write_cost[page->device] : read_cost[page->device], DEVICE, page->device);
}

/* QEMU 7.2 calls a callback for stores after loads, too: so one is for both. */
static void accesses(unsigned int index, uint32_t info, uint64_t address, void *data)
{
	uint64_t number = address >> PAGE_BITS, virtual = address >> line_bits;
	uint64_t lookup = lookups + 1;
	uint32_t line, *place;

	if (virtual == last_line)
		return;
	if (UNLIKELY(quick[number % HINTS].number != number || !(lookup % CHECKED)))
		return accesses_slowly(info, address);
	last_line = virtual;
	lookups = lookup;
	line = quick[number % HINTS].line + line_in_page(address);
	place = last_of(&data_cache, line);
	if (UNLIKELY(!is_same(*place, line)))
		return touches(line, info & IS_STORE);
	if (info & IS_STORE)
		*place |= dirty;
}

/* --- code --- */

/* One for each line that was translated. */
struct line {
	uint64_t address; /* virtual */
	uint32_t line; /* NO_LINE: not in RAM, and in no cache */
	struct line *next;
	uint64_t key, space; /* of its page; space: the bits of the address space that it has */
	uint32_t *place; /* in the first cache, when it was there last */
	uint64_t epoch; /* at that one its page was in the first TLB */
};
#define BUCKETS (1 << 16)
static struct line *lines[BUCKETS];
static const struct line *last_code;
static uint64_t code_lines;

static struct line *line_at(uint64_t address, uint32_t physical)
{
	struct line **bucket = &lines[(address >> line_bits ^ physical * 31u) % BUCKETS], *line;

	for (line = *bucket; line; line = line->next) {
		if (line->address == address && line->line == physical)
			return line;
	}
	line = zeroed(1, sizeof(*line));
	*line = (struct line){ .address = address, .line = physical, .next = *bucket };
	line->key = code_key_of(address);
	line->space = address >> 63 ? 0 : UINT64_MAX;
	line->place = last_of(&code_cache, physical);
	return *bucket = line;
}

static __attribute__((noinline)) void code_page(struct line *line)
{
	uint64_t key = line->key | (address_space << SPACE_AT & line->space);
	struct page *page;
	bool missed;

	if (!listed(&code_pages, key)) {
		missed_code_pages++;
		page = in_table(key, &missed);
		if (missed)
			*page = page_at(key, RAM_AT + ((uint64_t)line->line << line_bits));
		waits_for_page(key, missed);
		put(&code_pages, page);
	}
	line->epoch = code_epoch;
}

static inline void executes(struct line *line)
{
	enum level level;

	last_code = line;
	code_lines++;
	if (line->line == NO_LINE)
		return;
	if (UNLIKELY(line->epoch != code_epoch))
		code_page(line);
	if (*line->place == line->line) /* no line of code is dirty */
		return;
	level = fetched(&code_cache, line->line, false);
	line->place = last_of(&code_cache, line->line);
	missed_code += level != FIRST;
	waits(load_cost[level], CODE, level);
}

/* --- what the guest says to its TLB, lines that it zeroes, registers of its timer --- */

enum special { NOTHING, SWITCHES, DROPS_PAGE, DROPS_SPACE, DROPS_ALL, ZEROES, TIMER_IN, TIMER_OUT };
static enum special pending;
static unsigned int operand; /* its register */

static void forget_last(void)
{
	last_line = UINT64_MAX;
	last_code = NULL;
}

/*
 * The guest wrote TTBR1_EL1. With kpti=on each entry into the kernel, and each exit, takes other
 * tables and the process's other address space: that is no switch to another process.
 */
static void switches(uint64_t value)
{
	static uint64_t last_of_user, last_tables;
	uint64_t space = value >> 48, tables = value & TABLES;
	bool crosses = last_tables && tables != last_tables;

	if (address_space != space)
		memset(quick, 0xFF, sizeof(quick));
	code_epoch += address_space != space;
	address_space = space;
	last_tables = tables;
	/* 0: that of the kernel alone, which it takes in between */
	if (!emptied_by_switches || crosses || !space || space == last_of_user)
		return;
	last_of_user = space;
	for (int64_t i = 0; dirty && i < data_cache.sets * data_cache.ways; i++)
		leaves(data_cache.lines[i], SECOND);
	empty(&code_cache);
	empty(&data_cache);
	forget_pages(0, 0);
}

static void zeroes(uint64_t address)
{
	uint64_t key = key_of(address);
	struct page *page = listed(&data_pages, key);
	bool missed;

	if (!page) {
		/* there was no access that QEMU could be asked about */
		uint64_t attributes[2];
		uint64_t physical = cpu_get_phys_page_attrs_debug(cpu, address, attributes);

		if (physical == NOT_MAPPED)
			return; /* a fault: once the page is there, it is executed again */
		page = in_table(key, &missed);
		if (missed)
			*page = page_at(key, physical);
		waits_for_page(key, missed);
		page = put(&data_pages, page);
	}
	address &= ~(uint64_t)(ZEROED - 1);
	for (uint64_t at = address; page->kind == IS_RAM && at < address + ZEROED; at += line_bytes)
		touches(page->line + line_in_page(at), true);
}

static void is_done(void)
{
	uint64_t value = operand == 31 ? 0 : read_register(cpu, operand);
	enum special what = pending;

	pending = NOTHING;
	switch (what) {
	case SWITCHES:
		switches(value);
		break;
	case DROPS_PAGE: /* of every address space */
		forget_pages(NUMBER | VALID, (value & NUMBER) | VALID);
		break;
	case DROPS_SPACE:
		forget_pages(0xFFFFull << SPACE_AT | GLOBAL | VALID,
			     value >> 48 << SPACE_AT | VALID);
		break;
	case DROPS_ALL:
		forget_pages(0, 0);
		break;
	default:
		zeroes(value);
	}
	forget_last();
}

static void line_begins(unsigned int index, void *line)
{
	if (line != last_code)
		executes(line);
}

static int64_t an_instruction_ps(void)
{
	return 1000ll << stalls_shift();
}

static inline void pays(int64_t instructions, enum class of)
{
	waits(instructions, CYCLES, of);
}

static bool always_slowly; /* waits are wanted one by one, or are free */

static __attribute__((noinline)) void begins_slowly(struct timed_block *block)
{
	struct line *line = block->line;

	stalls_settled();
	budget.look = always_slowly;
	if (pending != NOTHING)
		is_done();
	timed_block_begins(block, stalls_executed() - block->count, pays);
	if (line != last_code)
		executes(line);
	stall(-given_back);
	given_back = 0;
	stalls_seen();
}

/*
 * Mostly the block before was executed to its end and has led here as predicted, nothing else
 * happened, and code is where it was: then all that is charged is what this block takes.
 */
static void block_begins(unsigned int index, void *data)
{
	struct timed_block *block = data, *before = last_timed;
	struct line *line = block->line;
	uint64_t to = block->address;
	int64_t instructions;
	bool taken;
	int32_t owes_ps;

	if (UNLIKELY(budget.look || !stalls_went_on(block->count)))
		return begins_slowly(block);
	taken = to != before->next;
	if (!taken | (to == before->target)) {
		if (before->counts ? *before->counter >> 1 != taken : before->end > CALLS)
			return begins_slowly(block);
	} else if (before->end != RETURNS || !predictor_returns || !(to & (VECTOR_BYTES - 1)) ||
		   returns[(depth - 1) & (predictor_returns - 1)] != to) {
		return begins_slowly(block);
	}
	instructions = pays_for(block, &owes_ps);
	if (UNLIKELY(instructions > *budget.extra))
		return begins_slowly(block);
	if (line != last_code) {
		if (UNLIKELY(line->epoch != code_epoch || *line->place != line->line))
			return begins_slowly(block);
		last_code = line;
		code_lines++;
	}
	if (before->end == CALLS && predictor_returns)
		returns[depth++ & (predictor_returns - 1)] = before->next;
	depth -= before->end == RETURNS;
	*before->counter = counter_after(*before->counter, taken);
	stall_at_once(instructions);
	owed_ps = owes_ps;
	waited[CYCLES] += instructions;
	times[CYCLES] += instructions > 0;
	last_timed = block;
	last_began += before->count;
	block->times++;
	budget.low_seen = *budget.low;
}

/* Of a profile without a clock. */
static void untimed_block_begins(unsigned int index, void *data)
{
	const struct timed_block *block = data;

	stalls_settled();
	if (pending != NOTHING)
		is_done();
	if (block->line != last_code)
		executes(block->line);
}

static void begins_behind(unsigned int index, void *data)
{
	if (pending != NOTHING)
		is_done();
}

static void is_special(unsigned int index, void *data)
{
	enum special what = (uintptr_t)data >> 5;

	if (what == TIMER_IN || what == TIMER_OUT) {
		waits(what == TIMER_IN ? read_cost[TIMER] : write_cost[TIMER], DEVICE, TIMER);
		return;
	}
	budget.look = true;
	pending = what;
	operand = (uintptr_t)data & 31;
}

/* Of A64: the last five bits name a register. */
static enum special special_of(uint32_t code)
{
	if ((code & ~31u) == 0xD5182020) /* msr ttbr1_el1 */
		return SWITCHES;
	if ((code & ~31u) == 0xD50B7420) /* dc zva */
		return ZEROES;
	if ((code & 0xFFFFF000u) == 0xD53BE000) /* mrs cnt..._el0 */
		return TIMER_IN;
	if ((code & 0xFFFFF000u) == 0xD51BE000)
		return TIMER_OUT;
	if ((code & 0xFFFFF000u) == 0xD5088000) { /* tlbi of EL1 */
		uint32_t how = code >> 5 & 7;

		return how & 1 ? DROPS_PAGE : how == 2 ? DROPS_SPACE : DROPS_ALL;
	}
	return NOTHING;
}

/* --- translation --- */

static bool models;

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

static struct line *line_of(const void *insn)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn) & ~(uint64_t)(line_bytes - 1);
	uint64_t at = (uint8_t *)qemu_plugin_insn_haddr(insn) - ram;

	return line_at(address, at < ram_size ? at >> line_bits : NO_LINE);
}

static struct timed_block *timed(const void *block, size_t count)
{
	uint32_t codes[count];

	for (size_t i = 0; i < count; i++)
		codes[i] = code_of(qemu_plugin_tb_get_insn(block, i));
	return timed_block_of(codes, count, qemu_plugin_tb_vaddr(block), an_instruction_ps());
}

static void instrument(void *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);
	struct timed_block *begun = timed(block, count);
	bool behind = false;

	begun->line = line_of(qemu_plugin_tb_get_insn(block, 0));
	qemu_plugin_register_vcpu_tb_exec_cb(
		block, class_costs.ps[PLAIN] ? block_begins : untimed_block_begins, 0, begun);
	for (size_t i = 0; i < count; i++) {
		void *insn = qemu_plugin_tb_get_insn(block, i);
		uint32_t code = code_of(insn);
		enum special what = special_of(code);

		if (behind)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begins_behind, 0, NULL);
		if (i && !(qemu_plugin_insn_vaddr(insn) & (line_bytes - 1)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, line_begins, 0, line_of(insn));
		if (what != NOTHING)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, is_special, 0, (void *)(uintptr_t)(what << 5 | (code & 31)));
		qemu_plugin_register_vcpu_mem_cb(insn, accesses, 0, LOADS_AND_STORES, NULL);
		behind = what != NOTHING;
	}
}

/* Before version 7 of the plugin API the first argument is the plugin's id. */
static void translated(uintptr_t first, uintptr_t second)
{
	if (models)
		instrument((void *)(PLUGIN_API >= 7 ? first : second));
}

/* --- beginning and end --- */

static void to_instructions(int64_t *costs, size_t count)
{
	int64_t part = (1 << stalls_shift()) - 1;

	for (size_t i = 0; i < count; i++) {
		if (costs[i] < 0 || costs[i] & part)
			fail("a cost is no whole number of instructions");
		costs[i] >>= stalls_shift();
	}
}

static void begin(void)
{
	void *block = qemu_ram_block_by_name(RAM_BLOCK);

	if (!block)
		fail("this machine's memory is not known");
	ram = qemu_ram_get_host_addr(block);
	ram_size = qemu_ram_get_used_length(block);
	to_instructions(load_cost, LEVELS);
	to_instructions(store_cost, LEVELS);
	to_instructions(&pages_cost, 1);
	to_instructions(&walk_cost, 1);
	to_instructions(&write_back_cost, 1);
	dirty = write_back_cost ? DIRTY : 0;
	to_instructions(read_cost, DEVICES);
	to_instructions(write_cost, DEVICES);
	budget.look = always_slowly = machine_stalls || free_causes || free_shots;
	models = true;
	if (queue_tb_flush)
		queue_tb_flush(cpu);
	else
		tb_flush(cpu);
}

static void is_ready(void)
{
	cpu = qemu_get_cpu(0);
	if (qemu_get_cpu(1))
		fail("a machine with several processors plays with --memory none only");
	stalls_learn(cpu, begin);
}

static void ends(void)
{
	if (!models)
		return;
	timed_blocks_end(stalls_executed());
	fprintf(stderr, "memory: looked up %" PRIu64 " lines of data and %" PRIu64 " of code\n",
		lookups, code_lines);
	fprintf(stderr, "memory: missed %" PRIu64 " times in code\n", missed_code);
	fprintf(stderr, "memory: missed %" PRIu64 " times in data\n", missed_data);
	fprintf(stderr, "memory: missed %" PRIu64 " times in second\n", missed_second);
	fprintf(stderr, "memory: missed %" PRIu64 " times in code_pages\n", missed_code_pages);
	fprintf(stderr, "memory: missed %" PRIu64 " times in data_pages\n", missed_data_pages);
	for (int of = 0; class_costs.ps[PLAIN] && of < CLASSES; of++)
		fprintf(stderr, "memory: executed %" PRIu64 " times %s\n", cycles_counted(of),
			class_name(of));
	for (int cause = 0; cause < (class_costs.ps[PLAIN] ? CAUSES : CYCLES); cause++)
		fprintf(stderr, "memory: %" PRIu64 " waits for %s of %" PRId64 " ns in all\n",
			times[cause], cause_names[cause], waited[cause] * (1 << stalls_shift()));
}

static void take_parameters(void)
{
	struct cache *const caches[] = { &code_cache, &data_cache, &second, &third };

	if (line_bytes < 16 || line_bytes > 256 || line_bytes & (line_bytes - 1))
		fail("line_bytes is no power of two from 16 to 256");
	if (!qemu_plugin_mem_is_store(IS_STORE) || qemu_plugin_mem_is_store(~IS_STORE))
		fail("this QEMU says in another way that an access is a store");
	if (!code_cache.sets || !data_cache.sets)
		fail("the first caches are not there");
	if (code_entries < 1 || code_entries > LISTED_MAX || data_entries < 1 ||
	    data_entries > LISTED_MAX)
		fail("a first TLB has 1 to 64 entries");
	line_bits = __builtin_ctzll(line_bytes);
	for (size_t i = 0; i < ELEMENTS(caches); i++)
		make(caches[i]);
	code_pages.count = code_entries;
	data_pages.count = data_entries;
	pages = zeroed(pages_sets * pages_ways, sizeof(*pages));
	large_bits = __builtin_ctzll(kernel_code_page >> PAGE_BITS);
	pages_mask = pages_sets & (pages_sets - 1) || !pages_sets ? 0 : pages_sets - 1;
	memset(quick, 0xFF, sizeof(quick));
	cycles_take_parameters();
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	if (!parameters_read("memory", argc, argv, parameters, NULL))
		return -1;
	if (!queue_tb_flush && !tb_flush)
		fail("this QEMU exports no way to translate code anew");
	if (!machine_tell)
		fail("the instrument was not preloaded");
	take_parameters();
	machine_tell(is_ready, ends);
	qemu_plugin_register_vcpu_tb_trans_cb(id, (plugin_callback)translated, NULL);
	return 0;
}
