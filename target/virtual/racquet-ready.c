// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet-ready - raises the third line of the virtual machine's GPIO chip, to tell the instrument
 * outside that it may serve. A wire and not a message: the time of an edge is exact and repeats.
 * What the target's own clock says then is told, so that both clocks can be compared.
 *
 * racquet-ready over - waits until the instrument raises the fifth line: the last ball is decided.
 * Until then it sleeps, and costs nothing.
 */
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define CHIP_LABEL "9030000.pl061"
#define READY_LINE 2
#define OVER_LINE 4

static int open_chip(void)
{
	for (int i = 0; i < 16; i++) {
		struct gpiochip_info info = { 0 };
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "/dev/gpiochip%d", i);
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		if (!ioctl(fd, GPIO_GET_CHIPINFO_IOCTL, &info) && !strcmp(info.label, CHIP_LABEL))
			return fd;
		close(fd);
	}
	return -1;
}

static int raise_ready(int chip)
{
	struct gpio_v2_line_request request = {
		.offsets = { READY_LINE },
		.consumer = "racquet-ready",
		.num_lines = 1,
		.config = {
			.flags = GPIO_V2_LINE_FLAG_OUTPUT,
			.num_attrs = 1,
			.attrs = { {
				.attr = {
					.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES,
					.values = 1,
				},
				.mask = 1,
			} },
		},
	};

	return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request);
}

static int wait_for_over(int chip)
{
	struct gpio_v2_line_request request = {
		.offsets = { OVER_LINE },
		.consumer = "racquet-ready over",
		.num_lines = 1,
		.config.flags = GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING,
	};
	struct gpio_v2_line_event event;

	if (ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request))
		return -1;
	return read(request.fd, &event, sizeof(event)) == sizeof(event) ? 0 : -1;
}

int main(int argc, char **argv)
{
	bool over = argc == 2 && !strcmp(argv[1], "over");
	int chip = open_chip();
	struct timespec now;

	if (argc > 1 && !over) {
		fprintf(stderr, "usage: racquet-ready [over]\n");
		return 2;
	}
	if (chip < 0) {
		fprintf(stderr, "racquet-ready: no GPIO chip " CHIP_LABEL "\n");
		return 1;
	}
	if (over ? wait_for_over(chip) : raise_ready(chip)) {
		perror("racquet-ready: " CHIP_LABEL);
		return 1;
	}
	if (!over && !clock_gettime(CLOCK_MONOTONIC, &now))
		printf("tennis: fact ready_monotonic_ns %lld%09ld\n", (long long)now.tv_sec,
		       now.tv_nsec);
	return 0;
}
