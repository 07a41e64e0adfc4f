// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which functions of Python a thread is in, and on which lines, read from its memory.
 *
 * The interpreter has a list of threads, and each has a chain of frames. Where a C function begins to
 * run Python's code, the chain has a frame that lies on the C stack. So a thread of the list is the one
 * that runs if the first of these lies in the innermost such function of the stack, and no other is.
 * A function that comes or goes just then has no place.
 */
#include "python.h"

#include <stdlib.h>
#include <string.h>

#include "lanes.h"

#define THREADS_MAX 256
#define PLACES_MAX (1 << 16)
#define ON_C_STACK 3 /* owner of a frame */
#define COMPACT_ASCII 3 /* two bits of a text's state, behind the first five */
/* how an entry of a table of lines is written, in its first byte (code.h: PY_CODE_LOCATION_INFO_...) */
enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

struct python_layout python_layout;

static const struct python_layout *const in = &python_layout;
static struct known {
	uint64_t code, at, name, lines;
} known[PLACES_MAX];
static struct python_place places[PLACES_MAX];
static size_t place_count, place_told;

static uint64_t word(const struct lane *lane, uint64_t address)
{
	uint64_t value = 0;

	return lane_reads(lane, address, &value, sizeof(value)) ? value : 0;
}

static void read_text(const struct lane *lane, uint64_t object, char *into, size_t room)
{
	uint64_t length = word(lane, object + in->text_length);
	uint32_t state = 0;
	size_t shown = length < room ? length : room - 1;

	lane_reads(lane, object + in->text_state, &state, sizeof(state));
	if ((state >> 5 & 3) != COMPACT_ASCII ||
	    !lane_reads(lane, object + in->text + length - shown, into, shown))
		shown = 0;
	into[shown] = 0;
}

static int32_t signed_number(const uint8_t *at, const uint8_t *end)
{
	uint32_t value = 0;

	for (int shift = 0; at < end && shift < 30; shift += 6) {
		value |= (*at & 63u) << shift;
		if (!(*at++ & 64))
			break;
	}
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* The line of an instruction, in bytes from the first one; 0: it has none. */
static int32_t line_of(const struct lane *lane, uint64_t table, uint64_t first, uint64_t at)
{
	static uint8_t bytes[1 << 16];
	uint64_t size = word(lane, table + in->bytes_size), ends = 0;
	const uint8_t *end = bytes + size;
	int32_t line = 0;

	if (size > sizeof(bytes) || !lane_reads(lane, first, &line, sizeof(line)) ||
	    !lane_reads(lane, table + in->bytes, bytes, size))
		return 0;
	for (const uint8_t *entry = bytes; entry < end && *entry & 0x80;) {
		int kind = *entry >> 3 & 15;

		ends += 2 * ((*entry++ & 7) + 1);
		if (kind == NO_COLUMNS || kind == LONG)
			line += signed_number(entry, end);
		else if (kind >= ONE_LINE && kind < NO_COLUMNS)
			line += kind - ONE_LINE;
		if (at < ends)
			return kind == NO_LINE ? 0 : line;
		while (entry < end && !(*entry & 0x80))
			entry++;
	}
	return 0;
}

static int32_t place_of(const struct lane *lane, uint64_t frame)
{
	uint64_t code = word(lane, frame + in->code);
	struct known wanted = { code, word(lane, frame + in->instruction) - code - in->instructions,
				word(lane, code + in->name), word(lane, code + in->lines) };
	struct python_place *place = &places[place_count];

	for (size_t p = place_count; p--;) {
		if (!memcmp(&known[p], &wanted, sizeof(wanted)))
			return p;
	}
	if (place_count == PLACES_MAX)
		fail("more lines of Python than can be kept");
	known[place_count] = wanted;
	read_text(lane, wanted.name, place->name, sizeof(place->name));
	read_text(lane, word(lane, code + in->file), place->file, sizeof(place->file));
	place->line = line_of(lane, wanted.lines, code + in->first_line, wanted.at);
	return place_count++;
}

static size_t evaluation(const struct c_frame *frames, size_t count, size_t from)
{
	while (from < count && !frames[from].evaluates)
		from++;
	return from;
}

/* Fill in the frames of a thread; none: it is another one that runs. */
static size_t frames_of(const struct lane *lane, uint64_t frame, const struct c_frame *frames,
			size_t count, struct python_frame *found)
{
	size_t eval = evaluation(frames, count, 0), n = 0, whole = 0;
	uint8_t owner;

	while (frame && n < PYTHON_FRAMES_MAX && eval < count &&
	       lane_reads(lane, frame + in->owner, &owner, sizeof(owner))) {
		if (owner != ON_C_STACK)
			found[n++].base = frame;
		else if (frame < frames[eval].base ||
			 (eval + 1 < count && frame >= frames[eval + 1].base))
			break;
		else {
			for (; whole < n; whole++) {
				found[whole].place = place_of(lane, found[whole].base);
				found[whole].base = frames[eval].base;
			}
			eval = evaluation(frames, count, eval + 1);
		}
		frame = word(lane, frame + in->previous);
	}
	return whole;
}

/* Where a thread is now: its frame, the frame's code and instruction. */
static void read_at(const struct lane *lane, uint64_t thread, uint64_t at[3])
{
	at[0] = word(lane, thread + in->current);
	at[1] = word(lane, at[0] + in->code);
	at[2] = word(lane, at[0] + in->instruction);
}

void python_finds(const struct lane *lane, const struct c_frame *frames, size_t count,
		  struct python_cache *found)
{
	size_t eval = evaluation(frames, count, 0);
	uint64_t thread, at[3];

	if (!in->runtime || eval == count) {
		found->count = 0;
		return;
	}
	if (found->count && found->base == frames[eval].base) {
		read_at(lane, found->thread, at);
		if (!memcmp(at, found->at, sizeof(at)))
			return;
	}
	found->count = 0;
	thread = word(lane, word(lane, in->runtime + in->interpreters) + in->threads);
	for (int t = 0; thread && t < THREADS_MAX && !found->count; t++) {
		read_at(lane, thread, found->at);
		found->thread = thread;
		found->count = frames_of(lane, found->at[0], frames, count, found->frames);
		thread = word(lane, thread + in->next_thread);
	}
	found->base = frames[eval].base;
}

const struct python_place *python_places(size_t *count)
{
	const struct python_place *fresh = &places[place_told];

	*count = place_count - place_told;
	place_told = place_count;
	return fresh;
}
