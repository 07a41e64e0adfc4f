# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Why a ball was late: a rally of the virtual bench is played again, and looked at.

The same plan and the same versions give the same balls. So the late ones can be had again, with a
profiler beside the instrument (``tennis.bench.profile``), and every ball of the replay is held
against the rally: what is explained is what happened then, not something like it.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from tennis import wire
from tennis.bench import Session
from tennis.bench.profile import symbols
from tennis.bench.profile.plugin import Phase, Profile, Window
from tennis.bench.targets.virtual import kernels
from tennis.bench.targets.virtual.bench import VirtualBench
from tennis.bench.targets.virtual.machine import COMMAND_LINE, Extras
from tennis.errors import BenchError, RallyError, UsageError
from tennis.play.explain_story import (
    Frame,
    Names,
    Share,
    Story,
    causes,
    flame,
    share_json,
    shares,
    tell,
)
from tennis.play.progress import Progress
from tennis.play.rally import Watch
from tennis.rally import Rally, open_rally
from tennis.rally.balls import records
from tennis.rally.plan import Plan
from tennis.rally.text import plain
from tennis.units import format_count

WORST = 20
WORST_MAX = 1000
NONE = wire.NONE_TICKS  # in place of a rise or a fall that did not come


@dataclass(frozen=True)
class Explanation:
    """The late balls of a rally, and why they were late."""

    rally: Rally
    rule: str  # which balls these are, in words
    stories: list[Story]  # the latest ball first
    replayed: int  # balls that were played again, all the same as in the rally
    changed: list[str]  # versions that are not the rally's; its balls came all the same

    @property
    def story(self) -> Story:
        """Return the latest ball's."""
        return self.stories[0]

    @property
    def waited(self) -> int:
        """Return how long all of them waited together, in ns."""
        return sum(story.waited for story in self.stories)

    def shares(self) -> list[Share]:
        """Return what ran while they waited, the longest first."""
        return shares(self.stories)

    def causes(self) -> list[tuple[str, int, int]]:
        """Return their causes: in words, how many balls, and their ns together."""
        return causes(self.stories)

    def flame(self) -> Frame:
        """Return all their call stacks as one tree."""
        return flame(self.stories)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the call stacks as JSON values; times in ns."""
        return {
            "rally": self.rally.label,
            "time_note": self.rally.manifest.time_note,
            "balls": self.rally.balls,
            "replayed": self.replayed,
            "identical": True,
            "changed_versions": self.changed,
            "rule": self.rule,
            "sentence": self.story.sentence,
            "waited_ns": self.waited,
            "causes": [
                {"cause": words, "balls": balls, "ns": ns} for words, balls, ns in self.causes()
            ],
            "shares": [share_json(share) for share in self.shares()],
            "explained": [story.as_json() for story in self.stories],
        }


def explain(  # noqa: PLR0913
    path: Path | Rally,
    *,
    ball: int | None = None,
    worst: int | None = None,
    kernel: str | None = None,
    watch: Watch | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Explanation:
    """Play a rally again as far as needed, and explain one ball or the latest ones.

    ``ball`` counts from 0; ``worst`` is how many of the latest (default 20, or all that there are).
    The latest are those with the longest time from the ping to the reply's fall, and missed balls
    before them. ``kernel`` is the built tree of a rally that was played on one. ``say`` gets a line
    where something takes a while.

    Raises UsageError for what cannot be meant or explained, RallyError where the replay's balls are
    not the rally's, BenchError, and KeyboardInterrupt when told to stop.
    """
    rally = path if isinstance(path, Rally) else open_rally(path)
    plan = plan_again(rally, kernel)
    if ball is not None and worst is not None:
        raise UsageError("--ball and --worst: use one of them")
    if not rally.balls:
        raise UsageError(f"{rally.path} holds no balls: there is nothing to explain")
    if ball is not None and not 0 <= ball < rally.balls:
        raise UsageError(f"--ball {ball}: the rally has the balls 0 to {rally.balls - 1}")
    if worst is not None and not 1 <= worst <= WORST_MAX:
        raise UsageError(f"--worst {worst}: use 1 to {WORST_MAX}")
    table = _table(rally)
    chosen = [ball] if ball is not None else _latest(table, worst or WORST)
    windows = [_window(rally, table, number) for number in sorted(chosen)]

    bench = VirtualBench()
    versions = bench.versions(plan)
    recorded = rally.manifest.tool.versions
    changed = sorted(
        name for name in {*versions, *recorded} if versions.get(name) != recorded.get(name)
    )
    parts = bench.parts(plan)
    functions = symbols.functions(parts, Extras(), say)
    with (
        Profile(parts.qemu, functions, windows) as profile,
        tempfile.TemporaryDirectory(prefix="tennis-explain-") as scratch,
    ):
        playing = VirtualBench(Extras(onlooker=profile.onlooker()))
        replayed = _replay(
            playing.start(plan, Path(scratch)),
            table,
            max(chosen),
            watch or Watch(),
            lambda text: RallyError(_unlike(rally, text, changed, recorded, versions)),
        )
        phases: dict[int, list[Phase]] = {}
        for phase in profile.phases():
            phases.setdefault(phase.ball, []).append(phase)
    missing = [number for number in chosen if len(phases.get(number, [])) < 2]
    if missing:
        raise BenchError(
            f"ball {missing[0]} came, but its profile did not: is the disk of "
            f"{tempfile.gettempdir()} full?"
        )
    names = Names(functions)
    stories = [
        tell(number, int(table[number, 0]), _edges(table, number), phases[number], names)
        for number in chosen
    ]
    rule = (
        f"ball {ball}, as asked for"
        if ball is not None
        else f"the {format_count(len(chosen), 'latest ball', 'latest balls')} of {rally.balls:,}, "
        "from the ping to the reply's fall, missed ones first"
    )
    return Explanation(rally, rule, stories, replayed, changed)


def plan_again(rally: Rally, tree: str | None = None) -> Plan:
    """Return the plan of a sealed rally. Raises UsageError where it cannot be played again.

    ``tree`` is the kernel where it was no named one. What the manifest says is never taken for a
    folder: the Racquet is built by a tree's own Makefile, which may do anything.
    """
    manifest = rally.manifest
    if manifest.bench != "virtual":
        raise UsageError(
            f"{rally.path} was played on the bench {plain(manifest.bench, 40)}: only the virtual "
            "bench gives the same balls again, and what a real processor did then, nobody recorded"
        )
    if manifest.instrument.kind != "virtual":
        raise UsageError(
            f"{rally.path} was played with the instrument {plain(manifest.instrument.kind, 40)}: "
            "only rallies with the built-in instrument can be explained so far; play it without "
            "--instrument pico"
        )
    if not manifest.target.command_line.startswith(COMMAND_LINE):
        raise UsageError(
            f"{rally.path} was played with other kernel parameters than tennis gives: "
            "it cannot be played again"
        )
    kernel = manifest.target.kernel
    named = kernel in kernels.catalogue()
    if manifest.tool.versions.get("kernel", "").startswith("/") or not named:
        if tree is None:
            raise UsageError(
                f"{rally.path} was played on a kernel tree, {plain(kernel, 60)}: name it with "
                "--kernel DIR; its Makefile is run, so let it be one that you trust"
            )
        kernel = tree
    elif tree is not None:
        raise UsageError(f"--kernel: {rally.path} was played on {kernel}: leave it out")
    try:
        return Plan(
            bench="virtual",
            kernel=kernel,
            load=manifest.load.name,
            load_options=dict(manifest.load.options),
            bottom_half=manifest.target.bottom_half,
            priorities=manifest.target.priorities,
            protocol=manifest.protocol,
            versions={},
        )
    except ValidationError as error:
        raise UsageError(
            f"{rally.path} cannot be played again: {error.errors()[0]['msg']}"
        ) from error


def _table(rally: Rally) -> NDArray[np.int64]:
    """Return served_ns, rise and fall of every ball; int64, shape (balls, 3); NONE: none came."""
    columns = ("served_ns", "rise_ticks", "fall_ticks")
    rows = [
        np.stack([_numbers(batch.column(name)) for name in columns], axis=1)
        for batch in rally.batches(list(columns))
    ]
    return np.concatenate(rows) if rows else np.zeros((0, 3), np.int64)


def _numbers(column: Any) -> NDArray[np.int64]:
    values: NDArray[Any] = column.fill_null(NONE).to_numpy(zero_copy_only=False)
    return values.astype(np.int64)


def _latest(table: NDArray[np.int64], count: int) -> list[int]:
    """Return the numbers of the latest balls, the latest first; missed ones count as latest."""
    order = np.argsort(-table[:, 2], kind="stable")
    return [int(number) for number in order[:count]]


def _edges(table: NDArray[np.int64], ball: int) -> tuple[int | None, int | None]:
    _, rise, fall = table[ball].tolist()
    return (None if rise == NONE else rise), (None if fall == NONE else fall)


def _window(rally: Rally, table: NDArray[np.int64], ball: int) -> Window:
    """Return when a ball waited; a missed one until it was given up, or the next was served."""
    served = int(table[ball, 0])
    rise, fall = _edges(table, ball)
    end = served + rally.manifest.protocol.timeout_ns
    if ball + 1 < len(table):
        end = min(end, int(table[ball + 1, 0]))
    end = end if fall is None else served + fall
    return Window(ball, served, end if rise is None else served + rise, end)


def _replay(
    session: Session,
    table: NDArray[np.int64],
    last: int,
    watch: Watch,
    unlike: Callable[[str], RallyError],
) -> int:
    """Play until a ball is decided; compare all balls. Returns how many came."""
    progress = Progress(planned=last + 1)
    decoder = wire.Decoder()
    done = False
    ending: Sequence[bytes | None] = [None]
    with contextlib.closing(session):
        for chunk in itertools.chain(session.chunks(), ending):
            frames = decoder.finish() if chunk is None else decoder.feed(chunk)
            for kind, _, payload in frames:
                if kind == wire.BALLS:
                    _compare(records(payload), table, progress.balls, unlike)
                    progress.add(payload)
            if watch.stop():
                raise KeyboardInterrupt
            watch.observe(progress)
            if progress.balls > last and not done:
                done = True
                session.stop()
    if progress.balls <= last:
        raise unlike(f"it ended after {format_count(progress.balls, 'ball')}")
    return progress.balls


def _compare(
    balls: NDArray[Any],
    table: NDArray[np.int64],
    first: int,
    unlike: Callable[[str], RallyError],
) -> None:
    came = np.stack([balls[name].astype(np.int64) for name in ("served", "rise", "fall")], axis=1)
    known = table[first : first + len(came)]
    # an unfinished rally's last balls may be fewer than the replay's frame holds
    for row in np.flatnonzero((came[: len(known)] != known).any(axis=1))[:1]:
        words = [
            f"{name} {_ticks(then)} in the rally and {_ticks(now)} now"
            for name, then, now in zip(
                ("served_ns", "rise", "fall"), known[row], came[row], strict=True
            )
            if then != now
        ]
        raise unlike(f"ball {first + row} has {', '.join(words)}")


def _ticks(value: int) -> str:
    return "missing" if value == NONE else str(value)


def _unlike(
    rally: Rally,
    text: str,
    changed: Sequence[str],
    recorded: dict[str, str],
    versions: dict[str, str],
) -> str:
    """Say that a replay was not the rally, and what may be the reason."""
    head = f"{rally.path} does not repeat: {text}"
    if changed:
        differing = "; ".join(
            f"{plain(name, 40)} was {plain(recorded.get(name, 'unknown'), 80)} and is "
            f"{plain(versions.get(name, 'unknown'), 80)}"
            for name in changed[:3]
        )
        more = f" (and {len(changed) - 3} more)" if len(changed) > 3 else ""
        return f"{head}; versions differ: {differing}{more}; play the rally anew and explain that"
    return (
        f"{head}, with the same versions: its balls were altered, or it was played with additions "
        "that it does not record; play it anew and explain that"
    )
