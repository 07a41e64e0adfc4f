// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT
/*
 * sloth-pipe N - sends N records to the task Echo, each a call of the monitor's, and reads whatever
 * tasks write: echoes, and what they tell of pings. Says how many came, torn ones and gaps.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MARK 0xec00000000000000ull

struct record {
	unsigned long long number, rise, fall, check;
};

static unsigned long long last, read_records, gaps, torn, echoed, misplaced;

static void take(int file)
{
	struct record records[16];
	ssize_t size;

	while ((size = read(file, records, sizeof(records))) > 0) {
		for (size_t n = 0; n < size / sizeof(records[0]); n++) {
			struct record *r = &records[n];

			read_records++;
			torn += r->check != r->number + r->rise + r->fall;
			gaps += last && r->number != last + 1;
			last = r->number;
			if ((r->rise & MARK) == MARK)
				misplaced += (r->rise & ~MARK) != ++echoed;
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, full = 0;
	int file = open("/dev/sloth0", O_RDWR | O_NONBLOCK);
	struct pollfd both = { file, POLLIN | POLLOUT, 0 };

	if (file < 0)
		return perror("sloth-pipe: /dev/sloth0"), 1;
	take(file); /* what came before */
	last = gaps = 0;
	for (unsigned long long n = 1; n <= count;) {
		struct record r = { n, MARK | n, n, 0 };

		if (write(file, &r, sizeof(r)) == sizeof(r)) {
			n++;
		} else if (errno == EAGAIN) {
			full++;
			poll(&both, 1, 1000);
		} else {
			return perror("sloth-pipe: write"), 1;
		}
		take(file);
	}
	both.events = POLLIN;
	while (echoed < count && poll(&both, 1, 5000) > 0)
		take(file);
	printf("sloth-pipe: sent %llu echoed %llu misplaced %llu read %llu gaps %llu torn %llu full %llu\n",
	       count, echoed, misplaced, read_records, gaps, torn, full);
	return 0;
}
