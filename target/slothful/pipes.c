/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/* SLOTH's ends of the pipes. What Linux wrote is not trusted: its numbers are bounded here. */
#include <stdarg.h>

#include "slothful.h"

bool WriteRecord(uint64_t rise, uint64_t fall)
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

bool ReadRecord(struct sloth_record *record)
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

/* --- text --- */
struct text {
	char characters[TEXT_SIZE];
	unsigned int size;
	bool cut;
};

static void put(struct text *text, char character)
{
	if (text->size < TEXT_SIZE)
		text->characters[text->size++] = character;
	else
		text->cut = true;
}

static void put_string(struct text *text, const char *string)
{
	while (*string)
		put(text, *string++);
}

static void put_number(struct text *text, uint64_t value, unsigned int base)
{
	char digits[20]; /* of 2^64 in base 10 */
	unsigned int count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
	} while (value /= base);
	while (count)
		put(text, digits[--count]);
}

static void put_format(struct text *text, const char *format, va_list arguments)
{
	for (; *format; format++) {
		bool wide = false;
		uint64_t value;

		if (*format != '%') {
			put(text, *format);
			continue;
		}
		if (*++format == 'l') {
			wide = true;
			format++;
		}
		switch (*format) {
		case 's':
			put_string(text, va_arg(arguments, const char *));
			break;
		case 'c':
			put(text, (char)va_arg(arguments, int));
			break;
		case 'd':
			value = wide ? (uint64_t)va_arg(arguments, long)
				     : (uint64_t)va_arg(arguments, int);
			if ((int64_t)value < 0) {
				put(text, '-');
				value = -value;
			}
			put_number(text, value, 10);
			break;
		case 'u':
		case 'x':
			value = wide ? va_arg(arguments, unsigned long)
				     : va_arg(arguments, unsigned int);
			put_number(text, value, *format == 'x' ? 16 : 10);
			break;
		case 0: /* the format ends with a % */
			return;
		default: /* %% too */
			put(text, *format);
		}
	}
}

static bool write_text(enum pipe number, const struct text *text)
{
	static unsigned int numbers[TEXT_PIPES], heads[TEXT_PIPES];
	volatile struct sloth_text_pipe *pipe = &shared->text[number];
	unsigned int head = heads[number], next = (head + 1) % PIPE_RECORDS;
	volatile struct sloth_text *record = &pipe->record[head];

	numbers[number]++;
	if (text->cut)
		shared->figures.cut++;
	if (next == pipe->tail) {
		pipe->overruns++;
		return false;
	}
	record->number = numbers[number];
	record->size = text->size;
	for (unsigned int n = 0; n < text->size; n++)
		record->text[n] = text->characters[n];
	__asm__ volatile("dmb sy" ::: "memory");
	heads[number] = next;
	pipe->head = next;
	inject(PIPE_LINE);
	return true;
}

bool WritePipe(enum pipe pipe, const char *text)
{
	struct text whole = { .size = 0 };

	put_string(&whole, text);
	return write_text(pipe, &whole);
}

bool WritefPipe(enum pipe pipe, const char *format, ...)
{
	struct text whole = { .size = 0 };
	va_list arguments;

	va_start(arguments, format);
	put_format(&whole, format, arguments);
	va_end(arguments);
	return write_text(pipe, &whole);
}

/* What is formatted is the caller's own: only the pipe is locked. */
static bool write_locked(enum pipe pipe, unsigned int ceiling, const struct text *text)
{
	uint32_t before = GetResource(ceiling);
	bool written = write_text(pipe, text);

	ReleaseResource(before);
	return written;
}

bool WritePipeLocked(enum pipe pipe, unsigned int ceiling, const char *text)
{
	struct text whole = { .size = 0 };

	put_string(&whole, text);
	return write_locked(pipe, ceiling, &whole);
}

bool WritefPipeLocked(enum pipe pipe, unsigned int ceiling, const char *format, ...)
{
	struct text whole = { .size = 0 };
	va_list arguments;

	va_start(arguments, format);
	put_format(&whole, format, arguments);
	va_end(arguments);
	return write_locked(pipe, ceiling, &whole);
}
