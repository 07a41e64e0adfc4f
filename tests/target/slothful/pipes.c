/*
 * Alarms and pipes of text, beneath a rally. When Linux writes its first record, two tasks of
 * different priority begin to write the same to two pipes, LOG locked, OTHER not; and alarms tell when
 * they came. Hold keeps Tick waiting for 1.05 ms.
 */
#define StartupHook racquets_startup
#define Echo_task racquets_echo
#include "racquet.c"
#undef StartupHook
#undef Echo_task

#define WRITERS 4 /* the ceiling: High's priority */
#define OFTEN_MAX 30
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static uint64_t began;
static unsigned int low, high, often;

static unsigned long us_since(void)
{
	return (counter() - began) * 1000 / ticks_of_us(1000);
}

void High_task(void)
{
	high++;
	WritefPipeLocked(LOG, WRITERS, "high %u " CAPITALS "\n", high);
	WritefPipe(OTHER, "high %u " CAPITALS "\n", high);
}

void Low_task(void)
{
	for (int n = 0; n < 3; n++) {
		low++;
		WritefPipeLocked(LOG, WRITERS, "low %u " LETTERS "\n", low);
		WritefPipe(OTHER, "low %u " LETTERS "\n", low);
	}
}

static void came(const char *name, unsigned int number)
{
	WritefPipeLocked(LOG, WRITERS, "came %s %u %lu\n", name, number, us_since());
}

void Once_task(void)
{
	came("once", 1);
	WritePipeLocked(LOG, WRITERS,
			"a text that is longer than a record has room for, and is cut there");
	WritePipeLocked(LOG, WRITERS, "\n");
	WritefPipeLocked(LOG, WRITERS, "%s|%c|%d|%ld|%x|%lx|%%|%u\n", "s", 'c', -7, -1099511627776L,
			 0xbeefu, 0xfedcba9876ul, 4000000000u);
}

void Again_task(void)
{
	static unsigned int number;

	if (number < 5)
		came("again", ++number);
	else
		CancelAlarm(Each_10_ms);
}

void Never_task(void)
{
	came("never", 1);
}

void Often_task(void)
{
	if (often < OFTEN_MAX)
		came("often", ++often);
}

void Hold_task(void)
{
	uint64_t until = counter() + ticks_of_us(1050);

	while (counter() < until)
		;
}

void Echo_task(void)
{
	struct sloth_record record;

	while (ReadRecord(&record))
		;
	began = counter();
	SetRelAlarm(Lows, ticks_of_us(50), ticks_of_us(1500));
	/* slides by 48 ns from one Low to the next: it comes at each of Low's moments */
	SetRelAlarm(Highs, ticks_of_us(49), ticks_of_us(500) + 1);
	SetRelAlarm(In_5_ms, ticks_of_us(5000), 0);
	SetRelAlarm(Each_10_ms, ticks_of_us(3000), ticks_of_us(10000));
	SetRelAlarm(Cancelled, ticks_of_us(4000), ticks_of_us(4000));
	CancelAlarm(Cancelled);
	SetRelAlarm(At_20_ms, ticks_of_us(20000), 0);
	SetRelAlarm(Each_250_us, ticks_of_us(18000), ticks_of_us(250));
}

void StartupHook(void)
{
}
