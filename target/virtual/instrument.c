// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtual instrument: a device in QEMU's virtual clock, outside the guest.
 *
 * A TCG plugin for qemu-system-aarch64. It instruments no guest code: it uses timers of the
 * virtual clock and the GPIO lines of the machine's PL061, through functions that the executable
 * exports because it is built with modules (Debian's, Ubuntu's and Fedora's are). With -icount
 * every edge is stamped exact to the instruction.
 *
 * It serves pings, times the replies, and writes the frames of kit-firmware/brickwall/wire.py to
 * an inherited file descriptor. The gaps are those of kit-firmware/brickwall/gaps.py.
 *
 * Parameters (all times in ns of virtual time): fd balls seed period gap_min gap_max pulse timeout
 * settle ready_timeout give_up ping_line reply_line ready_line. A period other than 0 means open
 * loop.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * The few declarations of the plugin API that are needed: not every distribution ships them. From
 * version 7 on callbacks get other arguments, and registering takes user data: those here take no
 * notice of what they get, and an argument too many does no harm, so one form fits all versions.
 */
#define EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
typedef void (*plugin_callback)(void);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, plugin_callback cb,
						  void *user_data);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, plugin_callback cb,
					   void *user_data);
/* given by the build, which asks QEMU what it takes */
EXPORT int qemu_plugin_version = PLUGIN_API;

/* QEMU internals, resolved when the plugin is loaded; their types are opaque here. */
typedef struct IRQState *qemu_irq;
enum { QEMU_CLOCK_VIRTUAL = 1 };
extern int64_t qemu_clock_get_ns(int clock);
extern void timer_init_full(void *timer, void *list_group, int clock, int scale, int attributes,
			    void (*callback)(void *opaque), void *opaque);
extern void timer_mod_ns(void *timer, int64_t expire_ns);
extern void timer_del(void *timer);
extern void *object_resolve_path_type(const char *path, const char *type, bool *ambiguous);
extern qemu_irq qdev_get_gpio_in(void *device, int line);
extern void qdev_connect_gpio_out(void *device, int line, qemu_irq irq);
extern qemu_irq qemu_allocate_irq(void (*handler)(void *opaque, int line, int level), void *opaque,
				  int line);
extern void qemu_set_irq(qemu_irq irq, int level);

/* --- wire.py's frames --- */
enum { HELLO = 1, BALLS, EVENTS, END };
enum { EVENT_READY = 1, EVENT_STRAY, EVENT_DOUBLE, EVENT_LATE_SERVE };
enum { COMPLETE, NO_ANSWER, TARGET_ENDED, NEVER_READY };
#define NONE_TICKS UINT32_MAX
#define BALLS_A_FRAME 64
#define GIVE_UP_BALLS 20 /* so many misses in a row, and give_up besides */
/* -icount shift=1: a timer that is due within an instruction fires after it, and is not late */
#define INSTRUCTION_NS 2

struct __attribute__((packed)) header {
	char magic[2];
	uint8_t version, kind;
	uint32_t sequence;
	uint16_t length;
};
struct __attribute__((packed)) ball {
	uint64_t served;
	uint32_t rise, fall;
};
struct __attribute__((packed)) event {
	uint64_t when;
	uint32_t what, value;
};
struct __attribute__((packed)) end {
	uint32_t reason, balls, misses, strays, doubles, late_serves;
	uint64_t when;
};

/* --- parameters --- */
static int64_t fd = -1, balls = 5000, seed = 1, period, gap_min = 500000, gap_max = 1500000;
static int64_t pulse = 1000, timeout = 200000000, settle = 1000000000;
static int64_t ready_timeout = 120000000000, give_up = 10000000000;
static int64_t ping_line, reply_line = 1, ready_line = 2;

static const struct {
	const char *name;
	int64_t *value;
} parameters[] = {
	{ "fd", &fd },
	{ "balls", &balls },
	{ "seed", &seed },
	{ "period", &period },
	{ "gap_min", &gap_min },
	{ "gap_max", &gap_max },
	{ "pulse", &pulse },
	{ "timeout", &timeout },
	{ "settle", &settle },
	{ "ready_timeout", &ready_timeout },
	{ "give_up", &give_up },
	{ "ping_line", &ping_line },
	{ "reply_line", &reply_line },
	{ "ready_line", &ready_line },
};

