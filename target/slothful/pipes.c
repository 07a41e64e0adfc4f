/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* SLOTH's ends of the pipes. What Linux wrote is not trusted: its numbers are bounded here. */
#include "slothful.h"

bool WritePipe(uint64_t rise, uint64_t fall)
{
	static uint64_t number;
	static unsigned int head; /* what Linux reads is a copy: it may write there what it likes */
	volatile struct sloth_pipe *pipe = &shared->to_linux;
	volatile struct sloth_record *record = &pipe->record[head];
	unsigned int next = (head + 1) % PIPE_RECORDS;

	number++;
	if (next == pipe->tail) {
		pipe->overruns++;
		return false;
	}
	record->number = number;
	record->rise = rise;
	record->fall = fall;
	record->check = number + rise + fall;
	__asm__ volatile("dmb sy" ::: "memory");
	head = next;
	pipe->head = head;
	inject(PIPE_LINE);
	return true;
}

bool ReadPipe(struct sloth_record *record)
{
	static unsigned int tail;
	volatile struct sloth_pipe *pipe = &shared->from_linux;
	volatile struct sloth_record *next = &pipe->record[tail];

	if (pipe->head % PIPE_RECORDS == tail)
		return false;
	__asm__ volatile("dmb sy" ::: "memory");
	record->number = next->number;
	record->rise = next->rise;
	record->fall = next->fall;
	record->check = next->check;
	__asm__ volatile("dmb sy" ::: "memory");
	tail = (tail + 1) % PIPE_RECORDS;
	pipe->tail = tail;
	return true;
}
