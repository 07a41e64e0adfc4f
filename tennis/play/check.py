"""Play a rally of the virtual bench again, and compare the result with all of its folder.

A folder's hashes show damage only: a forger can write a hash that fits. The same plan and the same
versions give the same folder, so a replay shows whether it is what it claims to be. Every field of
the manifest and every file is compared, unless it is named here as one that is not.
"""

import collections
import itertools
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tennis.bench import box
from tennis.bench.loads import CYCLE
from tennis.bench.protocol import Bench, RunRecord, Session
from tennis.bench.registry import bench_for
from tennis.kit import wire
from tennis.kit.edition import KEY
from tennis.kit.errors import BenchError, DiskFullError, RallyError, UsageError
from tennis.kit.units import format_count
from tennis.play import capture
from tennis.play.rally import Watch, play_on
from tennis.play.repeat import balls_of, changes, compare_balls, of_a_ball, plan_again, unlike
from tennis.play.sealing import instrument_counts
from tennis.rally import Rally, open_folder
from tennis.rally.balls import records
from tennis.rally.folder import BALLS, CAPTURE, CONSOLE, EVENTS, INSTANTS, MANIFEST, STAGES
from tennis.rally.in_play import RallyInPlay
from tennis.rally.journal import Frame
from tennis.rally.manifest import Manifest, StrictModel
from tennis.rally.plan import Plan
from tennis.rally.shots import noun_of
from tennis.rally.text import plain, quoted
from tennis.report.umpire.simulate import SimulatedRally

# fields of the manifest that no replay can tell: when, and by whom
NOT_COMPARED = ("created", "operator")
# fields that are compared in another way: versions that differ are reported, the files are compared
# and not their hashes, and the other two depend on how the manifest is written
COMPARED_OTHERWISE = ("tool", "files", "seal", "schema_version")
MADE_AFTERWARDS = {STAGES: "stages", INSTANTS: "shots"}
FILES = (BALLS, EVENTS, CONSOLE)  # of every rally that can be played again
BRICKWALL = "brickwall"  # on the virtual bench: on an emulated Pico
EMULATOR = b"qemu: "  # begins QEMU's words about the machine that it ran on
# begins a count of the memory's model, which repeats
COUNTED = re.compile(rb"^qemu: memory: ((?:missed|executed) .*)")
CHUNK = 1 << 20  # bytes
FRAME_BALLS = 64  # as target/virtual/instrument.c sends them


@dataclass(frozen=True)
class _Checked:
    """A rally that was played again, with all that was compared the same."""

    rally: Rally
    balls: int
    changed: list[str]  # versions that differ, and made no difference
    not_compared: list[str]  # what, and why

    @property
    def again(self) -> str:
        """Say what was played again: balls, shots or repetitions."""
        return format_count(self.balls, noun_of(self.rally.manifest))


def check_rally(
    path: Path,
    *,
    kernel: str | None = None,
    racquet: Path | None = None,
    program: Path | None = None,
    watch: Watch | None = None,
) -> _Checked:
    """Play a rally again, all of it, and compare all of its folder.

    ``kernel`` is the built tree of a rally that was played on one, ``racquet`` the source of a
    user's own Racquet, ``program`` the program that answered in its place. If the rally did not
    reach its end, the balls that it holds are compared. Raises UsageError for what cannot be played
    again, RallyError if it is not what it claims to be, BenchError, and KeyboardInterrupt if
    ``watch`` stops it.
    """
    rally = open_folder(path)
    plan = plan_again(rally, kernel, racquet, program=program, any_instrument=True)
    if not rally.balls:
        raise UsageError(f"{rally.path} holds no balls: there is nothing to check")
    bench = bench_for(plan)
    versions = bench.versions(plan)
    plan = plan.model_copy(update={"versions": versions})

    def differs(text: str) -> RallyError:
        return unlike(rally, text, versions)

    repeating = _Repeating(bench, rally, watch or Watch(), differs)
    killed_before = box.oom_kills()
    with tempfile.TemporaryDirectory(prefix="tennis-check-") as scratch:
        again = _played_again(repeating, plan, Path(scratch) / "again")
        changed = changes(rally, versions)
        found, not_compared = _compare(
            rally, again, lambda: bench.circumstances(plan, rally.path), changed
        )
    if found and box.oom_kills() > killed_before:  # QEMU may have been one of them
        raise BenchError(
            f"{rally.path} could not be played again: the kernel ended processes of this machine "
            "meanwhile, for want of memory",
            next_step="try again when the machine has less to do",
        )
    if found:
        raise differs(found)
    return _Checked(rally, rally.balls, changed, not_compared)


