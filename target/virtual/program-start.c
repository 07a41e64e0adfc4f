// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/*
 * program-start - starts a program of somebody's own as what it would be on a Raspberry Pi: an
 * ordinary user's, of the group that has the GPIO lines, which may ask for a real-time priority and
 * locked memory. It can neither write to the console nor load a module.
 *
 * usage: program-start PID_FILE PRIORITY MAY_PRIORITY LOCKED_MB PROCESSES [NAME=VALUE...] --
 *        PROGRAM [ARGUMENT...]
 * PRIORITY: it begins with this one of SCHED_FIFO; 0: as an ordinary process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define USER 1000
#define GROUP 997 /* as "gpio" of Raspberry Pi OS */
#define CANNOT 127 /* as a shell ends if there is no such program */

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return CANNOT;
}

static int limited(int what, rlim_t most)
{
	struct rlimit limit = { most, most };

	return setrlimit(what, &limit);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t length = strlen(text);

	return fd < 0 || write(fd, text, length) != length || close(fd) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct sched_param param = { 0 };
	gid_t group = GROUP;
	char **environment, **word = argv + 6;
	char pid[16];

	if (argc < 8)
		return CANNOT;
	param.sched_priority = atoi(argv[2]);
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	/* short of memory, the kernel ends this one first, and not the load */
	if (write_text(argv[1], pid) || write_text("/proc/self/oom_score_adj", "1000"))
		return fail("program-start");
	if (limited(RLIMIT_RTPRIO, atoi(argv[3])) || limited(RLIMIT_NICE, 20) ||
	    limited(RLIMIT_MEMLOCK, (rlim_t)atoi(argv[4]) << 20) ||
	    limited(RLIMIT_NPROC, atoi(argv[5])) || limited(RLIMIT_CORE, 0))
		return fail("its limits");
	if (param.sched_priority && sched_setscheduler(0, SCHED_FIFO, &param))
		return fail("its priority");
	if (setsid() < 0 || setgroups(1, &group) || setgid(GROUP) || setuid(USER) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail("its user");
	for (environment = word; *word && strcmp(*word, "--"); word++)
		;
	if (!*word)
		return CANNOT;
	*word++ = NULL; /* ends the environment */
	environ = environment;
	execvpe(word[0], word, environment);
	return fail(word[0]);
}
