// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT
/*
 * switches - what Linux gets done: ns for a byte to another process and back (two context switches),
 * for a system call, how late a sleep of 100 us ends, and for a process that is made, writes to 32
 * pages and ends, as the load stress has it; medians, by CLOCK_MONOTONIC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 4000
#define PAGES 32

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	return (*(const long long *)a > *(const long long *)b) -
	       (*(const long long *)a < *(const long long *)b);
}

static void tell(const char *what, long long *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	printf("switches: %s %lld\n", what, ns[ROUNDS / 2]);
}

int main(void)
{
	static long long ns[ROUNDS];
	int there[2], back[2];
	char byte = 0;

	if (pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(there[0]);
	for (int n = 0; n < ROUNDS; n++) {
		long long began = now();

		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
		ns[n] = now() - began;
	}
	tell("round_trip", ns);
	close(there[1]);
	wait(NULL);
	for (int n = 0; n < ROUNDS; n++) {
		long long began = now();

		syscall(SYS_getppid);
		ns[n] = now() - began;
	}
	tell("system_call", ns);
	prctl(PR_SET_TIMERSLACK, 1);
	for (int n = 0; n < ROUNDS; n++) {
		struct timespec gap = { 0, 100000 };
		long long began = now();

		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
		ns[n] = now() - began - 100000;
	}
	tell("sleep_late", ns);
	for (int n = 0; n < ROUNDS; n++) {
		long long began = now();
		pid_t child = fork();

		if (!child) {
			char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (memory == MAP_FAILED)
				_exit(1);
			for (int page = 0; page < PAGES; page++)
				memory[page * 4096] = 1;
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
		ns[n] = now() - began;
	}
	tell("process", ns);
	return 0;
}
