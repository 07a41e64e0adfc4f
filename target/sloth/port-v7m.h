/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * Armv7-M and Armv8-M Mainline (Cortex-M3, M4, M33): BASEPRI masks all priorities up to a ceiling.
 * Included by sloth.h.
 */
#define PORT_LEVELS 8 /* 3 bits of priority: as many as the LM3S6965 has; the RP2350 has 4 */
#define PORT_HIGHEST "7"
#define PORT_LINES 64
/* The hardware's 0 is the most urgent; BASEPRI cannot mask that one, which the alarms' tick has. */
#define PORT_PRIORITY(priority) ((uint32_t)(PORT_LEVELS - (priority)) << 5 & 0xFF)

static inline void port_synchronise(void)
{
	__asm__ volatile("dsb\n\tisb" ::: "memory");
}

/*
 * Stored after the mask is up: no other task can take the same resource then. BASEPRI_MAX never
 * lowers the mask.
 */
static inline __attribute__((always_inline)) void port_raise(struct resource *resource,
							     uint32_t ceiling)
{
	uint32_t before;

	__asm__ volatile("mrs %0, basepri\n\tmsr basepri_max, %1"
			 : "=&r"(before)
			 : "r"(PORT_PRIORITY(ceiling))
			 : "memory");
	resource->before = before;
}

static inline void port_restore(const struct resource *resource)
{
	__asm__ volatile("msr basepri, %0\n\tisb" ::"r"(resource->before) : "memory");
}

/* The hardware stacked r0 to r3, r12, lr, pc, xpsr; lr says how to return. */
#define PORT_PROLOGUE              \
	"push {r4-r11, lr}\n\t"    \
	"ldr r0, =sloth_frame\n\t" \
	"ldr r1, [r0]\n\t"         \
	"push {r1}\n\t"            \
	"str sp, [r0]\n\t"

#define PORT_EPILOGUE              \
	"ldr r0, =sloth_frame\n\t" \
	"ldr r1, [r0]\n\t"         \
	"mov sp, r1\n\t"           \
	"pop {r1}\n\t"             \
	"str r1, [r0]\n\t"         \
	"pop {r4-r11, pc}\n\t"     \
	".ltorg"

/*
 * FAULTMASK holds everything back until the return from this task's exception clears it: the
 * chained task begins when this one is gone, whatever its priority is.
 */
static inline _Noreturn void port_chain(volatile uint32_t *set_pending, uint32_t bit)
{
	__asm__ volatile("cpsid f\n\t"
			 "str %1, [%0]\n\t"
			 "bl sloth_end" ::"r"(set_pending),
			 "r"(bit)
			 : "memory");
	__builtin_unreachable();
}
