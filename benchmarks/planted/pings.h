/* Both lines by the kernel's GPIO character device: on the bench they are lines 0 and 1. */
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static inline int take_line(int offset, uint64_t flags)
{
	int chip = open("/dev/gpiochip0", O_RDWR | O_CLOEXEC);
	struct gpio_v2_line_request request = {};

	request.num_lines = 1;
	request.offsets[0] = offset;
	request.config.flags = flags;
	if (ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request))
		exit(1);
	close(chip);
	return request.fd;
}

static inline int take_reply(void)
{
	return take_line(1, GPIO_V2_LINE_FLAG_OUTPUT);
}

static inline int take_ping(void)
{
	return take_line(0, GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING);
}

/* Return the kernel's time of the ping, in ns. */
static inline int64_t wait_for_ping(int ping)
{
	struct gpio_v2_line_event event;

	if (read(ping, &event, sizeof(event)) != sizeof(event))
		exit(1);
	return event.timestamp_ns;
}

static inline void set_reply(int reply, int value)
{
	struct gpio_v2_line_values values = {};

	values.bits = value;
	values.mask = 1;
	ioctl(reply, GPIO_V2_LINE_SET_VALUES_IOCTL, &values);
}
