/*
 * Known answers for a model of memory: loops of which each step does one thing, timed by the
 * processor's own counter, with interrupts off. A line "known-memory: NAME PICOSECONDS" for each
 * says how long a step took. What it must be is in tests/bench/virtual/test_memory.py.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>

#define LINE 64
#define ORDER 9 /* 2 MiB, in one piece */
#define KIB(lines) ((lines) * 1024 / LINE)

static char *memory;
static void __iomem *gpio, *interrupts, *uart;

static u64 counter(void)
{
	u64 value;

	asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(value)::"memory");
	return value;
}

static void say(const char *name, u64 ticks, u64 steps)
{
	u64 hz;

	asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	pr_notice("known-memory: %s %llu\n", name, ticks * (1000000000000ull / hz) / steps);
}

/* --- loops --- */

#define STEPS 1000

/*
 * Twice as many steps, less so many: what a loop pays once, when it begins or ends, is on both
 * sides. A first turn brings its lines and pages.
 */
#define AGAIN(name, instruction, one, other)                         \
	do {                                                         \
		static u64 counts[] = { STEPS, STEPS, 2 * STEPS };   \
		u64 took[ARRAY_SIZE(counts)], began, steps;          \
		unsigned long flags;                                 \
                                                                     \
		local_irq_save(flags);                               \
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {    \
			steps = READ_ONCE(counts[i]);                \
			began = counter();                           \
			asm volatile("mov	x9, xzr\n"                 \
				     ".balign 64\n"                  \
				     "1:	" instruction "\n"   \
				     "	subs	%0, %0, #1\n"            \
				     "	b.ne	1b"                      \
				     : "+r"(steps)                   \
				     : "r"(one), "r"((u64)(other))   \
				     : "x9", "x10", "cc", "memory"); \
			took[i] = counter() - began;                 \
		}                                                    \
		say(name, took[2] - took[1], STEPS);                 \
		local_irq_restore(flags);                            \
	} while (0)

/* --- chains of loads: one waits for the other --- */

static noinline void *follow(void *at, u64 steps)
{
	asm volatile(".balign 64\n"
		     "1:	ldr	%0, [%0]\n"
		     "	ldr	%0, [%0]\n"
		     "	ldr	%0, [%0]\n"
		     "	ldr	%0, [%0]\n"
		     "	subs	%1, %1, #4\n"
		     "	b.ne	1b"
		     : "+r"(at), "+r"(steps)::"cc", "memory");
	return at;
}

static void chase(const char *name, u64 count, u64 stride)
{
	unsigned long flags;
	u64 began, steps = (count < 512 ? 2048 / count : 2) * count;

	for (u64 i = 0; i < count; i++)
		*(void **)(memory + i * stride) = memory + (i + 1) % count * stride;
	steps = round_up(steps, 4);
	local_irq_save(flags);
	follow(memory, round_up(2 * count, 4));
	began = counter();
	follow(memory, steps);
	say(name, counter() - began, steps);
	local_irq_restore(flags);
}

/* --- stores, and lines that are zeroed --- */

#define STORING(function, instruction)                                 \
	static noinline void function(char *at, u64 steps)             \
	{                                                              \
		asm volatile(".balign 64\n"                            \
			     "1:	" instruction "\n"             \
			     "	add	%0, %0, #64\n"                      \
			     "	subs	%1, %1, #1\n"                      \
			     "	b.ne	1b"                                \
			     : "+r"(at), "+r"(steps)::"cc", "memory"); \
	}
STORING(store, "str	xzr, [%0]")
STORING(zero, "dc	zva, %0")

static void over(const char *name, void (*touch)(char *, u64), u64 count)
{
	unsigned long flags;
	u64 began, rounds = count < 512 ? 2048 / count : 2;

	local_irq_save(flags);
	touch(memory, count);
	touch(memory, count);
	began = counter();
	for (u64 i = 0; i < rounds; i++)
		touch(memory, count);
	say(name, counter() - began, rounds * count);
	local_irq_restore(flags);
}

/* --- who goes of the second TLB's sets --- */

#define FILLERS 8 /* other pages, so many that no page of the second TLB's is in the first */

/* Put a page, then the fillers, behind the chain's last link; return the new last link. */
static void **behind(void **last, u64 page, u64 slot)
{
	for (u64 i = 0; i <= FILLERS; i++, slot++) {
		void **link = (void **)(memory + (i ? i : page) * PAGE_SIZE + slot % 64 * LINE +
					slot / 64 * sizeof(void *));

		*last = link;
		last = link;
	}
	return last;
}

