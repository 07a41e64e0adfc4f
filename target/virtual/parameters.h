/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host gives a plugin on QEMU's command line, as name=value: see parameters.c. */
#ifndef TENNIS_PARAMETERS_H
#define TENNIS_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

/* A number, in decimal: times are ns, addresses are signed. Lists end with one without a name. */
struct parameter {
	const char *name;
	int64_t *value;
};

/* Whether all words were of these lists (more may be NULL); says which one was not, and why. */
bool parameters_read(const char *plugin, int argc, char **argv, const struct parameter *own,
		     const struct parameter *more);

#endif
