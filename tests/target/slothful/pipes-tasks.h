/* The tasks of pipes.c. */
#define TASKS(T)                    \
	T(Raise, PING_TASK_LINE, 8) \
	T(Lower, FREE_LINE(0), 7)   \
	T(Hold, FREE_LINE(1), 6)    \
	T(Tick, TIMER_LINE, 5)      \
	T(High, FREE_LINE(2), 4)    \
	T(Low, FREE_LINE(3), 3)     \
	T(Once, FREE_LINE(4), 3)    \
	T(Again, FREE_LINE(5), 3)   \
	T(Never, FREE_LINE(6), 3)   \
	T(Often, FREE_LINE(7), 3)   \
	T(Echo, FREE_LINE(8), 2)    \
	T(Report, FREE_LINE(9), 1)  \
	T(Refill, MAINTENANCE_LINE, 1)
#define ALARMS(A)               \
	A(Now_and_then, Report) \
	A(Highs, High)          \
	A(Lows, Low)            \
	A(In_5_ms, Once)        \
	A(Each_10_ms, Again)    \
	A(Cancelled, Never)     \
	A(At_20_ms, Hold)       \
	A(Each_250_us, Often)
