/* SPDX-FileCopyrightText: The Tennis authors */
/* SPDX-License-Identifier: MIT */
/*
 * What SLOTH and Linux share: two pipes of records, one each way, pipes of text to Linux, and
 * figures. Each pipe has one writer at a time and one reader; head is the writer's, tail the reader's, and a record is there once head
 * is behind it. A full pipe takes nothing more: the writer counts an overrun and goes on, as a task
 * must not wait for Linux.
 */
#ifndef PIPE_H
#define PIPE_H

#define PIPE_LINE 240 /* the virtual interrupt that tells Linux of records: SPI 208 of linux.dtsi */
#define PIPE_RECORDS 64u
#define TEXT_PIPES 2u
#define TEXT_SIZE 56u

/* Calls of Linux', by HVC: a vendor's hypervisor service (SMCCC, Arm DEN 0028) */
#define CALL_ACTIVATE 0xc6000001u /* task Echo: it empties the pipe from Linux */
#define CALL_REFUSED (-1l) /* SMCCC's "not supported" */

struct sloth_record {
	unsigned long long number; /* from 1 on; a record that was lost is missing */
	unsigned long long rise, fall; /* of the reply line, by the counter; from Linux: anything */
	unsigned long long check; /* number + rise + fall: another sum is a torn record */
};

struct sloth_pipe {
	unsigned int head, tail, overruns, unused;
	struct sloth_record record[PIPE_RECORDS];
};

struct sloth_text {
	unsigned int number; /* from 1 on; a text that was lost is missing */
	unsigned int size;
	char text[TEXT_SIZE];
};

struct sloth_text_pipe {
	unsigned int head, tail, overruns, unused;
	struct sloth_text record[PIPE_RECORDS];
};

/* Since boot; written by the monitor alone. */
struct sloth_figures {
	unsigned int forwarded; /* interrupts that went to Linux */
	unsigned int full; /* of them, those for which no list register was free */
	unsigned int trapped; /* Linux' accesses to distributor and GPIO chip, filtered */
	unsigned int refused; /* Linux' accesses to what is not there for it */
	unsigned int echoed; /* records from Linux that came back */
	unsigned int activations; /* of the task Echo, by Linux */
	unsigned int cut; /* texts that were longer than a record */
};

struct sloth_shared {
	struct sloth_pipe to_linux, from_linux;
	struct sloth_text_pipe text[TEXT_PIPES];
	struct sloth_figures figures;
};

#endif
