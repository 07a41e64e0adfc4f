"""Try a remedy: pairs of boots of one seed, without it and with it, compared boot by boot."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from tennis.bench.virtual.bench import VirtualBench
from tennis.compare import words
from tennis.compare.boots import LATER_MIN, Boot
from tennis.compare.judgement import Row, share_change, time_change
from tennis.compare.sides import Side
from tennis.explain.remedies import BOOTS, BOOTS_MAX, remedies
from tennis.explain.replayed import explain
from tennis.explain.story import Latency
from tennis.kit.errors import RallyError, UsageError
from tennis.kit.log import log
from tennis.kit.units import format_count, format_ns, tick_ns
from tennis.play.planning import plan_for
from tennis.play.rally import Watch, play
from tennis.play.repeat import NONE, balls_of, changes, plan_again
from tennis.rally import Rally, open_rally
from tennis.rally.manifest import PROGRAM
from tennis.rally.plan import Plan
from tennis.rally.program import read
from tennis.rally.request import RallyRequest
from tennis.rally.sealing import finished
from tennis.rally.serving import Serving
from tennis.rally.settings import OF_TARGET, rows_of
from tennis.rally.text import plain, quoted

# what a remedy may change, as people write it
TRIED = tuple(row.name.replace("_", "-") for row in rows_of("remedy"))
# source=NAME: what a copy of the program has besides. `{mutex}` is one of its variables, which the
# compiler refuses if it is not as large as a mutex
SOURCE = {
    "mlockall": "#include <sys/mman.h>\n{begins} {{ mlockall(MCL_CURRENT | MCL_FUTURE); }}\n",
    # as PTHREAD_MUTEX_PRIO_INHERIT_NP (glibc) in a mutex that no pthread_mutex_init sets up
    "inherit": "#include <pthread.h>\n"
    "{begins} {{ ((pthread_mutex_t *)&{mutex})->__data.__kind |= 32; "
    "(void)sizeof(char[sizeof({mutex}) == sizeof(pthread_mutex_t) ? 1 : -1]); }}\n",
}
BEGINS = "__attribute__((constructor)) static void tennis_tries_{number}(void)"
KINDS = {"C", "C++"}  # of a program whose source is one file
_NAMED = re.compile(r"|[A-Za-z_]\w{0,100}")
LEVELS = (1000, 100)  # levels of one ball in N: the rarest that all boots have
SEEDS = 2**32
MISSED = -1
ALIKE = 0.1  # a whole wait that is shorter by less than this part is as long as it was


@dataclass(frozen=True)
class _Moved:
    """A wait that a remedy took from one latency, and that came with the other; ns.

    The median over the pairs' latest balls, before and after.
    """

    left: Latency
    left_ns: tuple[int, int]
    went_to_ns: tuple[int, int]

    @property
    def words(self) -> str:
        """Say to which latency the wait moved."""
        other = "scheduling" if self.left == "interrupt" else "interrupt"
        (was, now), (then, since) = self.left_ns, self.went_to_ns
        return (
            f"It only moves the wait: the latest {self.left} latency went from {format_ns(was)} to "
            f"{format_ns(now)}, the latest {other} latency from {format_ns(then)} to "
            f"{format_ns(since)}"
        )


@dataclass(frozen=True)
class Tried:
    """The change of the late balls of pairs of boots that share a seed.

    Times are of the whole wait, from ping to fall, in ns; missed balls are later than all.
    """

    before: Rally  # the first pair; ``late_*`` are of all pairs
    after: Rally
    setting: str
    over_ns: int | None  # beyond which balls are late; None: there are too few for a level
    late_before: int
    late_after: int
    balls: tuple[int, int]
    boots: int  # pairs
    found: Row | None  # after against before; None: boots too few or too short
    moved: _Moved | None = None  # None: the wait is shorter, or none went elsewhere

    latest_ns: tuple[int, int] = (0, 0)  # of all boots, without and with

    @property
    def verdict(self) -> str:
        """Say in one word what the experiment showed."""
        said = {"earlier": "helps", "later": "harms", "equal": "alike"}
        return said.get(self.found.change, "undecided") if self.found else "undecided"

    @property
    def why(self) -> str:
        """Give the verdict's reasons."""
        if self.found is None:
            return (
                f"boots of fewer than {LATER_MIN * LEVELS[-1]} balls have no level, and one pair "
                f"of boots has no interval: {BOOTS} decide"
            )
        before, after = words.values(self.found)
        return (
            f"{words.quantity(self.found)}: {after} against {before}; {words.ratio(self.found)}, "
            f"of {format_count(self.boots, 'pair')} of boots"
        )


