#define TASKS(T)                \
	T(One, FREE_LINE(0), 1) \
	T(Same, FREE_LINE(3), 1) T(Two, FREE_LINE(1), 2) T(Three, FREE_LINE(2), 3)
#define RESOURCES(R) R(Low, 1) R(Middle, 2) R(High, 3)
#define USERS(U) U(One, Low) U(One, Middle) U(Two, Middle) U(Three, High)
#define ALARMS(A) A(Often, Two) A(Once, Three)
#define TICK_CYCLES 2000
