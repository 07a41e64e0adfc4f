"""The profiling plugin (target/virtual/profile.c): what it is given, and what it finds."""

import itertools
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tennis.bench.qemu import plugins
from tennis.bench.qemu.plugins import Qemu, QemuPlugin
from tennis.kit.errors import BenchError
from tennis.rally.phases import (
    EVAL_LOOP,
    FIRES,
    GIVES,
    LIBRARY,
    MOVES,
    NO_LINE_OF_PYTHON,
    PROGRAM,
    PYTHON,
    SENDS,
    SLEEPS,
    TAKES,
    WAKES,
    WANTS,
    Phase,
    Symbol,
)

# entry points of exceptions: x30 is the interrupted code's there
ENTRIES = re.compile(r"vectors|el[01][th]?_(64|32)_\w+|el[01]_\w+|ret_to_\w+|__bp_harden_\w+")
ENTRY, SWITCH_TO, OF_PROGRAM, GOES_ON, EVALUATES = 1, 2, 4, 8, 16
# what begins with these functions: locks' slow paths, interprocessor interrupts, the scheduler. No
# rwlocks: a reader that only asks for one stores into it, too, and would be taken for its holder
HAPPENINGS = {
    "queued_spin_lock_slowpath": WANTS,
    "rtlock_slowlock_locked": SLEEPS,
    "rt_mutex_slowunlock": GIVES,
    # mutexes and semaphores
    "rt_mutex_slowlock": SLEEPS,
    "__mutex_lock": SLEEPS,
    "__mutex_unlock_slowpath": GIVES,
    "__down": SLEEPS,
    "up": GIVES,
    "rt_mutex_unlock": GIVES,
    "gic_ipi_send_mask": SENDS,
    "ipi_handler": TAKES,
    "try_to_wake_up": WAKES,
    "set_task_cpu": MOVES,
    "hrtimer_wakeup": FIRES,
}

# what the compiler adds to a function's variant; .cold is no beginning
_CLONE = re.compile(r"(\.(constprop|isra|part)\.\d+)+$")
_SYMBOL = np.dtype([("address", "<u8"), ("flags", "<u8")])
_HEAD = np.dtype(
    [
        ("magic", "S4"),
        ("phase", "<i4"),
        ("ball", "<i8"),
        ("began", "<i8"),
        ("ended", "<i8"),
        ("processor", "<u4"),
        ("contexts", "<u4"),
        ("nodes", "<u4"),
        ("segments", "<u4"),
        ("events", "<u4"),
        ("stalls", "<u4"),
        ("cut", "<u4"),
        ("places", "<u4"),
    ]
)
_CONTEXT = np.dtype(
    [
        ("task", "<u8"),
        ("name", "S16"),
        ("priority", "<i4"),
        ("of_program", "<u4"),
        ("allowed", "<u8"),
    ]
)
_NODE = np.dtype(
    [("parent", "<i4"), ("function", "<i4"), ("at", "<u8"), ("ns", "<u8"), ("masked_ns", "<u8")]
)
_SEGMENT = np.dtype([("node", "<u4"), ("flags", "<u4"), ("ns", "<u8"), ("pc", "<u8")])
_EVENT = np.dtype(
    [
        ("at", "<i8"),
        ("kind", "<u4"),
        ("node", "<i4"),
        ("what", "<u8"),
        ("other", "<u8"),
        ("name", "S16"),
    ]
)
_STALL = np.dtype([("at", "<i8"), ("kind", "<u4"), ("node", "<i4"), ("ns", "<u8")])
_PLACE = np.dtype([("name", "S64"), ("file", "S128"), ("line", "<i4")])
_PARTS = (
    *((_CONTEXT, "contexts"), (_NODE, "nodes"), (_SEGMENT, "segments")),
    *((_EVENT, "events"), (_STALL, "stalls"), (_PLACE, "places")),
)


@dataclass(frozen=True)
class Window:
    """When a ball waited, in ns of virtual time; an edge that did not come: the window's end."""

    ball: int
    served: int
    rise: int
    fall: int


