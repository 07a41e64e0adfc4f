"""Play a match: each rally freshly booted; a rally that fails does not end the match.

The folder's files are kept. A rally that was sealed stays; one that was killed or interrupted
continues; one that failed is tried again.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tennis import __version__
from tennis.bench.protocol import Access
from tennis.bench.registry import Benches
from tennis.kit.errors import BenchError, RallyError, UsageError
from tennis.kit.log import log
from tennis.kit.units import NS_PER_S
from tennis.match.crew import Crew
from tennis.match.folder import MATCH, MatchFolder, MatchRecord, open_match
from tennis.match.plan import MatchPlan, NotPlayed, ScheduledRally
from tennis.match.player import Player, RallyOutcome, check_versions, unversioned
from tennis.match.schedule import short_of_a_cycle
from tennis.play.clock import Clock
from tennis.play.lock import check_folder, locked
from tennis.play.rally import Observer, Stop
from tennis.rally.disk import writing
from tennis.rally.plan import Plan
from tennis.report.publications.rules import replication

# Wall time before anything was measured: seconds to build, boot and seal, and balls a second on the
# virtual bench, by load, from the processor time of the plays in docs/figures.json. A guess for
# --list; while a match is played, what it took so far counts.
BOOT_IDLE_S = 6.0
BOOT_BUSY_S = 14.0
REBOOT_S = 60.0
RATE_IDLE = 8_000.0
RATE_BUSY = 480.0
RATE_SEVERAL = 150.0  # of processors, busy: they take turns
# of a drill: seconds a repetition, and a second of its periods
DRILL_S = 4e-5
DRILL_IDLE = 0.2
DRILL_BUSY = 4.0


@dataclass(frozen=True)
class Match:
    """A match: the rallies to play, and those that are left out."""

    plan: MatchPlan
    scheduled: list[ScheduledRally]  # in the order of playing
    not_played: list[NotPlayed]
    plan_file: str | None = None  # as the command named it

    def play(
        self,
        out: Path,
        progress: Callable[[str], AbstractContextManager[Observer]],
        stop: Stop,
        crew: Crew | None = None,
    ) -> "_MatchOutcome":
        """Play the rallies that the folder ``out`` lacks; return the outcome of the match.

        It logs a line for each rally. ``crew``: who plays them; None: this process, one by one.

        Raises UsageError or BenchError before anything is played if a rally cannot be played,
        RallyError if ``out`` holds something else or another match, DiskFullError if the disk is
        full: then the same match can be continued.
        """
        benches = benches_of_match(self.plan, self.scheduled)
        if crew is not None:
            crew.check(benches.kind)
        check_folder(out, MATCH, "a match")
        scheduled = _with_versions(benches, self.scheduled)
        for line in _foreign_tasks(scheduled):
            log.info(line)
        for name, words, _ in short_of_a_cycle(scheduled):
            log.info(f"{name} {words}; it takes part in no verdict")
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
        with locked(out):
            record = _begin(benches, self, scheduled, out)
            outcome = _MatchOutcome(MatchFolder(out, record))
            clock = Clock([estimate_s(one.plan) for one in scheduled], crew.at_once if crew else 1)
            if crew is None:
                players = ((one, Player(benches.of(one.plan), out, stop)) for one in scheduled)
                seen = _seen_in_turn(players, len(scheduled), progress, clock)
            else:
                seen = crew.play(scheduled, out, stop)
            for number, (planned, became) in enumerate(seen, 1):
                _take(outcome, planned, became)
                clock.finish(estimate_s(planned.plan), played=became.state == "played")
                left = f", {clock.left()}" if crew and number < len(scheduled) else ""
                log.info(f"{number}/{len(scheduled)} {planned.name}: {became.words}{left}")
                _note(outcome, planned, out)
            outcome.interrupted = outcome.interrupted or outcome.seen < len(scheduled)
            outcome.folder = open_match(out)
        return outcome


@dataclass
class _MatchOutcome:
    """The outcome of a match."""

    folder: MatchFolder
    interrupted: bool = False
    seen: int = 0  # rallies that were handled
    played: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)  # rally -> what is wrong with it


def benches_of_match(plan: MatchPlan, scheduled: Sequence[ScheduledRally]) -> Benches:
    """Return the benches of a match. Raises UsageError if they cannot play one."""
    plans = [planned.plan for planned in scheduled]
    benches = Benches(plans, Access(plan.port, plan.target))
    if not benches.boot_afresh:
        raise UsageError(
            f'bench = "{plan.bench}": a match needs a target that tennis can boot into each kernel',
            next_step="name it, target = ..., as ssh knows it",
        )
    return benches


def estimate_s(plan: Plan) -> float:
    """Guess the wall time of a rally in seconds."""
    protocol = plan.protocol
    if plan.bench == "virtual":
        busy = RATE_SEVERAL if plan.processors > 1 else RATE_BUSY
        idle = plan.load == "idle"
        boot_s, rate = (BOOT_IDLE_S, RATE_IDLE) if idle else (BOOT_BUSY_S, busy)
        if plan.drill:
            factor = DRILL_IDLE if idle else DRILL_BUSY
            return boot_s + protocol.balls * (DRILL_S + plan.drill.period_ns / 1e9 * factor)
        # a guest that is busy takes time for its settling, too: about as for balls 1 ms apart; five
        # minutes of an idle one took 0.2 s
        settling = 0 if idle else protocol.settle_ns / 1e6 / rate
        return boot_s + settling + protocol.balls / rate
    return REBOOT_S + protocol.length_ns / NS_PER_S


def _seen_in_turn(
    players: Iterable[tuple[ScheduledRally, Player]],
    count: int,
    progress: Callable[[str], AbstractContextManager[Observer]],
    clock: Clock,
) -> Iterator[tuple[ScheduledRally, RallyOutcome]]:
    """Play one rally after the other; each is yielded when it is there. Ends at a stop."""
    for number, (planned, player) in enumerate(players, 1):
        if player.stop():
            return
        seen = player.play(planned, progress(f"{number}/{count}, {clock.left()}"))
        yield planned, seen
        if seen.state == "interrupted":
            return


def _take(outcome: _MatchOutcome, planned: ScheduledRally, seen: RallyOutcome) -> None:
    """Record the outcome of a rally, and why it failed."""
    outcome.seen += 1
    if seen.state == "played":
        outcome.played.append(planned.name)
    elif seen.state == "kept":
        outcome.kept.append(planned.name)
    outcome.interrupted = outcome.interrupted or seen.state == "interrupted"
    record = outcome.folder.record
    before = record.troubles.get(planned.name)
    if seen.state == "failed":
        record.troubles[planned.name] = seen.trouble
    elif seen.state == "played":
        record.troubles.pop(planned.name, None)
    if record.troubles.get(planned.name) != before:
        record.write(outcome.folder.path)


def _with_versions(benches: Benches, scheduled: list[ScheduledRally]) -> list[ScheduledRally]:
    """Fill in the versions, which also finds out whether each rally can be played.

    A bench that is prepared before each rally only knows then: the rallies' manifests have them.
    """
    if benches.prepared:
        return scheduled
    scheduled_again = []
    # asked once for all rallies that differ in balls, seed and settling only: it takes a while
    known: dict[str, dict[str, str]] = {}
    for planned in scheduled:
        kind = planned.plan.model_dump_json(exclude={"protocol"})
        if kind not in known:
            try:
                known[kind] = benches.of(planned.plan).versions(planned.plan)
            except (UsageError, BenchError) as error:
                raise type(error)(f"{planned.name}: {error}") from error
        plan = planned.plan.model_copy(update={"versions": known[kind]})
        scheduled_again.append(planned.model_copy(update={"plan": plan}))
    return scheduled_again


def _foreign_tasks(scheduled: list[ScheduledRally]) -> Iterator[str]:
    """Name rallies whose load does not load the core that its kernel's rules are about."""
    for kernel, loads in replication().core_tasks.items():
        for load, kinds in loads.items():
            alike = [f for f in scheduled if (f.kernel, f.plan.load) == (kernel, load)]
            tasks = {f.plan.versions.get("load_tasks") for f in alike if f.plan.versions}
            if tasks - set(kinds):
                yield (
                    f"{load} has no tasks of {kernel}'s core here, only tasks of Linux: what was "
                    f"published about it stays not addressed. To address it, build loads/{load} "
                    "with the core's library (docs/loads.md) and play a new match"
                )


