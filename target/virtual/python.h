/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Python functions of a thread, with their lines: python.c. */
#ifndef TENNIS_PYTHON_H
#define TENNIS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_FRAMES_MAX 128

/* Where CPython has what, by its own table for debuggers: _Py_DebugOffsets of its 3.13. */
struct __attribute__((packed)) python_layout {
	uint64_t runtime, interpreters, threads, next_thread, current;
	uint64_t previous, code, instruction, owner; /* of a frame */
	uint64_t file, name, lines, first_line, instructions; /* of a code object */
	uint64_t bytes_size, bytes, text_state, text_length, text;
};
/* A line of a function; line 0 and no name: it is Python's, and no more is known. */
struct __attribute__((packed)) python_place {
	char name[64], file[128];
	int32_t line;
};
/* A function of C: where its own frame begins on the stack, and whether it runs Python's code. */
struct c_frame {
	uint64_t base;
	bool evaluates;
};
/* A function of Python, and the frame of the C function that runs it; the innermost first. */
struct python_frame {
	uint64_t base;
	int32_t place;
};
/* What was found last: as long as a thread is at one instruction, its callers stay. */
struct python_cache {
	uint64_t base, thread, at[3];
	struct python_frame frames[PYTHON_FRAMES_MAX];
	size_t count;
};

extern struct python_layout python_layout; /* runtime 0: there is no Python */
struct lane;
void python_finds(const struct lane *lane, const struct c_frame *frames, size_t count,
		  struct python_cache *found);
/* The places that are new since the last call; their numbers go on. */
const struct python_place *python_places(size_t *count);

#endif