class _Repeating:
    """A rally's bench; the first ball that is not the rally's ends what it plays."""

    def __init__(
        self, bench: Bench, rally: Rally, watch: Watch, unlike: Callable[[str], RallyError]
    ) -> None:
        self.kind, self.repeats = bench.kind, bench.repeats
        self.time_note, self.versions = bench.time_note, bench.versions
        self.circumstances = bench.circumstances
        self.watch = watch
        self._bench, self._rally, self._unlike = bench, rally, unlike
        self._table = balls_of(rally)

    def start(self, plan: Plan, folder: Path) -> Session:
        """Begin to play, and to compare."""
        session = self._bench.start(plan, folder)
        return _Compared(session, self._rally, self._table, self.watch, self._unlike)


class _Compared:
    """A session whose balls must be those of a rally.

    It runs to its end if the rally did. Otherwise it ends when it is surely beyond the rally's
    balls: the instrument may have held a frame of balls that was lost.
    """

    def __init__(
        self,
        session: Session,
        rally: Rally,
        table: NDArray[np.int64],
        watch: Watch,
        unlike: Callable[[str], RallyError],
    ) -> None:
        self._session = session
        self._table, self._watch, self._unlike = table, watch, unlike
        self._tick_hz = rally.tick_hz
        self._complete = rally.manifest.ended == "complete"
        self.stop, self.close = session.stop, session.close

    @property
    def doing(self) -> str:
        """Describe the activity while no ball comes."""
        return self._session.doing

    @property
    def garbage_bytes(self) -> int:
        """Return how many bytes came between frames."""
        return self._session.garbage_bytes

    def frames(self) -> Iterator[Frame | None]:
        """Yield the frames. Raises RallyError, and KeyboardInterrupt at a stop."""
        came, held, stopped = 0, len(self._table), False
        for frame in self._session.frames():
            if frame is not None and frame.kind == wire.BALLS:
                balls = records(frame.payload)
                compare_balls(balls, self._table, came, self._unlike, self._tick_hz)
                came += balls.size
            if came > held and self._complete:
                raise self._unlike(f"it continues after its {format_count(held, 'ball')}")
            if came > held + FRAME_BALLS and not stopped:
                stopped = True
                self._session.stop()
            if self._watch.stop():
                raise KeyboardInterrupt
            yield frame


def _played_again(bench: _Repeating, plan: Plan, out: Path) -> Rally:
    """Play a plan into a sealed folder, as every rally is played."""
    try:
        with RallyInPlay.begin(out, plan) as in_play:
            return play_on(bench, in_play, Watch(bench.watch.observe))
    except DiskFullError as error:
        why = error.message.partition(" for ")[0]  # no space is left, or a limit
        raise BenchError(
            f"{why} for the rally that a check plays",
            next_step="free some, or name another folder with TMPDIR",
        ) from error


def difference(
    rally: Rally, again: Rally, run_record: Callable[[], RunRecord], scratch: Path
) -> str:
    """Return the first difference of a rally from one of its plan played here; empty: none.

    ``run_record`` returns what the rally's own console tells; ``scratch`` is a folder to work in.
    """
    if found := ball_difference(rally, again):
        return found
    changed = changes(rally, again.manifest.tool.versions)
    return _compare(rally, again, run_record, changed, scratch)[0]


