"""The guest's kernel, seen from outside (target/virtual/guest.c): samples, and what they show.

Memory is sampled only of a kernel without KASLR (``symbols.in_place`` among its parameters). The
code that made an edge is known for any kernel whose console says where it began.
"""

import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

import numpy as np

from tennis.bench.qemu import plugins
from tennis.bench.qemu.plugins import QemuPlugin
from tennis.bench.virtual import symbols
from tennis.bench.virtual.parts import Parts
from tennis.kit.errors import BenchError
from tennis.rally.text import plain

SAMPLE_NS = 1_000_000  # between two samples
# every complaint of the kernel calls one of them
COMPLAINS = ("__warn", "die", "dump_stack_lvl", "panic")
SIZE_MAX = 1 << 27  # bytes; the plugin ends at half of that

_RECORD = np.dtype([("when", "<i8"), ("kind", "<u4"), ("size", "<u4")])
_SAME, _SAMPLE, _EDGE, _CALL, _END = range(1, 6)
_COUNTS = np.dtype([("modules", "<u4"), ("tasks", "<u4")])
_MODULE = np.dtype("S56")
_TASK = np.dtype([("address", "<u8"), ("name", "S16")])
_BROKEN = (1 << 32) - 1

# QEMU's ShutdownCause, in the order of its qapi/run-state.json since QEMU 5
Ending = Literal["stopped", "powered off", "reset", "panicked"]
_ENDINGS: dict[int, Ending] = {6: "powered off", 7: "reset", 8: "panicked"}


@dataclass(frozen=True)
class MemorySample:
    """The contents of the kernel's memory at a time in ns; None: the list led nowhere."""

    at_ns: int
    modules: frozenset[str] | None
    tasks: (
        frozenset[tuple[int, str]] | None
    )  # address and name; of this sample, or of the one before


@dataclass(frozen=True)
class Occurrence:
    """An edge of the reply line, or a call: when, and which functions were being executed.

    ``what`` is ``up``, ``down`` or the called function; the innermost of ``within`` comes first.
    """

    at_ns: int
    what: str
    within: tuple[str, ...]


@dataclass
class GuestTrace:
    """All that was seen of a guest, in order of time."""

    samples: list[MemorySample] = field(default_factory=list)
    edges: list[Occurrence] = field(default_factory=list)
    complaints: list[Occurrence] = field(default_factory=list)
    ending: Ending = "stopped"  # by this machine, unless QEMU says otherwise
    ended_ns: int | None = None


class Guest:
    """The plugin for one boot, and what it saw. A context manager: it holds files open."""

    def __init__(self, parts: Parts) -> None:
        plugins.check_exports(parts.qemu, "guest", "a trial")
        self._plugin = plugins.build(parts.qemu, "guest")
        self._functions, self._begins, heads = symbols.fixed(parts)
        self._starts = [function.address for function in self._functions]
        self._calls = [one for one in self._functions if one.name in COMPLAINS]
        if not self._calls:
            raise BenchError(f"Linux {parts.kernel.release} has none of {', '.join(COMPLAINS)}")
        # closed when this context is left
        self._out: BinaryIO = tempfile.TemporaryFile(prefix="tennis-guest-")  # noqa: SIM115
        self._in: BinaryIO = tempfile.TemporaryFile(prefix="tennis-guest-")  # noqa: SIM115
        self._in.write(np.array([one.address for one in self._calls], "<u8").tobytes())
        self._in.flush()
        self._parameters = {
            "modules": _signed(heads[symbols.MODULES]),
            "init_task": _signed(heads[symbols.INIT_TASK]),
            "every": SAMPLE_NS,
            "calls": self._in.fileno(),
            "out": self._out.fileno(),
        }

    def __enter__(self) -> "Guest":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._in.close()
        self._out.close()

    def plugin(self) -> QemuPlugin:
        """Return the plugin as the machine takes it."""
        descriptors = [self._in.fileno(), self._out.fileno()]
        return QemuPlugin(self._plugin, self._parameters, descriptors)

    def trace(self, moved_by: int = 0) -> GuestTrace:
        """Return the recording. Its last record may be cut off: QEMU can be killed.

        ``moved_by``: how far KASLR moved the kernel, in bytes. A moved kernel has edges only.
        """
        seen = GuestTrace()
        last = MemorySample(0, frozenset(), frozenset())
        for when, kind, data in self._records():
            if kind == _SAMPLE:
                last = _memory_sample(when, data)
                seen.samples.append(last)
            elif kind == _SAME:
                seen.samples.append(MemorySample(when, last.modules, last.tasks))
            elif kind == _END:
                seen.ending = _ENDINGS.get(int(_words(data)[0]), "stopped")
                seen.ended_ns = when
            else:
                what, *within = _words(data)
                names = tuple(self._function(address - moved_by) for address in within)
                if kind == _EDGE:
                    seen.edges.append(Occurrence(when, "up" if what else "down", names))
                else:
                    seen.complaints.append(Occurrence(when, self._calls[what].name, names))
        return seen

    def moved_by(self, at_kernel: int) -> int:
        """Return how far a kernel was moved that began at ``at_kernel``, by its console."""
        return at_kernel - self._begins

    def _records(self) -> Iterator[tuple[int, int, bytes]]:
        size = os.fstat(self._out.fileno()).st_size
        content = os.pread(self._out.fileno(), min(size, SIZE_MAX), 0)
        at = 0
        while at + _RECORD.itemsize <= len(content):
            head = np.frombuffer(content, _RECORD, 1, at)[0]
            at += _RECORD.itemsize
            data = content[at : at + int(head["size"])]
            if len(data) < head["size"]:
                return
            at += len(data)
            yield int(head["when"]), int(head["kind"]), data

    def _function(self, address: int) -> str:
        """Return the kernel's function to which something returns; empty: a module's, or none."""
        index = bisect_right(self._starts, address - 1) - 1
        return self._functions[index].name if index >= 0 else ""


def _memory_sample(when: int, data: bytes) -> MemorySample:
    counts = np.frombuffer(data, _COUNTS, 1)[0]
    modules, tasks = (
        0 if counts[name] == _BROKEN else int(counts[name]) for name in ("modules", "tasks")
    )
    at = _COUNTS.itemsize
    names = np.frombuffer(data, _MODULE, modules, at).tolist()
    rows = np.frombuffer(data, _TASK, tasks, at + modules * _MODULE.itemsize).tolist()
    return MemorySample(
        when,
        None if counts["modules"] == _BROKEN else frozenset(map(_name, names)),
        None
        if counts["tasks"] == _BROKEN
        else frozenset((address, _name(name)) for address, name in rows),
    )


def _name(raw: bytes) -> str:
    return plain(raw.partition(b"\0")[0].decode("ascii", "replace"), 60)


def _words(data: bytes) -> list[int]:
    return [int(word) for word in np.frombuffer(data, "<u8")]


def _signed(address: int) -> int:
    """Return an address as the plugin takes it."""
    return address - (1 << 64) if address >> 63 else address