def _begin(
    benches: Benches, match: Match, scheduled: list[ScheduledRally], out: Path
) -> MatchRecord:
    """Write or update ``match.json``; raise RallyError if ``out`` holds another match."""
    troubles: dict[str, str] = {}
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    if (out / MATCH).exists():
        before = MatchRecord.read(out)
        _check_same(before, match, scheduled, out)
        troubles, created = before.troubles, before.created
    record = MatchRecord(
        schema_version=1,
        bench=benches.kind,
        time_note=benches.of(scheduled[0].plan).time_note(scheduled[0].plan),
        created=created,
        tennis=__version__,
        plan=match.plan,
        plan_file=match.plan_file,
        scheduled=scheduled,
        not_played=match.not_played,
        troubles=troubles,
    )
    record.write(out)
    return record


def _check_same(
    before: MatchRecord, match: Match, scheduled: list[ScheduledRally], out: Path
) -> None:
    """Raise RallyError unless the folder was begun with the same plan and versions."""
    another_plan = f"{out} was begun with another plan"
    ours, theirs = match.plan.model_dump(), before.plan.model_dump()
    for key, value in ours.items():
        # more boots of the same: earlier ones stay
        if key == "repetitions" and value > theirs[key]:
            continue
        if value != theirs[key]:
            raise RallyError(
                f"{another_plan} (its {key} differs)", next_step="choose another --out"
            )
    now = {planned.name: planned for planned in scheduled}
    for old in before.scheduled:
        new = now.get(old.name)
        if new is None:
            raise RallyError(
                f"{another_plan} ({old.name} is in it)",
                next_step="give the same --with, or another --out",
            )
        if unversioned(old.plan) != unversioned(new.plan):
            raise RallyError(
                f"{another_plan} ({old.name} differs)", next_step="choose another --out"
            )
        if old.plan.versions:  # none: a bench that is prepared
            check_versions(old.plan, new.plan, out, "a match needs the same for all its rallies")


def _note(outcome: _MatchOutcome, planned: ScheduledRally, out: Path) -> None:
    """Record the trouble of a rally."""
    folder = MatchFolder(out, outcome.folder.record)
    rally = folder.rally(planned.name)
    if rally is None:
        if not outcome.interrupted:
            outcome.bad[planned.name] = folder.trouble(planned.name)
    elif rally.manifest.suspect:
        faults = rally.manifest.faults
        outcome.bad[planned.name] = "suspect" + (f": {faults[0].message}" if faults else "")