def try_setting(
    rally: Rally, settings: Sequence[str], *, over_ns: int | None, boots: int = BOOTS, watch: Watch
) -> Tried:
    """Play a rally's plan with other settings, boot by boot in pairs of one seed; compare them.

    ``settings``: ``NAME=VALUE`` each, and ``program=FILE`` if a program answered. ``boots``: pairs,
    of which the first one's first rally is there. Boots of an earlier call are used again. Raises
    UsageError, RallyError and BenchError, before anything is played if that can be known.
    """
    if not 1 <= boots <= BOOTS_MAX:
        raise UsageError(f"--boots {boots}", next_step=f"say 1 to {BOOTS_MAX}")
    settings, program = _without_program(rally, settings)
    before_plan = plan_again(rally, program=program)
    sources = [one for one in settings if one.startswith("source=")]
    plan = changed(before_plan, [one for one in settings if one not in sources])
    if sources:
        copy = _place(rally.path, settings, 0)
        edited = _edited(program, sources, copy.with_name(f"{copy.name}.program"))
        plan = plan.model_copy(update={"program": str(edited.resolve())})
    if plan == before_plan:
        raise UsageError(f"{rally.path} was played with these settings: there is nothing to try")
    bench = VirtualBench()
    differ = [
        name
        for name in changes(rally, bench.versions(before_plan))
        if name.endswith("sha256") or name == "qemu"
    ]
    if differ:
        raise RallyError(
            f"{rally.path} was played with another {plain(', '.join(differ[:3]))}: what differs "
            "could be that, and not the setting",
            next_step="play it again",
        )
    left = sum(
        finished(place) is None
        for number in range(boots)
        for place in (_place(rally.path, [], number), _place(rally.path, settings, number))[
            not number :
        ]
    )
    if left:
        log.info(f"playing {format_count(left, 'boot')} with and without {', '.join(settings)}")
    pairs = []
    for number in range(boots):
        before = rally
        if number:
            before = _play_boot(
                bench, _with_seed(before_plan, number), rally.path, [], number, watch
            )
        after = _play_boot(bench, _with_seed(plan, number), rally.path, settings, number, watch)
        pairs.append((before, after))
    return compared(pairs, ", ".join(settings), over_ns)


def suggested(
    rally: Rally, settings: Sequence[str], watch: Watch
) -> tuple[str, list[tuple[str, str]]]:
    """Explain a rally's latest ball; return the sentence, and each remedy: its setting, and why.

    A remedy that is a change of the program has no setting. ``settings`` is at most
    ``program=FILE``. Raises UsageError, RallyError and BenchError.
    """
    _, program = _without_program(rally, settings)
    explanation = explain(rally, worst=1, program=program, watch=watch)
    target = rally.manifest.target
    had = {
        "kernel": target.kernel,
        "priorities": target.priorities,
        "command-line": target.added,
        "bottom-half": target.bottom_half,
    }
    sentence = explanation.story.sentence
    one_file = program is not None and read(program).kind in KINDS
    return sentence, [
        (one.setting if one_file or not one.setting.startswith("source=") else "", one.why)
        for one in remedies(sentence, had)
    ]


def _without_program(rally: Rally, settings: Sequence[str]) -> tuple[list[str], Path | None]:
    """Return the settings that are tried, and the program that answered. Raises UsageError."""
    named = [one.removeprefix("program=") for one in settings if one.startswith("program=")]
    if len(named) > 1:
        raise UsageError("program= twice", next_step="name the program that answered once")
    if rally.manifest.target.program and not named:
        raise UsageError(f"{rally.path}: a program answered", next_step="name it: program=FILE")
    others = [one for one in settings if not one.startswith("program=")]
    return others, Path(named[0]) if named else None


