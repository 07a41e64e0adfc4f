/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * Armv6-M (Cortex-M0, M0+): neither BASEPRI nor FAULTMASK; 4 priorities and 32 lines. A ceiling is
 * a set of lines that are disabled. Included by sloth.h.
 */
#define PORT_LEVELS 4
#define PORT_HIGHEST "3"
#define PORT_LINES 32
#define PORT_PRIORITY(priority) ((uint32_t)(PORT_LEVELS - (priority)) << 6 & 0xFF)

static inline void port_synchronise(void)
{
	__asm__ volatile("dsb\n\tisb" ::: "memory");
}

/* Return the lines of all tasks that a ceiling masks; a constant where the ceiling is one. */
#define T(name, line, priority) | ((priority) <= (int)ceiling ? 1u << (line) : 0)
static inline __attribute__((always_inline)) uint32_t port_masked(uint32_t ceiling)
{
	return 0 TASKS(T);
}
#undef T

/*
 * Stored after the mask is up, as with BASEPRI. A task that comes between the two reads gives back
 * what it took before it ends, so that what was read stays true.
 */
static inline __attribute__((always_inline)) void port_raise(struct resource *resource,
							     uint32_t ceiling)
{
	uint32_t masked = port_masked(ceiling), before = NVIC_ISER(0) & masked;

	NVIC_ICER(0) = masked;
	port_synchronise();
	resource->before = before;
}

static inline void port_restore(const struct resource *resource)
{
	__asm__ volatile("" ::: "memory");
	NVIC_ISER(0) = resource->before;
	port_synchronise();
}

/* The hardware stacked r0 to r3, r12, lr, pc, xpsr; lr says how to return. */
#define PORT_PROLOGUE                                                \
	"push {r4-r7, lr}\n\t"                                       \
	"mov r4, r8\n\tmov r5, r9\n\tmov r6, r10\n\tmov r7, r11\n\t" \
	"push {r4-r7}\n\t"                                           \
	"ldr r0, =sloth_frame\n\t"                                   \
	"ldr r1, [r0]\n\t"                                           \
	"push {r1}\n\t"                                              \
	"mov r1, sp\n\t"                                             \
	"str r1, [r0]\n\t"

#define PORT_UNWIND                \
	"ldr r0, =sloth_frame\n\t" \
	"ldr r1, [r0]\n\t"         \
	"mov sp, r1\n\t"           \
	"pop {r1}\n\t"             \
	"str r1, [r0]\n\t"         \
	"pop {r4-r7}\n\t"          \
	"mov r8, r4\n\tmov r9, r5\n\tmov r10, r6\n\tmov r11, r7\n\t"
#define PORT_EPILOGUE PORT_UNWIND "pop {r4-r7, pc}\n\t.ltorg"

/*
 * PRIMASK outlives the return from an exception, so nothing holds a chained task back until then.
 * It is pended by the last instruction but one instead: of this task there is only the hardware's
 * frame by then. If the chained task has a higher priority it comes before that return, and this
 * frame is taken off when it ends.
 */
#define PORT_CHAIN_EPILOGUE PORT_UNWIND "pop {r4-r7}\n\tpop {r0}\n\tstr r3, [r2]\n\tbx r0\n\t.ltorg"

static inline _Noreturn void port_chain(volatile uint32_t *set_pending, uint32_t bit)
{
	register volatile uint32_t *to __asm__("r2") = set_pending;
	register uint32_t what __asm__("r3") = bit;

	/* bl, which reaches further than b; nobody returns here */
	__asm__ volatile("bl port_chain_epilogue" ::"r"(to), "r"(what) : "memory");
	__builtin_unreachable();
}
