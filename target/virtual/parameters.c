// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the host gives a plugin. A word that is taken for nothing would leave a default in its place,
 * and the rally would look right: so each must be known, be a number, and come once.
 */
#include "parameters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct parameter *find(const struct parameter *list, const char *word, size_t length)
{
	for (; list && list->name; list++) {
		if (strlen(list->name) == length && !memcmp(list->name, word, length))
			return list;
	}
	return NULL;
}

static bool is_number(const char *text, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 10);
	return *text && !*end && !errno;
}

static bool refuse(const char *plugin, const char *word, const char *why)
{
	fprintf(stderr, "%s: parameter %s: %s\n", plugin, word, why);
	return false;
}

bool parameters_read(const char *plugin, int argc, char **argv, const struct parameter *own,
		     const struct parameter *more)
{
	for (int i = 0; i < argc; i++) {
		size_t length = strcspn(argv[i], "=");
		const struct parameter *one = find(own, argv[i], length);

		if (!one)
			one = find(more, argv[i], length);
		if (!one)
			return refuse(plugin, argv[i], "there is none of this name");
		for (int before = 0; before < i; before++) {
			if (!strncmp(argv[before], argv[i], length + 1))
				return refuse(plugin, argv[i], "it came before");
		}
		if (!argv[i][length] || !is_number(argv[i] + length + 1, one->value))
			return refuse(plugin, argv[i], "no whole number of 64 bits");
	}
	return true;
}