/* --- state --- */
/* A QEMUTimer is 48 to 64 bytes in QEMU 7 to 11; it is opaque here, so there is room to spare. */
static char cold_timer[256], serve_timer[256], pulse_timer[256], timeout_timer[256];
static char ready_timer[256];
static qemu_irq ping;
static enum { COLD, IDLE, SERVED, RAISED, ENDED } state;
static bool line_up; /* the reply line's level */
static bool counted_up; /* the edge that raised it was counted as a stray or a double */
static bool last_was_complete;
static int64_t due_at, served_at;
static unsigned int unanswered; /* misses in a row, the first of them served at: */
static int64_t unanswered_since;
static struct ball current;
static struct end sum;
static struct ball ball_buffer[BALLS_A_FRAME];
static unsigned int buffered;
static uint32_t sequence;

static uint32_t crc32(const uint8_t *data, size_t length)
{
	uint32_t crc = ~0u;

	while (length--) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
	}
	return ~crc;
}

static void send_frame(int kind, const void *payload, size_t length)
{
	uint8_t frame[sizeof(struct header) + sizeof(ball_buffer) + sizeof(uint32_t)];
	struct header header = { { 'T', 'N' }, 1, kind, sequence++, length };
	size_t size = sizeof(header) + length;
	uint32_t crc;

	memcpy(frame, &header, sizeof(header));
	memcpy(frame + sizeof(header), payload, length);
	crc = crc32(frame, size);
	memcpy(frame + size, &crc, sizeof(crc));
	size += sizeof(crc);
	for (size_t at = 0; at < size;) {
		ssize_t wrote = write(fd, frame + at, size - at);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			_exit(1); /* nobody listens any more */
		at += wrote;
	}
}

static void flush_balls(void)
{
	if (buffered)
		send_frame(BALLS, ball_buffer, buffered * sizeof(ball_buffer[0]));
	buffered = 0;
}

static void send_event(int what, int64_t when, uint32_t value)
{
	struct event event = { when, what, value };

	flush_balls(); /* events and balls stay in the order in which they happened */
	send_frame(EVENTS, &event, sizeof(event));
}

static void end_rally(int reason)
{
	flush_balls();
	sum.reason = reason;
	sum.when = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	send_frame(END, &sum, sizeof(sum));
	state = ENDED;
	_exit(0);
}

static uint32_t mix(uint32_t z)
{
	z = (z ^ z >> 16) * 0x7FEB352D;
	z = (z ^ z >> 15) * 0x846CA68B;
	return z ^ z >> 16;
}

static int64_t next_gap(void)
{
	uint64_t bits = mix(mix(seed) + (sum.balls + 1) * 0x9E3779B9);

	/* 128 bits: a range of more than 4.29 s would overflow 64 */
	return gap_min + (int64_t)((unsigned __int128)bits * (uint64_t)(gap_max - gap_min) >> 32);
}

static void serve_at(int64_t when)
{
	due_at = when;
	timer_mod_ns(serve_timer, when);
}

/* The ball is decided: both edges came, or one did not come in time. */
static void close_ball(int64_t now)
{
	timer_del(timeout_timer);
	last_was_complete = current.fall != NONE_TICKS;
	ball_buffer[buffered++] = current;
	sum.balls++;
	sum.misses += !last_was_complete;
	if (last_was_complete)
		unanswered = 0;
	else if (!unanswered++)
		unanswered_since = served_at;
	state = IDLE;
	if (buffered == BALLS_A_FRAME)
		flush_balls();
	if (sum.balls == balls)
		end_rally(COMPLETE);
	if (unanswered >= GIVE_UP_BALLS && now - unanswered_since > give_up)
		end_rally(NO_ANSWER);
	if (!period)
		serve_at(now + next_gap());
}

static void serve(void *opaque)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

	if (state == SERVED || state == RAISED)
		close_ball(now); /* open loop: the next ball does not wait */
	if (now - due_at >= INSTRUCTION_NS) {
		sum.late_serves++;
		send_event(EVENT_LATE_SERVE, now, now - due_at);
	}
	served_at = now;
	current = (struct ball){ now, NONE_TICKS, NONE_TICKS };
	state = SERVED;
	/*
	 * The ping comes before any timer, and the timers earliest first: with sleep=off QEMU takes
	 * an idle guest to the earliest deadline as soon as a timer is set, also from here.
	 */
	qemu_set_irq(ping, 1);
	timer_mod_ns(pulse_timer, now + pulse);
	if (period && period < timeout)
		serve_at(due_at + period);
	timer_mod_ns(timeout_timer, now + timeout);
	if (period && period >= timeout)
		serve_at(due_at + period);
}

