/*
 * faulty - a Racquet that makes known mistakes, to test the instrument with. Ball N of ten:
 * 2 no answer; 4 a rise and no fall until 300 ms later; 6 a whole answer 300 ms late;
 * 8 two answers; all others: one answer at once.
 */
#include <linux/delay.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static char *bottom_half, *gpiochip;
static uint ping_line, reply_line;
module_param(bottom_half, charp, 0444);
module_param(gpiochip, charp, 0444);
module_param(ping_line, uint, 0444);
module_param(reply_line, uint, 0444);

static struct gpio_desc *ping, *reply;
static unsigned int balls;

static irqreturn_t faulty_thread(int irq, void *data)
{
	unsigned int which = balls++ % 10;

	if (which == 2)
		return IRQ_HANDLED;
	if (which == 6)
		msleep(300);
	gpiod_set_value(reply, 1);
	if (which == 4)
		msleep(300);
	gpiod_set_value(reply, 0);
	if (which == 8) {
		udelay(20);
		gpiod_set_value(reply, 1);
		udelay(20);
		gpiod_set_value(reply, 0);
	}
	return IRQ_HANDLED;
}

static int faulty_probe(struct platform_device *pdev)
{
	ping = devm_gpiod_get(&pdev->dev, "ping", GPIOD_IN);
	if (IS_ERR(ping))
		return PTR_ERR(ping);
	reply = devm_gpiod_get(&pdev->dev, "reply", GPIOD_OUT_LOW);
	if (IS_ERR(reply))
		return PTR_ERR(reply);
	return devm_request_threaded_irq(&pdev->dev, gpiod_to_irq(ping), NULL, faulty_thread,
					 IRQF_TRIGGER_RISING | IRQF_ONESHOT, "faulty", NULL);
}

static struct platform_driver faulty_driver = {
	.probe = faulty_probe,
	.driver = { .name = "racquet" },
};

static struct gpiod_lookup_table lookup = {
	.dev_id = "racquet",
	.table = { GPIO_LOOKUP("9030000.pl061", 0, "ping", GPIO_ACTIVE_HIGH),
		   GPIO_LOOKUP("9030000.pl061", 1, "reply", GPIO_ACTIVE_HIGH),
		   {} },
};

static int __init faulty_init(void)
{
	gpiod_add_lookup_table(&lookup);
	platform_device_register_simple("racquet", PLATFORM_DEVID_NONE, NULL, 0);
	return platform_driver_register(&faulty_driver);
}
module_init(faulty_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tennis tests: a Racquet with known mistakes");
