// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shots: at each chosen instant QEMU forks. The child serves the ping there, waits for its reply,
 * writes both down, and ends. QEMU itself goes on as if nothing had been: so each shot is the first
 * ball of one and the same boot.
 *
 * In a child there is one thread, that of the vCPU: it must be the one that forks. QEMU marks the
 * guest's memory as not to be inherited, which is undone. What a child writes to files, the
 * console above all, goes nowhere. A child that ends without having decided its shot, or that does
 * not end, is told as such: QEMU waits for none for ever.
 */
#include "shots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

#define SLOTS 64 /* shots that are begun and not taken */
#define FILES_MAX 64
#define LOOK_US 200 /* between two looks at children that are waited for */

static int64_t *instants, limit_ns;
static int64_t begun_at[SLOTS]; /* of the host's time, ns */
static size_t count, begun, taken;
static int at_once, running;
static struct shot *slots, *own; /* own: of the child that this is */
static int written_to[FILES_MAX], files; /* files that no child may write to */

static int64_t host_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* --- before the first shot --- */

static void inherit_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	if (!maps)
		fail("shots: the memory of QEMU is not known (/proc/self/maps)");
	while (fgets(line, sizeof(line), maps)) {
		unsigned long begin, end;

		if (sscanf(line, "%lx-%lx", &begin, &end) == 2)
			madvise((void *)begin, end - begin, MADV_DOFORK);
	}
	fclose(maps);
}

static void find_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!folder)
		fail("shots: the files of QEMU are not known (/proc/self/fd)");
	while ((entry = readdir(folder))) {
		int fd = atoi(entry->d_name), how = fcntl(fd, F_GETFL);
		struct stat stat;

		if (entry->d_name[0] == '.' || how < 0 || (how & O_ACCMODE) == O_RDONLY ||
		    fstat(fd, &stat) || !S_ISREG(stat.st_mode))
			continue;
		if (files == FILES_MAX)
			fail("shots: QEMU has more files open than expected");
		written_to[files++] = fd;
	}
	closedir(folder);
}

void shots_read(int fd, int64_t from, int64_t now, int children, int64_t limit_ms)
{
	struct stat stat;

	if (fstat(fd, &stat) || stat.st_size < 8 || stat.st_size % 8)
		fail("shots: no list of instants");
	count = stat.st_size / 8;
	instants = mmap(NULL, stat.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	slots = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (instants == MAP_FAILED || slots == MAP_FAILED)
		fail("shots: no memory");
	for (size_t i = 0; i < count; i++) {
		instants[i] += from;
		if (instants[i] < (i ? instants[i - 1] : now))
			fail(i ? "shots: the instants do not rise"
			       : "shots: the first instant is before the target was ready");
	}
	at_once = children;
	limit_ns = limit_ms * 1000000;
	inherit_memory();
	find_files();
}

bool shots_are_played(void)
{
	return instants;
}

bool shots_in_child(void)
{
	return own;
}

size_t shots_begun(void)
{
	return begun;
}

int64_t shots_instant(void)
{
	return instants[begun];
}

bool shots_all_begun(void)
{
	return begun == count;
}

/* --- children --- */

static void look_at(size_t number)
{
	struct shot *shot = &slots[number % SLOTS];
	int status;

	if (!shot->pid)
		return;
	if (waitpid(shot->pid, &status, WNOHANG) == 0) {
		if (host_now() - begun_at[number % SLOTS] < limit_ns)
			return;
		kill(shot->pid, SIGKILL);
		waitpid(shot->pid, &status, 0);
		shot->hung = true;
	}
	shot->pid = 0;
	running--;
	if (!shot->decided || shot->hung)
		shot->lost = WIFSIGNALED(status) ? WTERMSIG(status) : 256 + WEXITSTATUS(status);
}

static void look_at_all(void)
{
	for (size_t i = taken; i < begun; i++)
		look_at(i);
}

static void become_child(struct shot *shot, pid_t parent, int frames_fd)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || nowhere < 0)
		_exit(3);
	for (int i = 0; i < files; i++)
		dup2(nowhere, written_to[i]);
	close(frames_fd);
	own = shot;
}

enum shots_how shots_fork(int64_t when, int frames_fd)
{
	struct shot *shot = &slots[begun % SLOTS];
	pid_t parent = getpid(), pid;

	for (look_at_all(); running >= at_once; look_at_all())
		usleep(LOOK_US);
	*shot = (struct shot){ .served = when, .rise = UINT32_MAX, .fall = UINT32_MAX };
	while ((pid = fork()) < 0) {
		int why = errno;

		look_at_all();
		if (!running) {
			fprintf(stderr,
				"instrument: shots: QEMU can have no child (%s): fewer processes or "
				"more memory are needed\n",
				strerror(why));
			return REFUSED;
		}
		usleep(LOOK_US);
	}
	if (!pid) {
		become_child(shot, parent, frames_fd);
		return IN_CHILD;
	}
	shot->pid = pid;
	begun_at[begun % SLOTS] = host_now();
	begun++;
	running++;
	return BEGUN;
}

bool shots_are_full(void)
{
	return begun - taken == SLOTS;
}

const struct shot *shots_take(bool wait)
{
	struct shot *shot = &slots[taken % SLOTS];

	if (taken == begun)
		return NULL;
	for (look_at(taken); shot->pid; look_at(taken)) {
		if (!wait)
			return NULL;
		usleep(LOOK_US);
	}
	taken++;
	return shot;
}

void shots_end(void)
{
	for (size_t i = taken; i < begun; i++) {
		struct shot *shot = &slots[i % SLOTS];

		if (shot->pid) {
			kill(shot->pid, SIGKILL);
			waitpid(shot->pid, NULL, 0);
		}
	}
	begun = taken;
}

/* --- in a child --- */

void shots_keep_ball(int64_t served, uint32_t rise, uint32_t fall)
{
	own->served = served;
	own->rise = rise;
	own->fall = fall;
}

void shots_keep_event(int64_t when, uint32_t what, uint32_t value)
{
	if (own->events_count == SHOT_EVENTS_MAX)
		_exit(4);
	own->events[own->events_count].when = when;
	own->events[own->events_count].what = what;
	own->events[own->events_count].value = value;
	own->events_count++;
}

_Noreturn void shots_decided(void)
{
	own->decided = 1;
	_exit(0);
}