def ball_difference(rally: Rally, again: Rally) -> str:
    """Say at which ball a rally differs from one that was played here; empty: at none.

    If the rally did not reach its end, the balls that it holds are compared.
    """
    ours, theirs = balls_of(rally), balls_of(again)
    if rally.manifest.ended == "complete" and len(ours) > len(theirs):
        return f"it continues after its {format_count(len(theirs), 'ball')}"
    count = min(len(ours), len(theirs))
    for number in np.flatnonzero((ours[:count] != theirs[:count]).any(axis=1))[:1]:
        return of_a_ball(int(number), ours[number], theirs[number])
    if len(theirs) < len(ours) or (rally.manifest.ended == "complete" and len(ours) < len(theirs)):
        return f"it ended after {format_count(count, 'ball')}"
    return ""


def _compare(
    rally: Rally,
    again: Rally,
    run_record: Callable[[], RunRecord],
    changed: Iterable[str],
    scratch: Path | None = None,
) -> tuple[str, list[str]]:
    """Compare two folders. Return the first difference (empty: none), and what is left out.

    ``run_record`` returns what the rally's own console tells, ``changed`` are versions that differ.
    ``scratch`` is a folder to work in; None: the one in which the folder of ``again`` is.
    """
    scratch = scratch or again.path.parent
    if again.balls < rally.balls:
        faults = [plain(fault.message, 200) for fault in again.manifest.faults]
        why = f": {faults[0]}" if faults else ""
        return f"it ended after {format_count(again.balls, 'ball')}{why}", []
    left_out: list[str] = []
    ended = rally.manifest.ended
    # a fault that came again came at the same ball
    whole = ended == "complete" or (
        ended == "fault" and again.balls == rally.balls and again.manifest.ended == ended
    )
    found = (
        _files(rally) or _console(rally, again, left_out, whole=whole) or _capture(rally, scratch)
    )
    if found:
        return found, []
    known = None if whole else run_record()  # the console is no stranger's any more
    expected = again.manifest if known is None else _cut(rally, again, known)
    found = _events(rally, again, known, scratch) or _first_difference(
        rally.manifest, expected, changed
    )
    if not whole:
        left_out.append("what came after its last ball: the rally did not finish")
    if not whole and ended == "fault":
        left_out.append("faults: what ended the rally did not happen this time")
    for name, command in MADE_AFTERWARDS.items():
        if (rally.path / name).exists():
            how = f"remove it, and run: tennis explain {command} {quoted(rally.path)}"
            left_out.append(f"{name}: it was made afterwards (to be sure of it, {how})")
    instrument = rally.manifest.instrument
    if instrument.kind == BRICKWALL and instrument.calibration:
        left_out.append(
            "calibration: the player's machine keeps what tennis brickwall verify found"
        )
    there = [name for name in NOT_COMPARED if getattr(rally.manifest, name)]
    return found, [*left_out, f"{' and '.join(there)}: only the player knows"]


def _first_difference(claimed: Manifest, replayed: Manifest, changed: Iterable[str]) -> str:
    """Say which field of a manifest a replay contradicts; empty: none of those compared."""
    # a build that differs is named among the versions
    builds = {"racquet_sha256": "module_sha256", "kernel_config_sha256": "config_sha256"}
    target_other = {field for version, field in builds.items() if version in changed}
    if claimed.tool.names_a_folder:  # the folder's name, in place of flavour and release
        target_other.add("kernel")
    # of the virtual instrument the firmware's hash is that of its version
    instrument_said = (
        "instrument_sha256" in changed
        and claimed.instrument.firmware_sha256 == claimed.tool.versions.get("instrument_sha256")
    )
    # once a rally did not say it, nor do its versions
    unsaid = CYCLE in changed and claimed.load.cycle_ns is None
    # nor the processors of pings, which an unfinished rally lacks, too
    uncounted = (bool(changed) or claimed.ended != "complete") and not claimed.counts.where
    # how exact an emulated Brickwall is, each machine keeps for itself
    brickwall = replayed.instrument.kind == BRICKWALL
    # nor, in edition 0, how long an instruction took, but in the words of its time note
    if KEY in changed and claimed.target.instruction_ns is None:
        target_other.add("instruction_ns")
    pairs: list[tuple[str, Any, Any]] = []
    if "tennis" not in changed:
        was, now = (one.tool.tennis.partition("+")[0] for one in (claimed, replayed))
        pairs.append(("tool tennis", was, now))
    for name in type(claimed).model_fields:
        if name in NOT_COMPARED or name in COMPARED_OTHERWISE:
            continue
        ours, theirs = getattr(claimed, name), getattr(replayed, name)
        if isinstance(ours, StrictModel) and isinstance(theirs, StrictModel):
            pairs += [
                (f"{name} {key}", getattr(ours, key), getattr(theirs, key))
                for key in type(ours).model_fields
                if not (name == "target" and key in target_other)
                and not (instrument_said and (name, key) == ("instrument", "firmware_sha256"))
                and not (unsaid and (name, key) == ("load", "cycle_ns"))
                and not (brickwall and (name, key) == ("instrument", "calibration"))
                and not (uncounted and (name, key) == ("counts", "where"))
            ]
        else:
            pairs.append((name, ours, theirs))
    return next(
        (
            f"its {name} is {_words(ours)}, and was {_words(theirs)} now"
            for name, ours, theirs in pairs
            if ours != theirs
        ),
        "",
    )


