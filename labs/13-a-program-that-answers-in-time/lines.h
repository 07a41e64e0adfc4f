// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both lines of the game, by the kernel's GPIO character device (linux/gpio.h, version 2): no
 * library, no module. They are found by the names that a Raspberry Pi gives them.
 */
#ifndef LINES_H
#define LINES_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PING "GPIO17"
#define REPLY "GPIO27"

/* Say what failed, and why, and end. */
static inline _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Return the offset of a named line on a chip; -1: it has none of that name. */
static inline int offset_of(int chip, const char *name)
{
	struct gpiochip_info about = { 0 };

	if (ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, &about))
		return -1;
	for (unsigned int offset = 0; offset < about.lines; offset++) {
		struct gpio_v2_line_info line = { .offset = offset };

		if (!ioctl(chip, GPIO_V2_GET_LINEINFO_IOCTL, &line) && !strcmp(line.name, name))
			return offset;
	}
	return -1;
}

/* Take a line by its name, on whichever chip it is, and return its file descriptor. */
static inline int take(const char *name, __u64 flags)
{
	struct gpio_v2_line_request request = { .num_lines = 1, .config.flags = flags };
	DIR *devices = opendir("/dev");
	struct dirent *entry;

	snprintf(request.consumer, sizeof(request.consumer), "answer");
	while (devices && (entry = readdir(devices))) {
		char path[300];
		int chip, offset;

		if (strncmp(entry->d_name, "gpiochip", strlen("gpiochip")))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		chip = open(path, O_RDWR | O_CLOEXEC);
		if (chip < 0)
			fail(path);
		offset = offset_of(chip, name);
		if (offset >= 0) {
			request.offsets[0] = offset;
			if (ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request))
				fail(name);
			closedir(devices);
			close(chip);
			return request.fd;
		}
		close(chip);
	}
	errno = ENODEV;
	fail(name);
}

/* Take the reply line, which is low then. */
static inline int take_reply(void)
{
	return take(REPLY, GPIO_V2_LINE_FLAG_OUTPUT);
}

/* Take the ping line, of which each rising edge is an event to read. */
static inline int take_ping(void)
{
	int ping = take(PING, GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING);

	printf("waits for " PING ", answers on " REPLY "\n");
	fflush(stdout);
	return ping;
}

/* Wait for a ping. */
static inline void wait_for(int ping)
{
	struct gpio_v2_line_event event;

	if (read(ping, &event, sizeof(event)) != sizeof(event))
		fail(PING);
}

static inline void set(int reply, int value)
{
	struct gpio_v2_line_values values = { .bits = value, .mask = 1 };

	if (ioctl(reply, GPIO_V2_LINE_SET_VALUES_IOCTL, &values))
		fail(REPLY);
}

/* The reply rises and falls. */
static inline void answer(int reply)
{
	set(reply, 1);
	set(reply, 0);
}

#endif
