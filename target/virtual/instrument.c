// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The virtual instrument: a device in QEMU's virtual clock, outside the guest.
 *
 * It serves pings, times the replies, and writes the frames of kit-firmware/brickwall/wire.py to
 * an inherited file descriptor. The gaps are those of kit-firmware/brickwall/gaps.py.
 *
 * Parameters (all times in ns of virtual time): fd balls seed period gap_min gap_max pulse timeout
 * settle ready_timeout give_up over listen loop_back shots children child_limit absolute, and those
 * of machine.c. A period other than 0 means open loop. With over, the guest is told of the end and gets so long to look after its load. With
 * listen=1 nothing is served: each pulse of the reply line is a ball, served when it rose; with
 * loop_back=1, too, a wire leads from the reply line to the ping line. With shots (a file descriptor)
 * the balls are shots (shots.h) at the instants of that file, ns behind the first ball's earliest
 * time, or with absolute=1 of the clock; so many children at once, each for so many ms of the host's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "places.h"
#include "processors.h"
#include "shots.h"

extern _Bool qemu_in_vcpu_thread(void);
extern void *qemu_get_cpu(int index);
extern void async_run_on_cpu(void *cpu, void (*work)(void *cpu, uint64_t data), uint64_t data);

/* --- wire.py's frames --- */
enum { HELLO = 1, BALLS, EVENTS, END, PLACES = 6 };
enum { EVENT_READY = 1, EVENT_STRAY, EVENT_DOUBLE, EVENT_LATE_SERVE };
enum { EVENT_SHOT_HUNG = 64, EVENT_SHOT_BROKE }; /* value: its child's signal, or 256 + exit code */
enum { COMPLETE, NO_ANSWER, TARGET_ENDED, NEVER_READY };
#define NONE_TICKS UINT32_MAX
#define BALLS_A_FRAME 64
#define GIVE_UP_BALLS 20 /* so many misses in a row, and give_up besides */
#define SHOT_AFTER_NS 20000 /* behind the reply's fall a child looks so long for edges too many */

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
static int64_t ready_timeout = 120000000000, give_up = 10000000000, over;
static int64_t instruction = 2, listen, loop_back;
static int64_t shots = -1, children = 1, child_limit = 120000, absolute;

static const struct parameter parameters[] = {
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
	{ "over", &over },
	{ "instruction", &instruction },
	{ "listen", &listen },
	{ "loop_back", &loop_back },
	{ "shots", &shots },
	{ "children", &children },
	{ "child_limit", &child_limit },
	{ "absolute", &absolute },
	{ 0 },
};

/* --- state --- */
static enum { COLD, IDLE, SERVED, RAISED, LISTENING, ENDED } state;
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
	write_all(fd, frame, size);
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

	if (shots_in_child()) {
		shots_keep_event(when, what, value);
		return;
	}
	flush_balls(); /* events and balls stay in the order in which they happened */
	send_frame(EVENTS, &event, sizeof(event));
}

static void serve(int64_t now);
static void end_pulse(int64_t now);
static void time_out(int64_t now);
static _Noreturn void never_ready(int64_t now);
static _Noreturn void silent(int64_t now);
static void pass_on(int64_t now);
static _Noreturn void end_qemu(int64_t now);
static _Noreturn void end_shot(int64_t now);
static struct deadline next_serve = { .met = serve }, pulse_end = { .met = end_pulse };
static struct deadline timeout_end = { .met = time_out }, ready_end = { .met = never_ready };
static struct deadline over_end = { .met = end_qemu }, silence_end = { .met = silent };
static struct deadline wire_end = { .met = pass_on }, shot_end = { .met = end_shot };

static void send_places(void)
{
	size_t size;
	const struct place *places = places_told(&size);

	if (size)
		send_frame(PLACES, places, size);
}

static void tell_end(int reason, int64_t now)
{
	flush_balls();
	if (reason == COMPLETE)
		send_places();
	sum.reason = reason;
	sum.when = now;
	send_frame(END, &sum, sizeof(sum));
	state = ENDED;
}

static _Noreturn void end_qemu(int64_t now)
{
	machine_end();
}

static _Noreturn void end_rally(int reason, int64_t now)
{
	tell_end(reason, now);
	end_qemu(now);
}