static void end_pulse(void *opaque)
{
	qemu_set_irq(ping, 0);
}

static void time_out(void *opaque)
{
	close_ball(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
}

/*
 * An edge that belongs to no ball. A rise counts as a double after a complete ball and as a stray
 * otherwise; its fall is not counted again. A fall alone (too late for its ball) is a stray.
 */
static void count_edge(int64_t now, bool up)
{
	bool twice = up && last_was_complete && state == IDLE;

	if (!up && counted_up)
		return;
	if (twice)
		sum.doubles++;
	else
		sum.strays++;
	send_event(twice ? EVENT_DOUBLE : EVENT_STRAY, now, up);
}

static void reply_edge(void *opaque, int line, int level)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
	bool up = level;

	if (up == line_up)
		return;
	line_up = up; /* also before the rally: a line that is up already is no surprise later */
	if (state == COLD || state == ENDED)
		return;
	if (state == SERVED && up) {
		current.rise = now - served_at;
		state = RAISED;
		counted_up = false;
	} else if (state == RAISED && !up) {
		current.fall = now - served_at;
		close_ball(now);
	} else {
		count_edge(now, up);
		counted_up = up;
	}
}

static void ready_edge(void *opaque, int line, int level)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

	if (!level || state != COLD)
		return;
	timer_del(ready_timer);
	send_event(EVENT_READY, now, 0);
	state = IDLE;
	serve_at(now + settle + (period ? 0 : next_gap()));
}

static void never_ready(void *opaque)
{
	end_rally(NEVER_READY);
}

static void fail(const char *message)
{
	fprintf(stderr, "instrument: %s\n", message);
	_exit(3);
}

/* Wires up as soon as the machine exists. */
static void connect_lines(void *opaque)
{
	bool ambiguous = false;
	void *pl061 = object_resolve_path_type("", "pl061", &ambiguous);

	if (!pl061 || ambiguous)
		fail("the machine has no single PL061 GPIO controller");
	ping = qdev_get_gpio_in(pl061, ping_line);
	qdev_connect_gpio_out(pl061, reply_line, qemu_allocate_irq(reply_edge, NULL, reply_line));
	qdev_connect_gpio_out(pl061, ready_line, qemu_allocate_irq(ready_edge, NULL, ready_line));
	timer_init_full(serve_timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, serve, NULL);
	timer_init_full(pulse_timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, end_pulse, NULL);
	timer_init_full(timeout_timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, time_out, NULL);
	timer_init_full(ready_timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, never_ready, NULL);
	timer_mod_ns(ready_timer, ready_timeout);
}

/*
 * The first translated block: the machine exists by now, and this is the vCPU's thread. (The
 * plugin API's vcpu_init callback comes too early: no machine yet.)
 */
static void first_block(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	timer_init_full(cold_timer, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, connect_lines, NULL);
	timer_mod_ns(cold_timer, 1000);
}

/* QEMU ends: the guest powered off or panicked, or the host asked for it with SIGTERM. */
static void at_exit(void)
{
	if (state != ENDED)
		end_rally(TARGET_ENDED);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	char hello[256];
	int length;

	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		bool known = false;

		for (size_t p = 0; value && p < sizeof(parameters) / sizeof(parameters[0]); p++) {
			size_t name = strlen(parameters[p].name);

			if (argv[i] + name == value && !memcmp(argv[i], parameters[p].name, name)) {
				*parameters[p].value = strtoll(value + 1, NULL, 10);
				known = true;
			}
		}
		if (!known) {
			fprintf(stderr, "instrument: parameter %s?\n", argv[i]);
			return -1;
		}
	}
	if (fd < 0) {
		fprintf(stderr, "instrument: no file descriptor to write to (fd=)\n");
		return -1;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no guest without its host */
	length = snprintf(hello, sizeof(hello),
			  "{\"instrument\": \"virtual\", \"firmware\": \"%s\", \"tick_hz\": %d}",
			  FIRMWARE_VERSION, 1000000000);
	send_frame(HELLO, hello, length);
	qemu_plugin_register_vcpu_tb_trans_cb(id, first_block, NULL);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
