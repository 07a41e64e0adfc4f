// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * planted - in C++: answers each ping late, for one known reason, and times itself as planted.c does.
 * usage: planted standard|inherits
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>

#include "pings.h"

static volatile unsigned long counted;

static int64_t now_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void become(int policy, int priority)
{
	sched_param param = {};

	param.sched_priority = priority;
	pthread_setschedparam(pthread_self(), policy, &param);
}

namespace stock
{
std::mutex shelf;

void fill()
{
	become(SCHED_OTHER, 0);
	for (;;) {
		shelf.lock();
		for (int i = 0; i < 25000; i++)
			counted++;
		shelf.unlock();
		usleep(120);
	}
}

void __attribute__((noinline)) take()
{
	std::lock_guard<std::mutex> held(shelf);

	counted++;
}
} // namespace stock

int main(int argc, char **argv)
{
	int64_t latest = 0;
	int reply = take_reply(), ping = take_ping();
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (argc > 1 && !strcmp(argv[1], "inherits"))
		pthread_mutex_init(stock::shelf.native_handle(), &attributes);
	become(SCHED_FIFO, 50);
	std::thread slow(stock::fill);
	for (;;) {
		int64_t began = wait_for_ping(ping), ran = now_ns();

		stock::take();
		int64_t answered = now_ns();
		set_reply(reply, 1);
		set_reply(reply, 0);
		if (answered - began > latest) {
			latest = answered - began;
			printf("ran %lld took %lld\n", (long long)(ran - began),
			       (long long)(answered - ran));
			fflush(stdout);
		}
	}
}