/* All balls are decided. With over the guest runs on, and is told. */
static void complete(int64_t now)
{
	if (!over)
		end_rally(COMPLETE, now);
	tell_end(COMPLETE, now);
	deadline_clear(&next_serve);
	machine_say_over();
	deadline_set(&over_end, now + over);
}

static int64_t next_gap(void)
{
	return random_between(seed, sum.balls, gap_min, gap_max);
}

static void serve_at(int64_t when)
{
	due_at = when;
	deadline_set(&next_serve, when);
}

/* The ball is decided: both edges came, or one did not come in time. */
static void close_ball(int64_t now)
{
	deadline_clear(&timeout_end);
	last_was_complete = current.fall != NONE_TICKS;
	if (shots_in_child()) {
		state = IDLE;
		shots_keep_ball(current.served, current.rise, current.fall);
		if (!last_was_complete)
			shots_decided();
		deadline_set(&shot_end, now + SHOT_AFTER_NS);
		return;
	}
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
	if (sum.balls == balls) {
		complete(now);
		return;
	}
	if (unanswered >= GIVE_UP_BALLS && now - unanswered_since > give_up)
		end_rally(NO_ANSWER, now);
	if (!period)
		serve_at(now + next_gap());
}

/* --- shots --- */

static void keep_shot(const struct shot *shot)
{
	struct ball ball = { shot->served, shot->rise, shot->fall };

	for (uint32_t i = 0; !shot->lost && i < shot->events_count; i++) {
		int what = shot->events[i].what;

		sum.strays += what == EVENT_STRAY;
		sum.doubles += what == EVENT_DOUBLE;
		sum.late_serves += what == EVENT_LATE_SERVE;
		send_event(what, shot->events[i].when, shot->events[i].value);
	}
	if (shot->lost) {
		ball.rise = ball.fall = NONE_TICKS;
		send_event(shot->hung ? EVENT_SHOT_HUNG : EVENT_SHOT_BROKE, shot->served,
			   shot->lost);
	}
	ball_buffer[buffered++] = ball;
	sum.balls++;
	sum.misses += ball.fall == NONE_TICKS;
	unanswered = ball.fall == NONE_TICKS ? unanswered + 1 : 0;
	if (buffered == BALLS_A_FRAME)
		flush_balls();
}

static _Noreturn void end_shot(int64_t now)
{
	shots_decided();
}

/* In QEMU itself: what is over is kept, in the order of the instants. */
static void keep_shots(bool all)
{
	const struct shot *shot;

	while ((shot = shots_take(all || shots_are_full())))
		keep_shot(shot);
}

static void serve_ball(int64_t now);

static enum shots_how begin_shot(int64_t now, int64_t when)
{
	enum shots_how how;

	keep_shots(false);
	if (unanswered >= GIVE_UP_BALLS) {
		shots_end();
		end_rally(NO_ANSWER, now);
	}
	machine_shot = shots_begun(); /* before: memory.c asks while the child begins */
	how = shots_fork(when, fd);
	if (how != IN_CHILD)
		machine_shot = -1;
	if (how == REFUSED) {
		keep_shots(true);
		flush_balls();
		_exit(3);
	}
	return how;
}

static void all_are_begun(int64_t now)
{
	keep_shots(true);
	complete(now);
}

static void shoot(int64_t now)
{
	if (begin_shot(now, now) == IN_CHILD)
		serve_ball(now);
	else if (shots_all_begun())
		all_are_begun(now);
	else
		serve_at(shots_instant());
}

/*
 * Several processors: a deadline of an instant's would end a processor's turn in the run that goes
 * on. So a child begins before its instant, where a deadline came anyway, and it alone has one.
 */
static void shoot_ahead(int64_t now, int64_t until)
{
	while (!shots_all_begun() && shots_instant() <= until) {
		if (begin_shot(now, shots_instant()) == IN_CHILD) {
			processors_tell_passing(NULL);
			serve_at(shots_instant());
			return;
		}
	}
	if (shots_all_begun()) {
		processors_tell_passing(NULL);
		all_are_begun(now);
	}
}

static void shoot_there(void *cpu, uint64_t data)
{
	shoot(machine_now());
}

static void serve(int64_t now)
{
	if (!shots_are_played() || shots_in_child())
		serve_ball(now);
	else if (qemu_in_vcpu_thread())
		shoot(now);
	else /* a child has the thread that forks, and no other */
		async_run_on_cpu(qemu_get_cpu(0), shoot_there, 0);
}