def _edited(program: Path | None, sources: Sequence[str], folder: Path) -> Path:
    """Write a program and its headers into a folder, with more code at its end. Raises UsageError.

    No line of the program moves.
    """
    brought = read(program) if program else None
    if brought is None or brought.kind not in KINDS:
        raise UsageError(f"{sources[0]}: only one file in C or C++ is changed so")
    more = ""
    for number, source in enumerate(sources):
        name, _, mutex = source.removeprefix("source=").partition("=")
        if name not in SOURCE or bool(mutex) != (name == "inherit") or not _NAMED.fullmatch(mutex):
            raise UsageError(
                plain(source, 60), next_step="say source=mlockall or source=inherit=MUTEX"
            )
        more += SOURCE[name].format(begins=BEGINS.format(number=number), mutex=mutex)
    folder.mkdir(exist_ok=True)
    for place, content in brought.files.items():
        own = place == brought.path.name
        (folder / place).write_bytes(content + f"\n{more}".encode() if own else content)
    return folder / brought.path.name


def _with_seed(plan: Plan, number: int) -> Plan:
    """Return a plan as another boot of it: other gaps, and another phase of the load."""
    protocol = plan.protocol
    seed = (protocol.seed + number) % SEEDS
    return plan.model_copy(update={"protocol": protocol.model_copy(update={"seed": seed})})


def _play_boot(  # noqa: PLR0913, PLR0917 (a plan, and all that its folder is named after)
    bench: VirtualBench, plan: Plan, rally: Path, settings: Sequence[str], number: int, watch: Watch
) -> Rally:
    """Return one boot; play it unless it is there. Raises RallyError."""
    place = _place(rally, settings, number)
    there = finished(place)
    if there is None:
        log.info(f"playing {place}")
        played = plan.model_copy(update={"versions": bench.versions(plan)})
        there = play(bench, played, place, watch)
    elif plan_again(there, program=Path(plan.program) if plan.program else None) != plan:
        raise RallyError(f"{place} holds another rally", next_step="move it away")
    if there.manifest.ended == "interrupted":
        raise RallyError(
            f"{place} was interrupted",
            next_step=f"continue with `tennis resume {quoted(place)}`, and try again",
        )
    if there.manifest.suspect or not there.balls:
        faults = "; ".join(plain(fault.message, 200) for fault in there.manifest.faults[:2])
        raise RallyError(
            f"{place} cannot be compared: {faults or 'it has no balls'}",
            next_step="move it away, and try again",
        )
    return open_rally(place)


def changed(plan: Plan, settings: Sequence[str]) -> Plan:
    """Return a plan with other settings. Raises UsageError."""
    asked: dict[str, str] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if name not in TRIED or not separator:
            raise UsageError(
                plain(setting, 60), next_step=f"say NAME=VALUE, with one of {', '.join(TRIED)}"
            )
        asked[name.replace("-", "_")] = value
    known = {row.name: getattr(plan, row.name) for row in OF_TARGET if row.name != "racquet"}
    if plan.racquet:  # it says itself where it answers
        known = {name: value for name, value in known.items() if not name.endswith("_half")}
        known["racquet"] = Path(plan.racquet)
    wanted = {**known, **asked}
    if wanted.get("bottom_half") not in {"user", PROGRAM}:  # no process that could be pinned
        wanted["bottom_half_cpu"] = None
    if plan.bottom_half == PROGRAM:  # it has no halves, and nobody asks for them
        wanted |= {name: None for name in ("top_half", "bottom_half") if name not in asked}
    checked = plan_for(RallyRequest.of(wanted), Serving())
    try:
        # the same gaps and the same phase of the load
        same = {"protocol": plan.protocol, "phase_of_a_second": plan.phase_of_a_second}
        return checked.model_copy(update=same)
    except ValidationError as error:
        raise UsageError(f"{error.errors()[0]['msg']}") from error