def _words(value: Any) -> str:
    """Write a field's value; a list as its entries."""
    if isinstance(value, list):
        return plain("; ".join(map(str, value)) or "none", 200)
    return plain(str(value), 80)


def _cut(rally: Rally, again: Rally, record: RunRecord) -> Manifest:
    """Return the manifest of a rally that did not reach its end.

    The rally's console and events were compared before.
    """
    counts = instrument_counts(_instrument_events(rally))
    manifest = rally.manifest
    # what ended the rally did not happen again, and is unknown
    faults = manifest.faults if manifest.ended == "fault" else record.faults
    return again.manifest.model_copy(
        update={
            "instrument": record.instrument,
            "target": record.target,
            "load": record.load,
            "line": record.line,
            "counts": again.manifest.counts.model_copy(
                update={"balls": rally.balls, "misses": rally.misses, **counts}
            ),
            "ended": "fault" if faults else "interrupted",
            "faults": faults,
            "suspect": bool(faults),
        }
    )


def _instrument_events(rally: Rally) -> collections.Counter[str]:
    """Count the instrument's events by name; unlisted ones by their number."""
    noted: collections.Counter[str] = collections.Counter()
    for event in rally.each_event():
        if "at_ns" in event:
            name, value = str(event.get("what")), event.get("value")
            noted[name] += value if name == "unlisted" and isinstance(value, int) else 1
    return noted


# --- files ---


def _files(rally: Rally) -> str:
    """Say which file a rally should not list, or lacks."""
    own = set(rally.manifest.files) - {CAPTURE}
    strange, missing = own - set(FILES), set(FILES) - own
    if strange:
        return f"its {MANIFEST} lists {plain(min(strange), 80)}, which no such rally has"
    return f"its {MANIFEST} lists no {min(missing)}" if missing else ""


def _console(rally: Rally, again: Rally, left_out: list[str], *, whole: bool) -> str:
    ours, theirs = rally.path / CONSOLE, again.path / CONSOLE
    (size, behind), (size_again, behind_again) = _split(ours), _split(theirs)
    if behind or behind_again:
        left_out.append(f"{CONSOLE}'s last lines: QEMU wrote them about the machine that it ran on")
    misses, misses_again = (_misses(lines) for lines in (behind, behind_again))
    if whole and misses and misses != misses_again:
        return f"its {CONSOLE} has counts of the memory: {misses}, and they were {misses_again} now"
    with ours.open("rb") as one, theirs.open("rb") as other:
        at = _same(one, other, min(size, size_again))
    if at is None and (size == size_again or (size < size_again and not whole)):
        return ""
    at = min(size, size_again) if at is None else at
    return (
        f"its {CONSOLE} differs from byte {at:,} on: it has {_line(ours, at)!a}, and that was "
        f"{_line(theirs, at)!a} now"
    )


