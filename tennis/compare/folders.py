"""The rallies of two sides, read from folders: which belong together, and in what they differ."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from tennis.compare import loops
from tennis.compare.boots import Boot
from tennis.compare.judgement import Pair, Suspects
from tennis.compare.order import DRIFT, InTime, drift, in_turns
from tennis.compare.rallies import BENCH_PARTS, KERNEL_PARTS, Measured, boot_of
from tennis.compare.sides import Side
from tennis.kit.errors import RallyError, UsageError
from tennis.kit.units import format_count, format_ns
from tennis.match.folder import MATCH, open_match
from tennis.match.plan import RALLIES_MAX
from tennis.rally import Rally
from tennis.rally.agreement import apart
from tennis.rally.copies import Copies, answers_of
from tennis.rally.cycles import too_short
from tennis.rally.folder import MANIFEST
from tennis.rally.manifest import TIMELESS, BenchKind
from tennis.rally.memory import stalls_in
from tennis.rally.opening import open_folder
from tennis.rally.serving import IN_WORDS
from tennis.rally.settings import OF_A_BOOT, SETTINGS, facts
from tennis.rally.shots import are_shots, span_ns
from tennis.rally.text import plain

RECORD = "compare.json"  # of a folder that `tennis compare` wrote
LATENCIES: tuple[Measured, ...] = ("interrupt", "scheduling")
WORDS_MAX = 60


@dataclass
class Cell:
    """The boots of one kind on one side, and why others are left out."""

    name: str  # what a match calls the kind; empty if a folder holds one kind
    rallies: list[Rally] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    suspect: int = 0  # of those that are left out

    def check_boots(self, path: Path) -> None:
        """Raise RallyError unless all boots of a cell were played alike, each once."""
        copies = Copies()
        for rally in self.rallies:
            for what, (first, here) in _unlike(self.rallies[0], rally).items():
                raise RallyError(
                    f"{path} is not a side: {self.rallies[0].path.name} and "
                    f"{rally.path.name} differ in {what} ({first}, {here})",
                    next_step="name folders whose rallies were all played alike",
                )
            if copied := copies.original_of(rally):
                raise RallyError(f"{rally.path} {copied}", next_step="name each boot once")


def read_side(path: Path, names: Sequence[str] | None = None) -> list[Cell]:
    """Read a rally, a match, or a folder of rallies, or of control loops.

    Raises RallyError, UsageError.

    ``names``: the only rallies of a folder that count.
    """
    if (path / RECORD).is_file():
        raise UsageError(
            f"{path} holds both sides of a comparison",
            next_step=f"name one of them: {path / 'before'} or {path / 'after'}",
        )
    if (path / MATCH).is_file():
        cells = _cells_of_match(path)
    elif (path / MANIFEST).is_file() or not path.is_dir():
        cells = [_cell([path])]
    else:
        every = path.iterdir() if names is None else (path / name for name in names)
        inside = sorted(one for one in every if (one / MANIFEST).is_file())
        if not inside:
            raise UsageError(
                f"{path} holds no rally", next_step="name a rally, a match, or a folder of rallies"
            )
        if len(inside) > RALLIES_MAX:
            raise RallyError(f"{path} holds more than {RALLIES_MAX:,} rallies")
        cells = [_cell(inside)]
    if not cells:
        raise UsageError(
            f"{path} is a match of drills alone",
            next_step="name the folders of one drill, periodic, as a side",
        )
    for cell in cells:
        cell.check_boots(path)
    return [cell for cell in cells if cell.rallies or cell.left_out]


def _cells_of_match(path: Path) -> list[Cell]:
    match = open_match(path)
    cells: dict[str, Cell] = {}
    for planned in match.scheduled:
        if planned.plan.drill:
            continue
        name = planned.name
        if planned.repetition > 1:
            name = name.removesuffix(f"-r{planned.repetition}")
        cell = cells.setdefault(name, Cell(name))
        rally = match.rally(planned.name)
        _take(cell, planned.name, rally or match.trouble(planned.name))
    return list(cells.values())


def _cell(paths: Sequence[Path]) -> Cell:
    cell = Cell("")
    for path in paths:
        rally = open_folder(path)
        loops.is_loop(rally)  # other drills are refused
        _take(cell, path.name, rally)
    return cell


def _take(cell: Cell, name: str, rally: Rally | str) -> None:
    """Take a boot, or say why it does not speak."""
    if isinstance(rally, str):
        cell.left_out.append(f"{name} {rally}")
    elif rally.manifest.suspect:
        why = plain(rally.manifest.faults[0].message, 120) if rally.manifest.faults else "suspect"
        cell.left_out.append(f"{name} is suspect ({why})")
        cell.suspect += 1
    elif rally.manifest.ended != "complete":
        cell.left_out.append(f"{name} was interrupted after {rally.balls:,} balls")
    elif short := too_short(rally):
        cell.left_out.append(f"{name} {short}")
    else:
        cell.rallies.append(rally)


def _unlike(one: Rally, other: Rally) -> dict[str, tuple[str, str]]:
    """Return the differences of two rallies except for their seed: name -> both values."""
    first, second = _facts(one) | _settings(one, other), _facts(other) | _settings(other, one)
    found = {
        what: (plain(here, WORDS_MAX), plain(second.get(what, ""), WORDS_MAX))
        for what, here in (dict.fromkeys(second, "") | first).items()
        if here != second.get(what, "")
    }
    # another kernel is another build of it, and of the Racquet; so is what answers in its place
    if found.keys() & {SETTINGS[name].words for name in ("kernel", "beneath", "stage", "racquet")}:
        for part in KERNEL_PARTS.values():
            found.pop(f"build of {part}", None)
    return found


def _facts(rally: Rally) -> dict[str, str]:
    manifest = rally.manifest
    target, protocol, versions = manifest.target, manifest.protocol, manifest.tool.versions
    gaps = f"{protocol.gap_min_ns / 1000:g} to {protocol.gap_max_ns / 1000:g} us"
    served = f"{protocol.rate_hz:g} Hz" if protocol.rate_hz else f"gaps of {gaps}"
    if are_shots(protocol):
        served = f"at random instants of {span_ns(protocol) / 1000:g} us"
    drill = manifest.drill
    found: dict[str, str] = {
        "bench": manifest.bench,
        "what it does": f"{drill.name} every {format_ns(drill.period_ns)}" if drill else "",
        "context": drill.context if drill else "",
        # a memory is a setting, which two sides may differ in; the meaning of a nanosecond is not
        "times": manifest.time_note.removesuffix(stalls_in(target.memory)),
        **facts(manifest),
        "kernel": f"{target.kernel} {target.release}",
        "instrument": manifest.instrument.kind,
        "governor": target.governor or "",
        "link to the GPIO": target.gpio_link or "",
        "loop": f"{protocol.loop}, {served}",
    }
    said = {"loop", "rate_hz", "gap_min_ns", "gap_max_ns", *OF_A_BOOT}
    for name, value in protocol:
        if name not in said:
            what, words = IN_WORDS.get(name, (name.replace("_", " "), "{}"))
            found[what] = words.format(value)
    builds: dict[str, list[str]] = {}
    for name, part in {**BENCH_PARTS, **KERNEL_PARTS}.items():
        builds.setdefault(f"build of {part}", []).append(versions.get(name, "")[:12])
    return found | {part: " ".join(filter(None, some)) for part, some in builds.items()}


def _settings(rally: Rally, other: Rally) -> dict[str, str]:
    """Return a running kernel's settings, if both rallies say theirs."""
    ours, theirs = (one.manifest.target.kernel_settings for one in (rally, other))
    if ours is None or theirs is None:
        return {}
    return {f"setting {name}": value for name, value in ours.items()}


