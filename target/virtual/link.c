// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The link to an instrument that is another program: the emulated Pico with the real Brickwall.
 *
 * Both keep one common time. The Pico says how long its ping line cannot change (the horizon), and
 * the guest runs that far, or to its next edge on the reply line; then it stands still until the
 * Pico has followed and given the next horizon. So neither ever hears of anything late.
 *
 * Messages are 16 bytes, little endian: time u64 (ns of virtual time), kind u32, value u32. READY,
 * REPLY (value: the level), REACHED (value: by how many ns the horizon was missed) and END (value:
 * the reason, as in wire.py) go to the Pico. To each but END it answers GO (time: the horizon, all
 * ones if there is none; value: the ping line's level from now on) or QUIT.
 *
 * Nobody tells the guest when the last ball is over. So each ball of a target with several
 * processors brings a file up to date that says where balls were answered. The host reads it at the
 * end.
 *
 * Parameters: to_pico from_pico places (file descriptors) timeout ready_timeout (ns), and those of
 * machine.c.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "machine.h"
#include "places.h"

enum { READY = 1, REPLY, REACHED, END }; /* to the Pico */
enum { GO = 1, QUIT }; /* from the Pico */
enum { TARGET_ENDED = 2, NEVER_READY };

struct __attribute__((packed)) message {
	uint64_t when;
	uint32_t kind, value;
};

static int64_t to_pico = -1, from_pico = -1, places = -1;
static int64_t timeout = 200000000, ready_timeout = 120000000000;
static const struct parameter parameters[] = {
	{ "to_pico", &to_pico }, { "from_pico", &from_pico },	      { "places", &places },
	{ "timeout", &timeout }, { "ready_timeout", &ready_timeout }, { 0 },
};

static bool playing;
static enum { NOTHING, A_RISE, A_FALL } awaited; /* of the reply line, to complete a ball */
static int64_t horizon_at, served_at;

static void reached(int64_t now);
static _Noreturn void never_ready(int64_t now);
static struct deadline horizon = { .met = reached }, ready_end = { .met = never_ready };

static void tell(uint32_t kind, int64_t now, uint32_t value)
{
	struct message message = { now, kind, value };

	write_all(to_pico, &message, sizeof(message));
}

/* Waits: virtual time stands still meanwhile. */
static struct message hear(void)
{
	struct message message;

	for (size_t at = 0; at < sizeof(message);) {
		ssize_t got = read(from_pico, (char *)&message + at, sizeof(message) - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			_exit(1); /* the Pico has gone */
		at += got;
	}
	return message;
}

static void keep_places(void)
{
	size_t size;
	const struct place *told = places_told(&size);

	if (size && pwrite(places, told, size, 0) != (ssize_t)size)
		fail("nobody knows where the balls were answered: the file took no record");
}

static void served(int64_t now)
{
	places_served();
	keep_places();
	served_at = now;
	awaited = A_RISE;
}

/* The Pico decides about balls; a reply that it no longer waits for is none of any. */
static void answered(int64_t now, bool up)
{
	if (now - served_at > timeout)
		awaited = NOTHING;
	if (awaited == A_RISE && up) {
		places_rose();
		awaited = A_FALL;
	} else if (awaited == A_FALL && !up) {
		places_fell();
		awaited = NOTHING;
	} else {
		return;
	}
	keep_places(); /* before the Pico hears of the reply: the ball may be the last */
}

static void exchange(uint32_t kind, int64_t now, uint32_t value)
{
	static uint32_t ping;
	struct message answer;

	tell(kind, now, value);
	answer = hear();
	if (answer.kind != GO)
		_exit(0);
	if (answer.value != ping) {
		ping = answer.value;
		if (ping)
			served(now);
		machine_set_ping(now, ping);
	}
	horizon_at = answer.when > INT64_MAX ? NEVER : (int64_t)answer.when;
	deadline_set(&horizon, horizon_at);
}

static void reached(int64_t now)
{
	exchange(REACHED, now, now - horizon_at);
}

static void reply(int64_t now, bool up)
{
	if (!playing)
		return;
	answered(now, up);
	exchange(REPLY, now, up);
}

static void ready(int64_t now)
{
	deadline_clear(&ready_end);
	playing = true;
	exchange(READY, now, 0);
	if (machine_reply_is_up()) /* since before the rally */
		exchange(REPLY, now, true);
}

static _Noreturn void end(int64_t now, uint32_t reason)
{
	tell(END, now, reason);
	_exit(0);
}

static _Noreturn void never_ready(int64_t now)
{
	end(now, NEVER_READY);
}

static void connected(int64_t now)
{
	deadline_set(&ready_end, ready_timeout);
}

static void installed(void)
{
	if (to_pico < 0 || from_pico < 0 || places < 0)
		fail("no file descriptors of the Pico's (to_pico=, from_pico=, places=)");
}

static void ended(int64_t now)
{
	end(now, TARGET_ENDED);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	static const struct instrument instrument = {
		.name = "link",
		.parameters = parameters,
		.installed = installed,
		.connected = connected,
		.ready = ready,
		.reply = reply,
		.ended = ended,
	};

	return machine_install(id, argc, argv, &instrument);
}
