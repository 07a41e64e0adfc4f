/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TENNIS_HOST_CLOCK_H
#define TENNIS_HOST_CLOCK_H

#include <stdbool.h>

bool host_clock_is_kept(void); /* whether QEMU asks the instrument for the time of day */

#endif