@dataclass(frozen=True)
class Sides:
    """Two sides that can be compared."""

    pairs: list[Pair]  # for judging
    cells: list[tuple[Cell, Cell]]  # before and after, of each kind
    differences: dict[str, tuple[str, str]]  # of the first kind, with both values
    remarks: list[str]  # rallies that are left out
    time: InTime  # in which order they were played

    @property
    def suspects(self) -> list[Suspects]:
        """Return the numbers of suspect boots, for each kind that has some."""
        return [
            Suspects(
                one.name or other.name,
                one.suspect,
                other.suspect,
                len(one.rallies) + one.suspect,
                len(other.rallies) + other.suspect,
            )
            for one, other in self.cells
            if one.suspect or other.suspect
        ]


def matched(
    before: Sequence[Cell],
    after: Sequence[Cell],
    *,
    recorded: bool = True,
    timeless: Collection[BenchKind] = TIMELESS,
) -> Sides:
    """Put the kinds of two sides beside each other. Raises UsageError if that cannot be.

    ``timeless``: benches on which it does not matter when a boot is played.

    ``recorded``: somebody names folders, which may be copies. Two sides that were played for this
    may be alike to the byte, as builds that differ in a comment are.
    """
    cells, remarks = _kinds(before, after)
    for one, other in cells:
        for side, cell in (("before", one), ("after", other)):
            remarks += [f"{side}: {words}" for words in cell.left_out]
        if not one.rallies or not other.rallies:
            raise UsageError(
                f"{'after' if one.rallies else 'before'} has no boot that can be compared: "
                + "; ".join((one.left_out + other.left_out)[:1] or ["nothing was played"])
            )
        _refuse_strangers(one, other)
        _refuse_unknown_links(one, other)
        if recorded:
            _refuse_copies(one, other)
    pairs, times = [], []
    for one, other in cells:
        lengths = {cell.rallies[0].manifest.protocol.balls for cell in (one, other)}
        if len(lengths) > 1:
            remarks.append(
                f"of each boot the first {min(lengths):,} balls are compared: boots have "
                + " and ".join(f"{length:,}" for length in sorted(lengths))
            )
        remarks += _one_run_until(one, other)
        is_loop = one.rallies[0].manifest.drill is not None
        latencies = (loops.JITTER,) if is_loop else LATENCIES
        both = ({"before": one.rallies}, {"after": other.rallies})
        times.append(in_time(*both, latencies, timeless))
        name = one.name or other.name
        pairs += [
            Pair(name, latency, *_partners(one, other, latency, min(lengths)))
            for latency in latencies
        ]
        if is_loop:
            drift, boots = loops.drifts_of([one.rallies, other.rallies], min(lengths))
            sides = (_side(cell, some) for cell, some in zip((one, other), boots, strict=True))
            pairs.append(Pair(name, loops.DRIFT, *Side.with_partners(*sides), drift))
    time = next((one for one in times if one.condition), InTime())
    drifts = [words for one in times for words in one.drifts]
    remarks += [*filter(None, [time.words]), *drifts]
    alone = len(cells[0][0].rallies) + len(cells[0][1].rallies) - 2 * len(pairs[0].before.boots)
    if len(pairs[0].before.boots) == len(pairs[0].after.boots) and alone:
        left_out = "is left out" if alone == 1 else "are left out"
        remarks.append(
            f"{format_count(alone, 'boot')} without a partner of the same seed {left_out}"
        )
    return Sides(
        pairs,
        cells,
        _unlike(cells[0][0].rallies[0], cells[0][1].rallies[0]),
        remarks,
        InTime(time.in_turns, drifts),
    )


