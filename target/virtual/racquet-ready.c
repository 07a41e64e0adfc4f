// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * racquet-ready - raises the third line of the virtual machine's GPIO chip, to tell the instrument
 * outside that it may serve. A wire and not a message: the time of an edge is exact and repeats.
 */
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHIP_LABEL "9030000.pl061"
#define READY_LINE 2

int main(void)
{
	for (int i = 0; i < 16; i++) {
		struct gpiochip_info info = { 0 };
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
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "/dev/gpiochip%d", i);
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		if (!ioctl(fd, GPIO_GET_CHIPINFO_IOCTL, &info) && !strcmp(info.label, CHIP_LABEL)) {
			if (!ioctl(fd, GPIO_V2_GET_LINE_IOCTL, &request))
				return 0;
			perror("racquet-ready: " CHIP_LABEL);
			return 1;
		}
		close(fd);
	}
	fprintf(stderr, "racquet-ready: no GPIO chip " CHIP_LABEL "\n");
	return 1;
}
