"""A rally, a drill or a sweep as comma-separated values, a piece at a time.

The first lines begin with ``#`` and say what it is; then come the names of the columns, with their
units, and a line for each ball, repetition or rate. A missing value is an empty cell. A folder may
come from somebody else: its words come only after a ``#``, and nothing in them begins a cell.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tennis import __version__
from tennis.kit.units import NS_PER_S
from tennis.match.sweep.folder import Sweep
from tennis.rally import Rally
from tennis.rally.columns import Column
from tennis.rally.drills import drill_about
from tennis.rally.inside import LONGEST, read_inside
from tennis.rally.text import plain

Octets = NDArray[np.uint8]
STATISTICS = ("min", "q1", "median", "q3", "p99", "p999", "max")


def of_rally(rally: Rally) -> Iterator[bytes]:
    """Yield a rally's balls: when each was served, its two edges since then, the time between."""
    columns = ["ball", "served_ns", "rise_ns", "fall_ns", "scheduling_ns"]
    more = {"balls": f"{rally.balls} and {rally.misses} of them missed"}
    given_up_ns = rally.manifest.given_up_ns
    if rally.misses and given_up_ns is not None:
        more["missed"] = f"an empty edge came later than {given_up_ns} ns or never"
    yield _heading("rally", rally.label, _about(rally) | more, columns)
    for batch in rally.batches():
        rise, fall = batch["rise_ticks"], batch["fall_ticks"]
        between = Column(fall.filled(0) - rise.filled(0), rise.flags | fall.flags)
        spans = [_ns(ticks, rally.tick_hz) for ticks in (rise, fall, between)]
        yield _lines([_whole(batch["ball"]), _whole(batch["served_ns"]), *spans])


def of_drill(rally: Rally) -> Iterator[bytes]:
    """Yield a drill's repetitions by the target's clock (inside) and the instrument's (outside).

    A user's own program reports nothing: its inside is empty. Raises RallyError.
    """
    inside = None if rally.manifest.target.program else read_inside(rally)
    sizes = drill_about(rally.manifest).sizes_bytes
    columns = ["repetition", "began_ns"]
    columns += ["interval_inside_ns", "interval_outside_ns"]
    columns += ["duration_inside_ns", "duration_outside_ns", *(["size_bytes"] if sizes else [])]
    about = _about(rally) | {"repetitions": f"{rally.balls}"}
    yield _heading("drill", rally.label, about, columns)
    last: int | None = None
    for batch in rally.batches():
        served = batch["served_ns"].values
        first = int(batch["ball"].values[0])
        own = slice(first, first + served.size)
        intervals = np.diff(served, prepend=served[0] if last is None else last)
        last = int(served[-1])
        none_before = np.arange(own.start, own.stop) == 0
        since = took = np.full(served.size, LONGEST, np.uint32)
        if inside is not None:
            since, took = inside.since_last_ns[own], inside.duration_ns[own]
        cells = [
            *(_whole(batch["ball"]), _whole(batch["served_ns"])),
            _whole(Column(since, none_before | (since == LONGEST))),
            _whole(Column(intervals, none_before)),
            _whole(Column(took, took == LONGEST)),
            _ns(batch["fall_ticks"], rally.tick_hz),
        ]
        if sizes:
            every = np.take(sizes, np.arange(own.start, own.stop) % len(sizes))
            cells.append(_whole(Column(every)))
        yield _lines(cells)


def of_sweep(swept: Sweep) -> Iterator[bytes]:
    """Yield a sweep's rates, ascending: counts of their pings, latencies of paired ones."""
    counts = ["pings", "paired", "unanswered", "doubtful", "cut", "several", "lost"]
    kinds = ("interrupt", "scheduling")
    latencies = [f"{kind}_{name}_ns" for kind in kinds for name in STATISTICS]
    plan, record = swept.record.plan, swept.record
    about = {
        "bench": record.bench,
        "kernel": plan.kernel_name,
        "load": plan.load,
        "seed": f"{plan.protocol.seed}",
        "time": record.time_note,
    }
    yield _heading("sweep", swept.label, about, ["rate_hz", *counts, *latencies, "suspect"])
    for rate_hz, rate in swept.rates.items():
        cells = [rate_hz, *(getattr(rate, name) for name in counts)]
        for latency in (rate.interrupt_ns, rate.scheduling_ns):
            cells += [getattr(latency, name) for name in STATISTICS]
        cells.append(int(rate_hz in swept.suspect))
        yield ",".join("" if cell is None else str(cell) for cell in cells).encode() + b"\n"