/* Five pages of one set of 16, of which one is used every second time: A B A C A D A E. */
static void pages_go(const char *name)
{
	static const u64 order[] = { 0, 16, 0, 32, 0, 48, 0, 64 };
	u64 began, steps = ARRAY_SIZE(order) * (FILLERS + 1);
	unsigned long flags;
	void *first, **last = &first;

	for (u64 i = 0; i < ARRAY_SIZE(order); i++)
		last = behind(last, order[i], i * (FILLERS + 1));
	*last = first;
	local_irq_save(flags);
	follow(first, 4 * steps);
	began = counter();
	follow(first, 100 * steps);
	say(name, counter() - began, 100);
	local_irq_restore(flags);
}

/* --- a walk that flushes what it needs --- */

#define FLUSHED(name, instruction, operand)                                                   \
	AGAIN(name, "ldr	x9, [%1]\n	" instruction "\n	dsb	nsh\n	isb", \
	      memory, operand)

static void flushes(void)
{
	u64 page = (u64)memory >> PAGE_SHIFT & GENMASK_ULL(43, 0);

	FLUSHED("flushed_none", "nop", memory);
	FLUSHED("flushed_other", "tlbi	vaae1, %2", page + 256);
	FLUSHED("flushed_page", "tlbi	vaae1, %2", page);
	FLUSHED("flushed_here_too", "tlbi	vae1is, %2", page);
	FLUSHED("flushed_space", "tlbi	aside1, %2", 0x1234ull << 48);
	FLUSHED("flushed_all", "tlbi	vmalle1", memory);
}

/* --- lines that are dirty when another address space begins --- */

static void cleans(const char *name, u64 lines)
{
	unsigned long flags;
	u64 began, own;

	asm volatile("mrs %0, ttbr1_el1" : "=r"(own));
	local_irq_save(flags);
	asm volatile("msr ttbr1_el1, %0; isb" ::"r"(own ^ 3ull << 60)); /* others' lines go */
	began = counter();
	for (u64 i = 0; i < 100; i++) {
		store(memory, lines);
		asm volatile("msr ttbr1_el1, %0; isb" ::"r"(own ^ (i % 2 + 1) << 60));
	}
	say(name, counter() - began, 100);
	asm volatile("msr ttbr1_el1, %0; isb" ::"r"(own));
	local_irq_restore(flags);
}

/* --- chains of jumps --- */

#define JUMPS(name, count, bytes)                            \
	asm(".pushsection .text\n.balign 4096\n" #name ":\n" \
	    ".rept	" #count " - 1\n"                    \
	    "	b	. + " #bytes "\n"                    \
	    "	.skip	" #bytes " - 4\n"                    \
	    ".endr\n	ret\n.balign 4096\n.popsection");    \
	void name(void)
JUMPS(jumps_64, 64, 64);
JUMPS(jumps_192, 192, 64);
JUMPS(jumps_4_pages, 4, 4160);
JUMPS(jumps_12_pages, 12, 4160);
JUMPS(jumps_12_large, 12, 65600); /* pages of 64 KiB */

/* A line of code after the other, in one block as far as a page goes. */
asm(".pushsection .text\n.balign 4096\nstraight:\n.rept 192 * 16 - 1\n	nop\n.endr\n	ret\n"
    ".balign 4096\n.popsection");
void straight(void);

static void jump(const char *name, void (*chain)(void), u64 count)
{
	unsigned long flags;
	u64 began;

	local_irq_save(flags);
	chain();
	chain();
	began = counter();
	for (u64 i = 0; i < 100; i++)
		chain();
	say(name, counter() - began, 100 * count);
	local_irq_restore(flags);
}

/* --- registers --- */

