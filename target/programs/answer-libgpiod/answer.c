// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * answer - answers each ping by libgpiod, version 2: its reply rises, and falls.
 *
 * Before the first ping it locks its memory and takes a real-time priority.
 */
#include <errno.h>
#include <gpiod.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PING "GPIO17"
#define REPLY "GPIO27"
#define PRIORITY 50 /* as the kernel's threads of interrupts have */
#define CHIPS 16

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Take a line by its name, on whichever chip it is; *offset: where it is there. */
static struct gpiod_line_request *take(const char *name, struct gpiod_line_settings *settings,
				       unsigned int *offset)
{
	struct gpiod_request_config *consumer = gpiod_request_config_new();
	struct gpiod_line_config *config = gpiod_line_config_new();

	if (!consumer || !config)
		fail("no memory");
	gpiod_request_config_set_consumer(consumer, "answer");
	for (int number = 0; number < CHIPS; number++) {
		struct gpiod_line_request *request;
		struct gpiod_chip *chip;
		char path[32];
		int found;

		snprintf(path, sizeof(path), "/dev/gpiochip%d", number);
		chip = gpiod_chip_open(path);
		if (!chip)
			continue;
		found = gpiod_chip_get_line_offset_from_name(chip, name);
		if (found < 0) {
			gpiod_chip_close(chip);
			continue;
		}
		*offset = found;
		if (gpiod_line_config_add_line_settings(config, offset, 1, settings))
			fail(name);
		request = gpiod_chip_request_lines(chip, consumer, config);
		if (!request)
			fail(name);
		gpiod_chip_close(chip);
		gpiod_line_config_free(config);
		gpiod_request_config_free(consumer);
		return request;
	}
	errno = ENODEV;
	fail(name);
}

static void set(struct gpiod_line_request *reply, unsigned int offset, enum gpiod_line_value value)
{
	if (gpiod_line_request_set_value(reply, offset, value))
		fail(REPLY);
}

int main(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	struct gpiod_line_settings *settings = gpiod_line_settings_new();
	struct gpiod_edge_event_buffer *events = gpiod_edge_event_buffer_new(1);
	struct gpiod_line_request *ping, *reply;
	unsigned int ping_offset, reply_offset;

	if (!settings || !events)
		fail("no memory");
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("cannot lock its memory");
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("cannot take a real-time priority");
	gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_OUTPUT);
	reply = take(REPLY, settings, &reply_offset);
	gpiod_line_settings_reset(settings);
	gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_INPUT);
	gpiod_line_settings_set_edge_detection(settings, GPIOD_LINE_EDGE_RISING);
	ping = take(PING, settings, &ping_offset);
	printf("waits for " PING ", answers on " REPLY "; libgpiod %s\n", gpiod_api_version());
	fflush(stdout);
	for (;;) {
		if (gpiod_line_request_read_edge_events(ping, events, 1) != 1)
			fail(PING);
		set(reply, reply_offset, GPIOD_LINE_VALUE_ACTIVE);
		set(reply, reply_offset, GPIOD_LINE_VALUE_INACTIVE);
	}
}