static void serve_ball(int64_t now)
{
	if (state == SERVED || state == RAISED)
		close_ball(now); /* open loop: the next ball does not wait */
	if (state == ENDED)
		return;
	served_at = now;
	/* a deadline that is due within an instruction is met after it, and is not late */
	if (now - due_at >= instruction + machine_lag_ns) {
		sum.late_serves++;
		send_event(EVENT_LATE_SERVE, now, now - due_at);
	} else if (now - due_at >= instruction) {
		served_at = due_at; /* the line rose while the processor waited for its memory */
	}
	current = (struct ball){ served_at, NONE_TICKS, NONE_TICKS };
	state = SERVED;
	places_served();
	machine_set_ping(now, true);
	deadline_set(&pulse_end, now + pulse);
	deadline_set(&timeout_end, now + timeout);
	if (period)
		serve_at(due_at + period);
}

static void end_pulse(int64_t now)
{
	machine_set_ping(now, false);
}

static void time_out(int64_t now)
{
	close_ball(now);
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

/* A pulse that nobody asked for, of a target that measures itself. */
static void hear(int64_t now, bool up)
{
	if (up) {
		current = (struct ball){ now, 0, NONE_TICKS };
		deadline_set(&silence_end, now + give_up);
		return;
	}
	if (!current.served)
		return; /* it was up before anybody listened */
	current.fall = now - current.served < NONE_TICKS ? now - current.served : NONE_TICKS;
	sum.misses += current.fall == NONE_TICKS;
	ball_buffer[buffered++] = current;
	current.served = 0;
	if (buffered == BALLS_A_FRAME)
		flush_balls();
	if (++sum.balls == balls) {
		deadline_clear(&silence_end);
		complete(now);
	}
}

/* What the reply line is, an instruction after it became so: never while its chip is at work. */
static void pass_on(int64_t now)
{
	machine_set_ping(now, machine_reply_is_up());
}

static _Noreturn void silent(int64_t now)
{
	end_rally(NO_ANSWER, now);
}

static void reply_edge(int64_t now, bool up)
{
	if (loop_back)
		deadline_set(&wire_end, now + instruction);
	if (state == LISTENING) {
		hear(now, up);
		return;
	}
	if (state == COLD || state == ENDED)
		return; /* a line that is up before the rally is no surprise later */
	if (state == SERVED && up) {
		current.rise = now - served_at;
		state = RAISED;
		counted_up = false;
		places_rose();
	} else if (state == RAISED && !up) {
		current.fall = now - served_at;
		places_fell(); /* before the ball is closed: it may be the last */
		close_ball(now);
	} else {
		count_edge(now, up);
		counted_up = up;
	}
}

static void ready(int64_t now)
{
	deadline_clear(&ready_end);
	send_event(EVENT_READY, now, 0);
	if (listen) {
		state = LISTENING;
		deadline_set(&silence_end, now + give_up);
		return;
	}
	state = IDLE;
	if (shots >= 0) {
		shots_read(shots, absolute ? 0 : now + settle, now, children, child_limit);
		if (processors_count() > 1)
			processors_tell_passing(shoot_ahead);
		else
			serve_at(shots_instant());
		return;
	}
	serve_at(now + settle + (period ? 0 : next_gap()));
}

static _Noreturn void never_ready(int64_t now)
{
	end_rally(NEVER_READY, now);
}

static void connected(int64_t now)
{
	deadline_set(&ready_end, ready_timeout);
}

static void say_hello(void)
{
	char hello[256];
	int length;

	if (fd < 0)
		fail("no file descriptor to write to (fd=)");
	length = snprintf(hello, sizeof(hello),
			  "{\"instrument\": \"virtual\", \"firmware\": \"%s\", \"tick_hz\": %d}",
			  FIRMWARE_VERSION, 1000000000);
	send_frame(HELLO, hello, length);
}

static void ended(int64_t now)
{
	if (shots_are_played() && state != ENDED) {
		keep_shots(false);
		shots_end();
	}
	if (state != ENDED)
		end_rally(TARGET_ENDED, now);
	end_qemu(now);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	static const struct instrument instrument = {
		.name = "instrument",
		.parameters = parameters,
		.installed = say_hello,
		.connected = connected,
		.ready = ready,
		.reply = reply_edge,
		.ended = ended,
	};

	return machine_install(id, argc, argv, &instrument);
}
