// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
/* vmalloc - as allocate.c, by pages that lie side by side for the processor only. */
#define ALLOCATE_PAGES
#include "allocate.c"