def _one_run_until(one: Cell, other: Cell) -> list[str]:
    """Say until when an instant is the same in both of the first pair of shots with one seed."""
    theirs = {rally.manifest.protocol: rally for rally in other.rallies}
    for ours in one.rallies:
        if are_shots(ours.manifest.protocol) and (after := theirs.get(ours.manifest.protocol)):
            return [f"seed {ours.manifest.protocol.seed}: {apart(ours, after).words}"]
    return []


def in_time(
    before: Mapping[str, Sequence[Rally]],
    after: Mapping[str, Sequence[Rally]],
    latencies: Sequence[Measured] = LATENCIES,
    timeless: Collection[BenchKind] = TIMELESS,
) -> InTime:
    """Say in which order the boots of two sides were played, and which of them drifted meanwhile.

    A side is one cell or more, by what people call it.
    """
    sides = [[rally for some in side.values() for rally in some] for side in (before, after)]
    if not all(sides) or sides[0][0].manifest.bench in timeless:
        return InTime()
    drifts = []
    cells = {**before, **after}
    for name, some in cells.items():
        ordered = sorted(some, key=lambda rally: rally.manifest.created)
        for latency in latencies:
            chance = drift([boot_of(rally, latency).median() for rally in ordered])
            if chance <= DRIFT / (len(cells) * len(latencies)):
                what = latency if latency == loops.JITTER else f"{latency} latency"
                drifts.append(
                    f"{name}: the {what}'s median drifted: boots that follow each other are "
                    f"alike (Bartels' test, p = {chance:.2g})"
                )
    times = ([rally.manifest.created for rally in side] for side in sides)
    return InTime(in_turns(*times), drifts)