def _about(rally: Rally) -> dict[str, str]:
    manifest = rally.manifest
    protocol, target = manifest.protocol, manifest.target
    found = {
        "bench": manifest.bench,
        "kernel": target.system,
        "load": manifest.load.name,
        "seed": f"{protocol.seed}",
        "time": manifest.time_note,
        "release": target.release,
        "loop": protocol.loop,
        "ended": manifest.ended,
        "tick": f"{NS_PER_S / rally.tick_hz:.6g} ns at {rally.tick_hz} Hz",
    }
    if manifest.suspect:
        faults = manifest.faults
        found["suspect"] = faults[0].message if faults else "yes"
    return found


def _heading(kind: str, label: str, about: Mapping[str, str], columns: list[str]) -> bytes:
    """Return the lines above the first row: bench, kernel, load and seed in the first one."""
    words = {name: _harmless(value) for name, value in about.items()}
    first = " / ".join(f"{name} {words.pop(name)}" for name in ("bench", "kernel", "load", "seed"))
    lines = [f"# tennis {__version__} / {kind} / {first}", f"# label: {_harmless(label)}"]
    lines += [f"# {name}: {value}" for name, value in words.items()]
    return ("\n".join([*lines, ",".join(columns)]) + "\n").encode()


def _harmless(words: str) -> str:
    """Return words that stay one cell with any separator that a spreadsheet takes."""
    return plain("".join(" " if c in ",;|\"'" else c for c in words))


def _ns(ticks: Column, tick_hz: int) -> Octets:
    """Return ticks as nanoseconds: whole ones, or with three decimals.

    Ticks of any instrument that Tennis knows are exact, or rounded to a thousandth: a tick is not
    shorter than that.
    """
    ratio = Fraction(NS_PER_S, tick_hz)
    over, under = ratio.numerator, ratio.denominator
    whole, rest = np.divmod(ticks.filled(0) * over, under)
    if under == 1:
        return _whole(Column(whole, ticks.missing))
    thousandths = (rest * 2000 + under) // (2 * under)
    whole += thousandths // 1000
    point = np.full((len(ticks), 1), ord("."), np.uint8)
    texts = np.hstack([_digits(whole), point, _digits(thousandths % 1000, 3)])
    texts[ticks.flags] = 0
    return texts


def _whole(numbers: Column) -> Octets:
    """Return whole numbers, one a row, as text: 0 where there is no character."""
    values = numbers.filled(0)
    sign = np.where(values < 0, np.uint8(ord("-")), np.uint8(0))
    texts = np.hstack([sign[:, None], _digits(np.abs(values))])
    texts[numbers.flags] = 0
    return texts


def _digits(numbers: NDArray[np.int64], least: int = 1) -> Octets:
    """Return the digits of numbers from 0 on, at least so many."""
    size = max(least, len(str(numbers.max(initial=0))))
    texts = np.zeros((numbers.size, size), np.uint8)
    for place in range(size):
        rest = numbers // 10
        digits = numbers - 10 * rest + ord("0")
        texts[:, -1 - place] = digits if place < least else np.where(numbers > 0, digits, 0)
        numbers = rest
    return texts


def _lines(columns: list[Octets]) -> bytes:
    rows = len(columns[0])
    ends = [np.full((rows, 1), ord(","), np.uint8)] * (len(columns) - 1)
    ends.append(np.full((rows, 1), ord("\n"), np.uint8))
    texts = np.hstack([part for pair in zip(columns, ends, strict=True) for part in pair])
    return texts[texts > 0].tobytes()