static void registers(void)
{
	AGAIN("register_none", "nop", gpio, 0);
	AGAIN("gpio_read", "ldr	w9, [%1]", gpio + 0x400, 0); /* a direction */
	AGAIN("gpio_write", "str	wzr, [%1]", gpio, 0); /* of no line */
	AGAIN("interrupts_read", "ldr	w9, [%1]", interrupts + 4, 0); /* the controller's type */
	AGAIN("interrupts_write", "str	wzr, [%1]", interrupts + 0x100, 0); /* enables none */
	AGAIN("other_read", "ldr	w9, [%1]", uart + 0x18, 0); /* its flags */
	AGAIN("other_write", "str	wzr, [%1]", uart + 0x18, 0); /* read-only */
	AGAIN("timer_read", "mrs	x9, cntvct_el0", gpio, 0);
	AGAIN("timer_write", "msr	cntp_cval_el0, xzr", gpio, 0); /* nobody uses it */
	AGAIN("of_load", "ldr	w9, [%1]", memory, 0);
	AGAIN("of_store", "str	wzr, [%1]", memory, 0);
	AGAIN("of_barrier", "dsb	sy", memory, 0);
	AGAIN("of_system", "mrs	x9, tpidr_el1", memory, 0);
	AGAIN("of_atomic", "ldxr	w9, [%1]\n	stxr	w10, w9, [%1]", memory, 0);
	AGAIN("of_branch", "b	2f\n2:", memory, 0);
	/* taken every second time, which a counter of two bits never predicts */
	AGAIN("of_mispredicted", "eor	x9, x9, #1\n	tbz	x9, #0, 2f\n	nop\n2:", memory,
	      0);
}

/* --- deadlines that come while the processor waits --- */

#define ENABLED 1
#define IS_MET 4

/* How much later than it was set for a deadline is met, among reads that take 300 ns each. */
static void meets(const char *name, u64 ahead_ns)
{
	unsigned long flags;
	u64 hz, due, control;

	asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	local_irq_save(flags);
	due = counter() + ahead_ns * (hz / 1000000) / 1000;
	asm volatile("msr cntp_cval_el0, %0; msr cntp_ctl_el0, %1; isb" ::"r"(due),
		     "r"((u64)ENABLED));
	do {
		readl_relaxed(gpio + 0x400);
		/* the timer's own bit: it is set when the deadline is met, and not by the clock */
		asm volatile("mrs %0, cntp_ctl_el0" : "=r"(control));
	} while (!(control & IS_MET));
	say(name, counter() - due, 1);
	asm volatile("msr cntp_ctl_el0, xzr; isb");
	local_irq_restore(flags);
}

static int __init known_memory_init(void)
{
	memory = (char *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	gpio = ioremap(0x09030000, 0x1000);
	interrupts = ioremap(0x08000000, 0x1000);
	uart = ioremap(0x09000000, 0x1000);
	if (!memory || !gpio || !interrupts || !uart)
		return -ENOMEM;
	chase("one_line", 4, LINE);
	chase("first_fits", KIB(8), LINE);
	chase("first_not", KIB(12), LINE);
	chase("second_fits", KIB(48), LINE);
	chase("second_not", KIB(128), LINE);
	chase("third_fits", KIB(192), LINE);
	chase("third_not", KIB(512), LINE);
	chase("pages_fit", 8, PAGE_SIZE + LINE);
	chase("pages_not", 9, PAGE_SIZE + LINE);
	chase("table_fits", 60, PAGE_SIZE + LINE);
	chase("table_not", 80, PAGE_SIZE + LINE);
	/* lines of one set of the second cache, which are in one set of the first, too */
	chase("ways_fit", 4, 16384);
	chase("ways_not", 5, 16384);
	over("store_first", store, KIB(4));
	over("store_second", store, KIB(48));
	over("store_third", store, KIB(192));
	over("store_memory", store, KIB(1024));
	over("zero_first", zero, KIB(4));
	over("zero_memory", zero, KIB(1024));
	/* A B A C of one set: who goes when a line comes, the one used longest ago or the oldest? */
	AGAIN("abac",
	      "ldr	x9, [%1]\n	ldr	x9, [%1, %2]\n"
	      "ldr	x9, [%1]\n	ldrh	w9, [%1, %2, lsl #1]",
	      memory, 4096);
	pages_go("pages_go");
	cleans("cleans_2", 2);
	cleans("cleans_62", 62);
	flushes();
	jump("jumps_fit", jumps_64, 64);
	jump("jumps_not", jumps_192, 192);
	jump("jumped_pages_fit", jumps_4_pages, 4);
	jump("jumped_pages_not", jumps_12_pages, 12);
	jump("jumped_large", jumps_12_large, 12);
	jump("straight", straight, 192);
	registers();
	meets("near", 20000); /* all of QEMU's budget is in its part for the code at hand */
	meets("far", 1000000); /* most of it is in the other part */
	return 0;
}
module_init(known_memory_init);
MODULE_DESCRIPTION("Known answers for a model of memory");
MODULE_LICENSE("GPL");