def _partners(
    one: Cell, other: Cell, latency: Measured, at_most: int | None = None
) -> tuple[Side, Side]:
    sides = (
        _side(cell, [boot_of(rally, latency, at_most) for rally in cell.rallies])
        for cell in (one, other)
    )
    return Side.with_partners(*sides)


def _side(cell: Cell, boots: Sequence[Boot]) -> Side:
    return Side(boots, [rally.manifest.protocol.seed for rally in cell.rallies])


def _kinds(
    before: Sequence[Cell], after: Sequence[Cell]
) -> tuple[list[tuple[Cell, Cell]], list[str]]:
    if len(before) == len(after) == 1:
        return [(before[0], after[0])], []
    ours, theirs = ({cell.name: cell for cell in side} for side in (before, after))
    names = [name for name in ours if name in theirs]
    if not names:
        known = ", ".join(plain(name, 40) for name in list(ours)[:3])
        raise UsageError(
            f"no combination is on both sides: before has {known}",
            next_step="compare matches of one plan, or folders with one kind of rally each",
        )
    alone = [f"only before: {name}" for name in ours if name not in theirs]
    alone += [f"only after: {name}" for name in theirs if name not in ours]
    return [(ours[name], theirs[name]) for name in names], alone


def _refuse_strangers(before: Cell, after: Cell) -> None:
    """Raise UsageError if times mean different things."""
    one, other = before.rallies[0], after.rallies[0]
    if differ := _unlike(one, other).get("what it does"):
        ours, theirs = (words or "a rally of balls" for words in differ)
        raise UsageError(
            f"{one.path} is {ours} and {other.path} is {theirs}: they do not compare",
            next_step="compare balls with balls, and loops of one period",
        )
    for what in ("bench", "times"):
        differ = _unlike(one, other).get(what)
        if differ:
            raise UsageError(
                f"{one.path} and {other.path} were played on different benches "
                f"({differ[0]}; {differ[1]}): their times do not compare",
                next_step="play both sides on one bench",
            )


def _refuse_unknown_links(before: Cell, after: Cell) -> None:
    """Raise UsageError if a load may have kept a link awake that slept without it."""
    if "load" not in _unlike(before.rallies[0], after.rallies[0]):
        return
    for rally in (before.rallies[0], after.rallies[0]):
        if rally.manifest.target.is_link_unknown:
            raise UsageError(
                f"{rally.path}: it is not recorded whether the PCIe link to the GPIO controller of "
                "this Raspberry Pi 5 slept between balls. An idle and a loaded rally do not "
                "compare without it",
                next_step="play it again with --target, as root, on a kernel with CONFIG_PCIEASPM",
            )


def _refuse_copies(before: Cell, after: Cell) -> None:
    """Raise UsageError if a boot is on both sides."""
    places = {rally.path.resolve(): rally for rally in before.rallies}
    prints = {_identity(rally): rally for rally in before.rallies}
    for rally in after.rallies:
        shared = places.get(rally.path.resolve()) or prints.get(_identity(rally))
        if shared is not None:
            raise UsageError(
                f"{shared.path} and {rally.path} are one boot: it cannot be before and after",
                next_step="name two sides that share no rally",
            )


def _identity(rally: Rally) -> tuple[Any, ...]:
    """Return an identity that only copies of a boot share.

    Another build may give the same balls on the virtual bench: then it is another boot.
    """
    versions: Mapping[str, str] = rally.manifest.tool.versions
    return (
        answers_of(rally),
        *_facts(rally).values(),
        *chain.from_iterable(sorted(versions.items())),
    )