def _place(rally: Path, settings: Sequence[str], number: int) -> Path:
    """Return the folder of a boot: those without a setting serve all experiments."""
    name = rally.name
    if settings:
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", "+".join(settings)).strip("-")[:60]
        name += f".try-{slug}"
    return rally.with_name(f"{name}.boot-{number + 1}" if number else name)


def compared(pairs: Sequence[tuple[Rally, Rally]], setting: str, over_ns: int | None) -> Tried:
    """Compare pairs of boots, each before and after: by a level, or by the balls beyond a time."""
    before, after = (
        Side([_boot(pair[which]) for pair in pairs], range(len(pairs))) for which in (0, 1)
    )
    found: Row | None = None
    if len(pairs) > 1:
        if over_ns is not None:
            found = share_change(before, after, float(over_ns))
        else:
            one_in = next((one for one in LEVELS if before.has(one) and after.has(one)), None)
            if one_in is not None:
                found = time_change(before, after, one_in)
    if over_ns is None and before.has(LEVELS[-1]) and after.has(LEVELS[-1]):
        one_in = next(one for one in LEVELS if before.has(one) and after.has(one))
        # balls at the level itself are late, too; missed ones are later than the timeout
        timeout_ns = pairs[0][0].manifest.protocol.timeout_ns
        over_ns = int(np.ceil(min(before.level(one_in), timeout_ns + 1))) - 1
    beyond = np.array([np.inf if over_ns is None else over_ns], np.float64)
    late = [sum(int(boot.above(beyond)[0]) for boot in side.boots) for side in (before, after)]
    return Tried(
        *pairs[0],
        setting,
        over_ns,
        late[0],
        late[1],
        (before.balls, after.balls),
        len(pairs),
        found,
        None if found is not None and found.change == "earlier" else _moved(pairs),
        _whole(pairs),
    )


def _whole(pairs: Sequence[tuple[Rally, Rally]]) -> tuple[int, int]:
    """Return the latest balls without and with a setting: ns to the fall; missed: the timeout."""
    found = []
    for side in zip(*pairs, strict=True):
        waits = [
            rally.manifest.protocol.timeout_ns
            if (balls_of(rally)[:, 2] == NONE).any()
            else round(int(balls_of(rally)[:, 2].max()) * tick_ns(rally.tick_hz))
            for rally in side
        ]
        found.append(max(waits))
    return found[0], found[1]


def _moved(pairs: Sequence[tuple[Rally, Rally]]) -> _Moved | None:
    """Return the wait that went from one latency to the other; None: none, or a ball was missed."""
    latest = np.array([[_latest(rally) for rally in pair] for pair in pairs])
    if (latest == MISSED).any():
        return None
    interrupt, scheduling, whole = np.median(latest, axis=0).astype(np.int64).T.tolist()
    if whole[1] < (1 - ALIKE) * whole[0]:
        return None
    kinds: tuple[tuple[Latency, list[int], list[int]], ...] = (
        ("interrupt", interrupt, scheduling),
        ("scheduling", scheduling, interrupt),
    )
    for left, (was, now), (then, since) in kinds:
        if now <= was / 2 and since - then >= (was - now) / 2:
            return _Moved(left, (was, now), (then, since))
    return None


def _latest(rally: Rally) -> tuple[int, int, int]:
    """Return a boot's latest interrupt latency, scheduling latency and whole wait; ns or MISSED."""
    table = balls_of(rally)
    rise, fall = table[:, 1], table[:, 2]
    if (rise == NONE).any() or (fall == NONE).any():
        return MISSED, MISSED, MISSED
    latest = [round(int(each.max()) * tick_ns(rally.tick_hz)) for each in (rise, fall - rise, fall)]
    return latest[0], latest[1], latest[2]


def _boot(rally: Rally) -> Boot:
    waits = balls_of(rally)[:, 2]
    return Boot.of(np.where(waits == NONE, np.inf, waits * tick_ns(rally.tick_hz)))
