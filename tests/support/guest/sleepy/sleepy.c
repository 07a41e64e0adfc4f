/* sleepy - a GPIO chip whose lines can sleep, as those of an I2C expander; nothing is behind it. */
#include <linux/gpio/driver.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static struct platform_device *pdev;

static int sleepy_get(struct gpio_chip *chip, unsigned int line)
{
	return 0;
}

static int sleepy_direction_input(struct gpio_chip *chip, unsigned int line)
{
	return 0;
}

static int sleepy_direction_output(struct gpio_chip *chip, unsigned int line, int value)
{
	return 0;
}

static struct gpio_chip chip = {
	.label = "sleepy",
	.owner = THIS_MODULE,
	.base = -1,
	.ngpio = 2,
	.can_sleep = true,
	.get = sleepy_get,
	.direction_input = sleepy_direction_input,
	.direction_output = sleepy_direction_output,
};

static int __init sleepy_init(void)
{
	pdev = platform_device_register_simple("sleepy", PLATFORM_DEVID_NONE, NULL, 0);
	chip.parent = &pdev->dev;
	return gpiochip_add_data(&chip, NULL);
}
module_init(sleepy_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis tests: GPIO lines that can sleep");
