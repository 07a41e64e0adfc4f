// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * planted - in C++: answers each ping late, for one known reason, and times itself as planted.c does.
 * usage: planted keeper|inherits
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <string>
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

class Keeper {
public:
	explicit Keeper(bool inherits)
	{
		pthread_mutexattr_t attributes;

		pthread_mutexattr_init(&attributes);
		if (inherits)
			pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
		pthread_mutex_init(&records, &attributes);
	}

	void keep()
	{
		become(SCHED_OTHER, 0);
		for (;;) {
			pthread_mutex_lock(&records);
			for (int i = 0; i < 30000; i++)
				counted++;
			pthread_mutex_unlock(&records);
			usleep(150);
		}
	}

	void count()
	{
		pthread_mutex_lock(&records);
		counted++;
		pthread_mutex_unlock(&records);
	}

private:
	pthread_mutex_t records;
};

int main(int argc, char **argv)
{
	static Keeper keeper(argc > 1 && !strcmp(argv[1], "inherits"));
	int64_t latest = 0;
	int reply = take_reply(), ping = take_ping();

	become(SCHED_FIFO, 50);
	std::thread slow(&Keeper::keep, &keeper);
	pthread_setname_np(slow.native_handle(), "slow");
	for (;;) {
		int64_t began = wait_for_ping(ping), ran = now_ns();

		keeper.count();
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
