/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several processors that take turns in one virtual time: see processors.c. */
#ifndef TENNIS_PROCESSORS_H
#define TENNIS_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#define CPUS_MAX 8

extern int64_t turn_ns, fine_turn_ns; /* parameters */

void processors_connect(void); /* in the vCPUs' thread, when the machine is there */
void processors_rest(void); /* all of them wait, and the clock is about to be moved */
void processors_rested(void); /* and was: whatever was due then has happened */
void processors_woke(void); /* not all of them wait any longer, and none has executed anything */
void processors_look_closely(int64_t now); /* a ping rises: microseconds count from here on */
void processors_not_kicked(void); /* from QEMU 8.1 on: a kick ends no turn */
int processors_count(void);
int processors_executing(void); /* the number of the one whose code runs; -1: none's does */
bool processors_is_busy(int number); /* in a deadline: whether it has something to do */

/*
 * For shots, with several processors: ``tell`` is called where a deadline has come anyway, before a
 * vCPU learns how far it may run. What forks there changes nothing, and its child may set a deadline
 * as if it had always been there. What is due by ``until`` must be begun now.
 */
void processors_tell_passing(void (*tell)(int64_t now, int64_t until));
void processors_will_pass(int64_t time); /* idle.c: the clock is about to be moved by that much */

#endif
