"""Sealed rallies made up in milliseconds, for tests, the book and the benchmarks.

Their manifest says that the bench is a ``replay``, and the time note that nobody measured them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import ticks_to_ns
from tennis.rally import Rally, part_path, seal
from tennis.rally.balls import COLUMNS
from tennis.rally.columns import Column, Table
from tennis.rally.folder import CONSOLE, JOURNAL, PLAN
from tennis.rally.manifest import (
    SCHEMA_VERSION,
    Counts,
    Drill,
    Fault,
    Instrument,
    LoadRecord,
    Manifest,
    OnProcessor,
    Priority,
    Program,
    Protocol,
    Target,
    Tool,
)

TIME_NOTE = "synthetic data: nobody measured this"
STRESS = "stress --cpu 4 --io 4 --vm 4 --vm-bytes 16M --hdd 4 --hdd-bytes 64M"

# median (ns) and spread (sigma of the logarithm) of three kinds of balls: most, disturbed, rare
SHAPES = {
    ("mainline", "idle"): ((1600, 0.06, 0.97), (2900, 0.2, 0.029), (6000, 0.2, 0.001)),
    ("mainline", "stress"): ((1110, 0.05, 0.93), (9000, 1.0, 0.06), (200_000, 0.9, 0.01)),
    ("rt", "idle"): ((1770, 0.03, 0.98), (2100, 0.15, 0.0195), (6000, 0.1, 0.0005)),
    ("rt", "stress"): ((1330, 0.04, 0.98), (1900, 0.25, 0.0195), (7000, 0.12, 0.0005)),
}


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def latencies(
    balls: int, seed: int, kernel: str = "rt", load: str = "stress"
) -> NDArray[np.float64]:
    """Draw ``balls`` latencies in nanoseconds: a mixture of log-normals with a long tail."""
    random = np.random.default_rng(seed)
    medians, sigmas, shares = np.array(SHAPES.get((kernel, load), SHAPES["rt", "stress"])).T
    kind = random.choice(3, size=balls, p=shares / shares.sum())
    return np.exp(random.standard_normal(balls) * sigmas[kind] + np.log(medians)[kind])


def manifest(  # every argument is a fact that some test changes
    *,
    balls: int,
    kernel: str = "rt",
    load: str = "stress",
    bottom_half: Any = "thread",
    priorities: Any = "default",
    top_half: Any = "hard",
    witness: Any = "none",
    memory: Any = "none",
    beneath: Any = "none",
    module: str = "racquet",
    program: Program | None = None,
    added: str = "",
    protocol: Protocol | None = None,
    drill: Drill | None = None,
    tick_hz: int = 1_000_000_000,
    seed: int = 1,
    strays: int = 0,
    doubles: int = 0,
    faults: Sequence[Fault] = (),
    time_note: str = TIME_NOTE,
    bench: Any = "replay",
    ended: Any = None,
    planned: int | None = None,
    timeout_ns: int = 100_000_000,
    gap_min_ns: int = 500_000,
    gap_max_ns: int = 1_500_000,
    rate_hz: float | None = None,
    tasks: Any = "as the rules want them",
    versions: Mapping[str, str] = MappingProxyType({}),
    created: str = "2026-01-01T00:00:00+00:00",
    release: str = "6.12.0-synthetic",
    serial: str | None = None,
    instrument: str = "virtual",
    command_line: str = "console=ttyAMA0",
    cycle_ns: int | None = None,
    processors: Any = None,
    interrupt_cpu: int | None = None,
    bottom_half_cpu: int | None = None,
    load_cpus: str | None = None,
    where: Sequence[OnProcessor] = (),
) -> Manifest:
    """Return a manifest without files, as ``seal`` takes it."""
    if tasks == "as the rules want them":
        tasks = "evl" if (kernel, load) == ("xenomai", "xload") else None
    return Manifest(
        schema_version=SCHEMA_VERSION,
        bench=bench,
        time_note=time_note,
        created=created,
        instrument=Instrument(
            kind=instrument,
            firmware="1",
            firmware_sha256=digest("firmware"),
            tick_hz=tick_hz,
            serial=serial,
        ),
        target=Target(
            board="none (synthetic)",
            kernel=kernel,
            release=release,
            version="#1 SMP " + ("PREEMPT_RT" if kernel == "rt" else "PREEMPT_DYNAMIC"),
            config_sha256=digest(f"config {kernel}"),
            command_line=command_line,
            added=added,
            processors=processors,
            interrupt_cpu=interrupt_cpu,
            module=module,
            program=program,
            module_sha256=digest("racquet"),
            top_half=top_half,
            witness=witness,
            memory=memory,
            beneath=beneath,
            bottom_half=bottom_half,
            bottom_half_cpu=bottom_half_cpu,
            priorities=priorities,
            tasks=[Priority(task="irq/23-racquet", policy="SCHED_FIFO", priority=50)],
        ),
        load=LoadRecord(
            name=load,
            command=STRESS if load == "stress" else "",
            tasks=tasks,
            cpus=load_cpus,
            cycle_ns=cycle_ns,
        ),
        protocol=protocol
        or Protocol(
            loop="open" if rate_hz else "closed",
            rate_hz=rate_hz,
            balls=planned or max(balls, 1),
            seed=seed,
            gap_min_ns=gap_min_ns,
            gap_max_ns=gap_max_ns,
            pulse_ns=1_000,
            timeout_ns=timeout_ns,
            settle_ns=1_000_000_000,
        ),
        drill=drill,
        counts=Counts(balls=0, misses=0, strays=strays, doubles=doubles, where=list(where)),
        ended=ended or ("fault" if faults else "complete"),
        faults=list(faults),
        suspect=bool(faults),
        tool=Tool(tennis="0", versions={"synthetic": "1", **versions}),
        files={},
    )


def table(
    rise: NDArray[Any],
    schedule: NDArray[Any],
    *,
    misses: NDArray[Any] | None,
    tick_hz: int,
    later_ns: int = 0,
    seed: int = 1,
) -> Table:
    """Return balls from ticks to rise and from rise to fall; ``misses`` marks those unanswered.

    The first is served ``later_ns`` later than it would be; ``seed`` draws the gaps.
    """
    balls = rise.size
    # no ball is served before the one before it is over
    over = rise.astype(np.int64) + schedule
    steps = np.random.default_rng([balls, seed, later_ns]).integers(500_000, 1_500_000, balls)
    steps[1:] = np.maximum(steps[1:], over[:-1] + 10_000)
    served = np.cumsum(steps) + later_ns
    columns = [
        Column(np.arange(balls, dtype=np.uint32)),
        Column(ticks_to_ns(served.astype(np.int64), tick_hz)),
        Column(rise.astype(np.uint32), misses),
        Column((rise.astype(np.int64) + schedule).astype(np.uint32), misses),
    ]
    return Table(dict(zip(COLUMNS, columns, strict=True)))


def make_rally(
    out: Path,
    *,
    balls: int = 2_000,
    misses: int = 0,
    rise: Sequence[int] | NDArray[Any] | None = None,
    schedule: Sequence[int] | NDArray[Any] | None = None,
    tick_hz: int = 1_000_000_000,
    seed: int = 1,
    events: Sequence[dict[str, Any]] = (),
    console: str = "[    0.000000] Booting a kernel that does not exist\n",
    later_ns: int = 0,
    **about: Any,
) -> Rally:
    """Seal a rally at ``out``; ``rise`` and ``schedule`` are ticks, or drawn from a mixture.

    ``misses`` balls, spread evenly, have no reply; ``about`` goes to ``manifest``.
    """
    what = {key: about[key] for key in ("kernel", "load") if key in about}
    per_ns = tick_hz / 1e9
    if rise is None:
        rise = np.rint(latencies(balls, seed, **what) * per_ns)
    if schedule is None:
        schedule = np.rint(latencies(len(rise), seed + 1, **what) * 1.3 * per_ns)
    rise, schedule = np.asarray(rise, np.int64), np.asarray(schedule, np.int64)
    missed = np.zeros(rise.size, np.bool_)
    if misses:
        missed[np.linspace(0, rise.size - 1, misses).astype(int)] = True
    latest_ns = int((rise + schedule).max(initial=0) / per_ns) + 1
    about.setdefault("timeout_ns", max(100_000_000, latest_ns))
    made = manifest(balls=rise.size, tick_hz=tick_hz, seed=seed, **about)
    rows = table(rise, schedule, misses=missed, tick_hz=tick_hz, later_ns=later_ns, seed=seed)
    begun = {"at_ns": 0, "what": "load_started"}
    return sealed(out, made, rows, [begun, *events], console.encode())


def sealed(
    out: Path,
    made: Manifest,
    rows: Any,
    events: Sequence[dict[str, Any]] = (),
    console: bytes = b"",
) -> Rally:
    """Seal balls at ``out``, as if somebody had played them."""
    part = part_path(out)
    part.mkdir(parents=True)
    (part / PLAN).write_text("{}\n")
    (part / JOURNAL).write_bytes(b"")
    (part / CONSOLE).write_bytes(console)
    return seal(part, out, made, rows, list(events))


def sealed_again(rally: Rally, out: Path, rows: Any = None, **changes: Any) -> Rally:
    """Seal a rally's balls, or other rows in their place, with some of its manifest changed."""
    made = rally.manifest.model_copy(update={"files": {}, **changes})
    console = (rally.path / CONSOLE).read_bytes()
    return sealed(out, made, rally.batches() if rows is None else rows, rally.events, console)


def saying(rally: Rally, **parts: Any) -> Rally:
    """Return a rally with a changed manifest; a mapping changes a part of it."""
    made = rally.manifest
    changes = {
        name: getattr(made, name).model_copy(update=new) if isinstance(new, dict) else new
        for name, new in parts.items()
    }
    return replace(rally, manifest=made.model_copy(update=changes))