def _split(console: Path) -> tuple[int, list[bytes]]:
    """Return how long a console is without QEMU's lines at its end, and these lines."""
    with console.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - CHUNK))
        lines = file.read().splitlines(keepends=True)
    behind: list[bytes] = []
    while lines and lines[-1].startswith(EMULATOR):
        behind.insert(0, lines.pop())
    return size - sum(map(len, behind)), behind


def _misses(behind: list[bytes]) -> str:
    """Return the counts of the memory's model, for people; empty without a profile."""
    counts = filter(None, map(COUNTED.match, behind))
    return ", ".join(plain(count[1].decode(errors="replace").strip(), 60) for count in counts)


def _same(one: IO[bytes], other: IO[bytes], size: int) -> int | None:
    """Return the first difference of two files in ``size`` bytes, or None."""
    at = 0
    while at < size:
        ours, theirs = (file.read(min(CHUNK, size - at)) for file in (one, other))
        if ours != theirs:
            pairs = zip(ours, theirs, strict=False)
            return at + sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        at += len(ours)
    return None


def _line(console: Path, at: int) -> str:
    """Return the line of a console in which a byte is, for people."""
    with console.open("rb") as file:
        file.seek(max(0, at - 200))
        before = file.read(min(at, 200)).rpartition(b"\n")[2]
        text = before + file.read(200).partition(b"\n")[0]
    return plain(text.decode(errors="replace").strip(), 100)


def _events(rally: Rally, again: Rally, record: RunRecord | None, scratch: Path) -> str:
    """Say which event differs. ``record``: from the console of an unfinished rally."""
    expected = again.each_event() if record is None else _cut_events(rally, again, record)
    notes = ({"what": "umpire", "text": text} for text in _umpired(rally, scratch))
    both = itertools.zip_longest(
        _of_the_rally(rally.each_event()), itertools.chain(_of_the_rally(expected), notes)
    )
    for number, (ours, theirs) in enumerate(both, 1):
        if ours != theirs:
            return (
                f"its {EVENTS} holds {_words(ours or 'no more')} as event {number}, "
                f"and that was {_words(theirs or 'no more')} now"
            )
    return ""


def _of_the_rally(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Leave out QEMU's words about the machine that it ran on."""
    return (event for event in events if event.get("what") != "emulator")


def _cut_events(rally: Rally, again: Rally, record: RunRecord) -> Iterator[dict[str, Any]]:
    """Yield the events that a rally must have that was stopped somewhere behind its last ball."""
    came = sum("at_ns" in event for event in rally.each_event())
    last_ns = int(balls_of(rally)[-1, 0])
    for number, event in enumerate(again.each_event()):
        if "at_ns" not in event or (number >= came and event["at_ns"] > last_ns):
            break
        yield event
    yield from record.events


def _umpired(rally: Rally, scratch: Path) -> list[str]:
    """Return lines about a rally's capture, which is simulated here; nothing: it has none."""
    told = CAPTURE in rally.manifest.files or any(
        event.get("what") == "umpire" for event in rally.each_event()
    )
    return [capture.simulated(scratch, SimulatedRally.of(rally))] if told else []


def _capture(rally: Rally, scratch: Path) -> str:
    """Say whether a capture is not the one that is made from the rally's balls."""
    ours = rally.file(CAPTURE)
    if ours is None:
        return ""
    _umpired(rally, scratch)
    theirs = scratch / CAPTURE
    try:
        if theirs.exists() and _same_members(ours, theirs):
            return ""
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error):
        pass  # damaged, or made in another way: not the same
    return f"its {CAPTURE} is not the one that is made from its balls"


def _same_members(ours: Path, theirs: Path) -> bool:
    with zipfile.ZipFile(ours) as one, zipfile.ZipFile(theirs) as other:
        if one.namelist() != other.namelist():
            return False
        for name in other.namelist():
            size = other.getinfo(name).file_size
            if one.getinfo(name).file_size != size:
                return False
            with one.open(name) as left, other.open(name) as right:
                if _same(left, right, size) is not None:
                    return False
    return True
