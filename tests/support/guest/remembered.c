/*
 * What a model of memory must not remember wrongly. All is read so often that some of the addresses
 * are compared with the right ones.
 *
 * The first thing that happens to a page is a DC ZVA: it faults, and is executed again. And two
 * processes have other memory at the same addresses, and run in turns.
 */
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64
#define PAGE 4096
#define LINE 64
#define ROUNDS 16
#define FEW (4 * PAGE) /* that stay in a TLB */
#define TURNS 16

/* Each line, again and again. */
static long reads(char *from, size_t bytes, int rounds)
{
	long sum = 0;

	for (int round = 0; round < rounds; round++) {
		for (char *at = from; at < from + bytes; at += LINE)
			sum += *(volatile char *)at;
	}
	return sum;
}

static long takes_turns(char *pages)
{
	long sum = 0;

	for (char *at = pages; at < pages + FEW; at += PAGE)
		*at = 0; /* from now on it is this process' own */
	for (int turn = 0; turn < TURNS; turn++) {
		sum += reads(pages, FEW, 32);
		sched_yield();
	}
	return sum;
}

int main(void)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	int status;
	long sum = 0;
	pid_t other;

	if (pages == MAP_FAILED)
		return 1;
	for (char *at = pages; at < pages + PAGES * PAGE; at += PAGE) {
		asm volatile("dc	zva, %0" ::"r"(at) : "memory");
		sum += reads(at, PAGE, ROUNDS);
	}
	sum += reads(pages, PAGES * PAGE, ROUNDS);
	other = fork();
	if (other < 0)
		return 1;
	sum += takes_turns(pages);
	if (!other)
		_exit(sum != 0);
	return waitpid(other, &status, 0) != other || status || sum;
}