class Profile:
    """The plugin for one replay, and what it wrote. A context manager: it holds files open."""

    def __init__(
        self,
        qemu: Qemu,
        symbols: Sequence[Symbol],
        windows: Sequence[Window],
        processors: int,
        program: tuple[int, bytes] | None = None,
    ) -> None:
        """``program``: a user's own: its processes, and its Python's layout."""
        plugins.check_exports(qemu, "profile", "explaining")
        self._plugin = plugins.build(qemu, "profile")
        table = np.zeros(len(symbols), _SYMBOL)
        table["address"] = [symbol.address for symbol in symbols]
        table["flags"] = [_flags(symbol) for symbol in symbols]
        times = np.array([(w.ball, w.served, w.rise, w.fall) for w in windows], "<i8")
        # closed when this context is left
        self._out: BinaryIO = tempfile.TemporaryFile(prefix="tennis-profile-")  # noqa: SIM115
        self._inputs = [_file(times.tobytes()), _file(table.tobytes())]
        self._program = {} if program is None else {"user": program[0]}
        if program and program[1]:
            self._inputs.append(_file(program[1]))
            self._program["python"] = self._inputs[-1]
        self._symbols = len(symbols)
        # lines of Python, which are functions behind the others
        self.places: list[Symbol] = []
        self._processors = processors
        self._awaited = 2 * processors * len(windows)  # phases, each of a processor
        self._read = 0  # bytes of whole phases

    def __enter__(self) -> "Profile":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._out.close()
        for descriptor in self._inputs:
            os.close(descriptor)

    def plugin(self) -> QemuPlugin:
        """Return the plugin as the machine takes it."""
        windows, symbols = self._inputs[:2]
        out = self._out.fileno()
        parameters = {"windows": windows, "symbols": symbols, "out": out, **self._program}
        return QemuPlugin(self._plugin, parameters, [*self._inputs, out])

    def whole(self) -> bool:
        """Tell whether the plugin wrote everything. It continues writing at the file's end."""
        file = self._out.fileno()
        size = os.fstat(file).st_size
        while self._awaited and self._read + _HEAD.itemsize <= size:
            head = np.frombuffer(os.pread(file, _HEAD.itemsize, self._read), _HEAD)[0]
            more = sum(kind.itemsize * int(head[field]) for kind, field in _PARTS)
            if self._read + _HEAD.itemsize + more > size:
                break
            self._read += _HEAD.itemsize + more
            self._awaited -= 1
        return not self._awaited

    def waits(self) -> Iterator[list[Phase]]:
        """Yield both phases of each window, of all processors, in order of time.

        Raises BenchError if they are not whole.
        """
        self._out.seek(0)
        phases = self._phases()
        while one := list(itertools.islice(phases, 2 * self._processors)):
            yield one

    def _phases(self) -> Iterator[Phase]:
        while head := self._out.read(_HEAD.itemsize):
            if len(head) < _HEAD.itemsize:
                raise BenchError("the profile ends in the middle: is the disk full?")
            fields = np.frombuffer(head, _HEAD)[0]
            if fields["magic"] != b"TNP6":
                raise BenchError("the profile is damaged")
            contexts, nodes, segments, events, stalls, places = (
                self._array(kind, fields[field]) for kind, field in _PARTS
            )
            self.places += map(_place, places.tolist())
            nodes = nodes.copy()
            of_python = nodes["function"] == PYTHON
            nodes["function"][of_python] = nodes["at"][of_python] + self._symbols
            nodes["at"][of_python] = 0
            yield Phase(
                ball=int(fields["ball"]),
                phase=int(fields["phase"]),
                processor=int(fields["processor"]),
                began=int(fields["began"]),
                ended=int(fields["ended"]),
                tasks=[name.decode("utf-8", "replace") for name in contexts["name"].tolist()],
                threads=contexts["task"].tolist(),
                priorities=contexts["priority"].tolist(),
                of_program=contexts["of_program"].astype(bool).tolist(),
                allowed=contexts["allowed"].tolist(),
                nodes=nodes,
                segments=segments,
                events=events,
                stalls=stalls,
                cut=int(fields["cut"]),
            )

    def _array(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        data = self._out.read(kind.itemsize * int(count))
        if len(data) < kind.itemsize * int(count):
            raise BenchError("the profile ends in the middle: is the disk full?")
        return np.frombuffer(data, kind)


def _place(place: tuple[bytes, bytes, int]) -> Symbol:
    """Return a line of Python as a symbol; its own files are those that Debian does not bring."""
    name, file, line = place[0].decode(), PurePosixPath(place[1].decode()), place[2]
    if not (name and line):
        return Symbol(0, NO_LINE_OF_PYTHON, LIBRARY)
    brought = not str(file).startswith(("/usr/", "<"))
    shown = file.name if brought else f"{file.parent.name}/{file.name}".lstrip("/")
    return Symbol(0, name, PROGRAM if brought else LIBRARY, f"{shown}:{line}")


def _flags(symbol: Symbol) -> int:
    if symbol.module == PROGRAM:
        evaluates = EVALUATES * (symbol.name == EVAL_LOOP)
        return OF_PROGRAM | GOES_ON * symbol.goes_on | evaluates
    if symbol.goes_on:
        return GOES_ON
    if symbol.module is None and symbol.name == "cpu_switch_to":
        return SWITCH_TO
    if symbol.module is None and (kind := HAPPENINGS.get(_CLONE.sub("", symbol.name))):
        return kind << 8
    return ENTRY if symbol.module is None and ENTRIES.fullmatch(symbol.name) else 0


def _file(data: bytes) -> int:
    """Return the descriptor of a file in memory."""
    descriptor = os.memfd_create("tennis-profile")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    return descriptor
