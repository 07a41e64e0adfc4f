/* What racquet_cobalt uses of Xenomai 3's RTDM; see dovetail.h. */
#ifndef TENNIS_RTDM_DRIVER_H
#define TENNIS_RTDM_DRIVER_H

#include <linux/types.h>

#define RTDM_IRQTYPE_EDGE 2
#define RTDM_IRQ_HANDLED 1
#define RTDM_TASK_HIGHEST_PRIORITY 99

typedef struct rtdm_irq {
	void *cookie;
} rtdm_irq_t;

typedef struct rtdm_event {
	int unused;
} rtdm_event_t;

typedef struct rtdm_task {
	int unused;
} rtdm_task_t;

#define rtdm_irq_get_arg(irq_handle, type) ((type *)(irq_handle)->cookie)

int realtime_core_enabled(void);
int rtdm_irq_request(rtdm_irq_t *irq_handle, unsigned int irq_no, int (*handler)(rtdm_irq_t *),
		     unsigned long flags, const char *device_name, void *arg);
int rtdm_irq_free(rtdm_irq_t *irq_handle);
void rtdm_event_init(rtdm_event_t *event, unsigned long pending);
int rtdm_event_wait(rtdm_event_t *event);
void rtdm_event_signal(rtdm_event_t *event);
void rtdm_event_destroy(rtdm_event_t *event);
int rtdm_task_init(rtdm_task_t *task, const char *name, void (*task_proc)(void *arg), void *arg,
		   int priority, s64 period);
int rtdm_task_should_stop(void);
void rtdm_task_destroy(rtdm_task_t *task);

#endif /* TENNIS_RTDM_DRIVER_H */
