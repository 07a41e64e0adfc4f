/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* That a vCPU was kicked, told and taken back: see kicks.c. */
#ifndef TENNIS_KICKS_H
#define TENNIS_KICKS_H

/* In the vCPUs' thread. Find where QEMU notes a kick, if that is not known yet; it kicks for that. */
void kicks_learn(void *const *cpus, int count);
/* Let none of them be kicked any more, if it is known where that is noted. */
void kicks_take_back(void *const *cpus, int count);

#endif
