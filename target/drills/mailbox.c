// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * mailbox - what it costs to put a message into a mailbox that nobody waits for: tables 15 and 16 of
 * Arm, Bradac, Kaczmarczyk (2016). A POSIX queue in user space. Linux' kernel has no mailbox; a
 * kfifo with its lock is what drivers use in the place of one.
 *
 * A repetition begins before the message is sent and ends behind that; the line is up meanwhile. It
 * is received before the next one, a period later.
 */
#define DRILL_PREPARE
#include "drill.h"

#define MAILBOX_BYTES 32
#define MAILBOX_MESSAGES 8

static char mailbox_message[MAILBOX_BYTES];

#ifdef __KERNEL__
#include <linux/kfifo.h>

static DEFINE_KFIFO(mailbox, char, MAILBOX_BYTES *MAILBOX_MESSAGES);
static DEFINE_SPINLOCK(mailbox_lock);

static int drill_prepare(void)
{
	return 0;
}

static void drill_release(void)
{
}

static inline void mailbox_send(void)
{
	kfifo_in_spinlocked(&mailbox, mailbox_message, MAILBOX_BYTES, &mailbox_lock);
}

static inline void mailbox_receive(void)
{
	unsigned int got;

	got = kfifo_out_spinlocked(&mailbox, mailbox_message, MAILBOX_BYTES, &mailbox_lock);
	WARN_ON_ONCE(got != MAILBOX_BYTES);
}
#else
#include <mqueue.h>

static mqd_t mailbox;

static int drill_prepare(void)
{
	struct mq_attr attributes = { .mq_maxmsg = MAILBOX_MESSAGES, .mq_msgsize = MAILBOX_BYTES };

	mailbox = mq_open("/tennis-drill", O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attributes);
	if (mailbox == (mqd_t)-1)
		return -1;
	return mq_unlink("/tennis-drill"); /* it stays until it is closed */
}

static inline void mailbox_send(void)
{
	mq_send(mailbox, mailbox_message, MAILBOX_BYTES, 0);
}

static inline void mailbox_receive(void)
{
	if (mq_receive(mailbox, mailbox_message, MAILBOX_BYTES, NULL) != MAILBOX_BYTES)
		drill_fail("a message that was sent did not come");
}
#endif

static void drill_run(void)
{
	u64 now_ns = drill_now();
	u64 next_ns = now_ns;
	u64 begin_ns;

	while (drill.done < drill.repetitions) {
		next_ns = drill_next(next_ns, now_ns);
		drill_sleep_until(next_ns);
		drill_line(1);
		begin_ns = drill_now();
		mailbox_send();
		now_ns = drill_now();
		drill_line(0);
		drill_keep(begin_ns, now_ns);
		mailbox_receive();
		now_ns = drill_now();
	}
}
