"""Code that ran while a ball waited, counted by the profiling plugin (target/virtual/profile.c)."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

MASKED, USER_MODE = 1, 2
USER, UNKNOWN, PYTHON = -2, -3, -4  # in place of a function's index; of Python: ``at`` is a place
# what happens between processors; SLEEPS only says which functions do. A program's calls of the
# kernel, and a timer that a task sleeps for
WANTS, GOT, GIVES, SENDS, TAKES, WAKES, MOVES, SLEEPS, CALLS, RETURNS, ASKS, FIRES = range(1, 13)
# in place of a module: the function is one of a user's own program, or of Python's library
PROGRAM, LIBRARY = "program", "Python's library"
EVAL_LOOP = "_PyEval_EvalFrameDefault"  # CPython's: it runs Python's code
NO_LINE_OF_PYTHON = "Python code, without a line"
# what CPython is at. Its collector has no name of its own, and most other functions have none
GARBAGE, INTERPRETER = "garbage collection", "Python's interpreter"
UNNAMED_OF_PYTHON = "a function of Python's without a name"
OF_PYTHON = ("Py", "_Py", UNNAMED_OF_PYTHON)  # how names of its functions begin
# behind the last of an executable's functions: a library; the only code there of a static one
OUTSIDE, VDSO = "a library or the vDSO", "the vDSO"
SLEEPING = 1  # of a wait's ``other``, which is the task: it sleeps until it has the lock


@dataclass(frozen=True)
class Symbol:
    """A function: its address, its name, its module if it is not the kernel's own, its line.

    ``goes_on``: it is another line of the function before it.
    """

    address: int
    name: str
    module: str | None = None
    line: str = ""  # "wheel.c:57"; empty: not known
    goes_on: bool = False

    def __str__(self) -> str:
        """Return the name as the kernel's own messages have it."""
        return f"{self.name} [{self.module}]" if self.module else self.name


@dataclass(frozen=True)
class Phase:
    """One processor's work from the serve to the rise (0), or from there to the fall (1).

    Times are in ns of virtual time. ``nodes``: a calling context tree, parents before children;
    ``parent`` -1 is a task, whose ``function`` is its index in ``tasks`` (names, for people only:
    threads of a program may have one), ``threads`` (a number of its own) and ``priorities``
    (real-time; 0: it has none, -1: not known), ``of_program`` (its user is the program's) and
    ``allowed`` (a mask of processors; 0: not known). A node's ``at`` is the address in a program's
    function that calls the next one. ``segments``: its work in order of time; they cover the phase;
    ``pc`` is the last instruction in user space. ``events``: time (``at``), ``node`` and ``kind``
    (``WANTS`` and so on) of each event that another processor may have caused, or of a program's
    calls. ``stalls``: time (``at``), ``node``, duration (``ns``) and part of the memory (``kind``,
    see ``tennis.explain.stalls``) of each stall; the nodes' times include them.
    """

    ball: int
    phase: int
    processor: int
    began: int
    ended: int
    tasks: list[str]
    threads: list[int]
    priorities: list[int]
    of_program: list[bool]
    allowed: list[int]
    nodes: NDArray[Any]
    segments: NDArray[Any]
    events: NDArray[Any]
    stalls: NDArray[Any]
    cut: int  # segments that were too many to be kept
