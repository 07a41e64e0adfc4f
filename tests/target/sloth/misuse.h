#define TASKS(T)                \
	T(One, FREE_LINE(0), 1) \
	T(Same, FREE_LINE(4), 1) T(Two, FREE_LINE(1), 2) T(Three, FREE_LINE(2), 3)
#define RESOURCES(R) R(Low, 1) R(Middle, 2)
#define USERS(U) U(One, Low) U(One, Middle) U(Two, Middle)
#define ALARMS(A) A(Once, Three)
#define TICK_CYCLES 0
