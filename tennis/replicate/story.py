"""The results of a match, in a few sentences: mainline and PREEMPT_RT, idle and under stress.

Levels are of the median boot, the latest answer of all boots of a cell. A word in capitals is a
verdict of ``tennis.replicate.verdicts``, and its numbers are those of that verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from tennis.compare.judgement import MEDIAN
from tennis.kit.units import format_count, format_ns, format_us
from tennis.rally import Rally, Tally
from tennis.rally.statistics.summary import Latency, latencies
from tennis.replicate.samples import boots_shown, find
from tennis.replicate.verdicts import Claim, Replication, number
from tennis.report.publications import knutsson_2008
from tennis.report.publications.rules import RuleSide, published_maximum, replication

_KERNELS = (("mainline", "default", "mainline"), ("rt", "chrt", "PREEMPT_RT, forced"))
_ONE_IN = 1000
_SURPRISE = 10  # times what one in 1,000 exceeds: a latest answer beyond that wants a reason


def level_text(level: float | None, of: Latency) -> str:
    """Write a level of the median boot; ``of`` has the limit of a missed ball."""
    if level is None:
        return "-"
    return format_ns(level) if isfinite(level) else of.said_missed


@dataclass(frozen=True)
class _StoryLine:
    """A kernel under a load: its interrupt latency here, and the thesis' latest answer."""

    load: str
    kernel: str  # in words
    balls: int
    boots: int
    misses: int
    here: Latency
    further: Latency  # from the handler's answer to the bottom half's
    # what half of a boot's answers exceed, and one in 1,000, in the median boot (ns); infinite: a
    # missed ball; None: boots have too few balls
    median: float | None
    late: float | None
    published_us: int | None
    rally: Rally  # the one with the latest answer

    def format_level(self, level: float | None) -> str:
        """Write a level of the median boot."""
        return level_text(level, self.here)


@dataclass(frozen=True)
class _Sentence:
    """A result; ``verdict`` is empty if a sentence only points out something."""

    text: str
    verdict: str = ""
    beside: str = ""  # the verdict's details: "by 1 in 1,000; cause not looked at"
    explain: str = ""  # the rally, a folder of the match, that tells more


@dataclass(frozen=True)
class MatchStory:
    """The summary of a match that played mainline and PREEMPT_RT, idle and under stress."""

    lines: list[_StoryLine]
    sentences: list[_Sentence]

    def head(self) -> str:
        """Describe the balls of the lines."""
        line = self.lines[0]
        return f"{line.balls:,} answers each, of {format_count(line.boots, 'boot')}"


def joined(rallies: Sequence[Rally]) -> Rally:
    """Return boots of one cell as one rally, for a picture: its balls and misses are theirs."""
    first = rallies[0]
    counts = first.manifest.counts.model_copy(
        update={
            name: sum(getattr(rally.manifest.counts, name) for rally in rallies)
            for name in ("balls", "misses", "late_serves")
        }
    )
    return replace(
        first,
        manifest=first.manifest.model_copy(update={"counts": counts}),
        interrupt=Tally.joined([rally.interrupt for rally in rallies]),
        scheduling=Tally.joined([rally.scheduling for rally in rallies]),
    )


def cells(replicated: Replication) -> list[Rally]:
    """Return each cell of a match as one rally of all its sound boots, in the plan's order."""
    boots: dict[tuple[str, ...], list[Rally]] = {}
    for planned in sorted(replicated.match.scheduled, key=lambda entry: entry.name):
        if planned.plan.drill:
            continue
        rally = replicated.match.rally(planned.name)
        if rally is None or not rally.balls or rally.manifest.suspect:
            continue
        target = rally.manifest.target
        how = (target.priorities, target.top_half, target.bottom_half, target.added)
        key = (planned.kernel, rally.manifest.load.name, *how, planned.setting or planned.own or "")
        boots.setdefault(key, []).append(rally)
    return [joined(rallies) for rallies in boots.values()]


def story(replicated: Replication) -> MatchStory | None:
    """Return the story of a match; None if it did not play what the story is about."""
    lines = [
        line
        for load in ("idle", "stress")
        for kernel, priorities, words in _KERNELS
        if (line := _line(replicated, kernel, priorities, load, words))
    ]
    if len(lines) < 2 * len(_KERNELS):
        return None
    mainline_idle, rt_idle, mainline, rt = lines
    modern = _line(replicated, "rt", "chrt", "stress", "PREEMPT_RT, explicit", "explicit")
    return MatchStory(
        lines + ([modern] if modern else []),
        [
            _earlier(replicated, "idle", mainline_idle, rt_idle),
            _earlier(replicated, "stress", rt, mainline),
            _growth(replicated, None if _surprises([rt]) else rt),
            *([_modern_driver(modern)] if modern else []),
            *_surprises([mainline, rt]),
        ],
    )


def _line(  # noqa: PLR0913, PLR0917 (all that tells a cell from others)
    replicated: Replication,
    kernel: str,
    priorities: str,
    load: str,
    words: str,
    top_half: str | None = None,
) -> _StoryLine | None:
    """Return the line of a cell; ``top_half``: one that the thesis did not play."""
    rules = replication()
    side = RuleSide(
        kernel=kernel,
        priorities=priorities,
        top_half=top_half or rules.top_halves.get(kernel, "hard"),
        loads=(load,),
        latency="interrupt",
    )
    # also of boots that are too short for a verdict: their figures are shown
    sample = find(replicated.match, rules, side, load, judged=False)
    rallies = [rally for _, rally in sample.rallies]
    if not rallies:
        return None
    together = joined(rallies)
    tables = knutsson_2008().results
    table = next(one for one in tables if (one.kernel, one.priorities) == (kernel, priorities))
    published = None if top_half else published_maximum(table, load, "interrupt")
    measured = latencies([together], claim=not together.misses)
    here = measured["interrupt_ns"]
    boots = boots_shown(rallies, "interrupt")
    return _StoryLine(
        load=load,
        kernel=words,
        balls=together.balls,
        boots=len(rallies),
        misses=together.misses,
        here=here,
        further=measured["scheduling_ns"],
        median=boots.median_boot(MEDIAN) if boots.has(MEDIAN) else None,
        late=boots.median_boot(_ONE_IN) if boots.has(_ONE_IN) else None,
        published_us=published.max if published else None,
        rally=max(rallies, key=_latest),
    )


def _latest(rally: Rally) -> tuple[int, int]:
    """Return what grows with the latest ball of a rally; missed ones are later than any."""
    return rally.interrupt.missed, int(rally.interrupt.values[-1]) if rally.interrupt.n else 0


def _claim(replicated: Replication, name: str) -> Claim | None:
    try:
        return replicated.claim("knutsson-2008", name)
    except KeyError:
        return None


def _earlier(
    replicated: Replication, load: str, sooner: _StoryLine, later: _StoryLine
) -> _Sentence:
    """Say how much earlier the published winner is; numbers and verdict are the ranking's.

    The thesis' figure comes first if the latest answers here do not show it.
    """
    name = "rt-chrt-mainline" if load == "idle" else "mainline-rt-chrt"
    claim = _claim(replicated, f"ranking-{load}-interrupt-{name}")
    part = claim.parts[0] if claim else None
    when = "idle" if load == "idle" else "under stress"
    one, other = (line.kernel.partition(",")[0] for line in (sooner, later))
    there = number(part.published) if part and part.published else "?"
    thesis = f"{when[:1].upper()}{when[1:]}, {one} answers earlier, says the thesis: {there} times"
    if part is None or not part.ratio or not part.by:
        text = f"{thesis}, by the latest answers. Too few balls to say it of here."
        return _Sentence(text, _verdict(claim), _beside(claim))
    found = f"{other} answers {part.ratio} times as late"
    if "no number" in part.ratio:
        found = f"{other} over {one}: {part.ratio}"
    found += f", judged by {part.judged}."
    text = f"{thesis}, by the latest answers. Here {found}"
    if part.largest_position in {"outside", "both"}:
        ratio = f"{other}'s is {number(part.largest)} times {one}'s"
        text = (
            f"{when[:1].upper()}{when[1:]}, the latest answers here do not show what the thesis "
            f"says about them: {ratio}, in the thesis {there} times. But {found}"
        )
    return _Sentence(text, _verdict(claim), _beside(claim))


def _growth(replicated: Replication, rt: _StoryLine | None) -> _Sentence:
    """Describe the verdict on the main result; if contradicted, explain rt's latest answer."""
    claim = _claim(replicated, "c2")
    title = claim.title if claim else ""
    verdict = _verdict(claim)
    differ = [part for part in claim.decisive if part.latest_words] if claim else []
    but = "".join(f" But {part.latest_words} ({part.says})." for part in differ)
    return _Sentence(
        f"The thesis' main result: {title[:1].lower()}{title[1:]}.{but}",
        verdict,
        _beside(claim),
        rt.rally.path.name if rt and verdict == "contradicted" else "",
    )


def _modern_driver(line: _StoryLine) -> _Sentence:
    """Describe a modern driver on the same kernel: the contradiction is about one call."""
    late = "" if line.late is None else f"1 in 1,000 after {line.format_level(line.late)}, "
    missed = f" ({line.misses} missed)" if line.misses else ""
    latest = f"after {line.here.said('max')}{missed}"
    text = (
        "That is of handlers that PREEMPT_RT forces into threads (request_irq), as in the thesis. "
        f"A driver that asks for its thread (request_threaded_irq) answers under stress: {late}"
        f"the latest {latest}."
    )
    if line.rally.manifest.target.bottom_half == "tasklet":
        text += (
            " A tasklet that such a handler starts runs in ksoftirqd, among ordinary processes: "
            f"the latest {line.further.said('max')} later. So a driver does its work in the thread."
        )
    return _Sentence(text)


def _surprises(lines: Sequence[_StoryLine]) -> list[_Sentence]:
    """Point out a latest answer that is far from all others."""
    found = []
    for line in lines:
        latest, usual_late = line.here.ns("max"), line.late
        if usual_late is None or not latest > _SURPRISE * usual_late:
            continue
        came = (
            f"latest answer under {line.load} came after {line.here.said('max')}"
            if not line.here.missed
            else f"latest {format_count(line.here.missed, 'ball')} under {line.load} had no answer"
        )
        found.append(
            _Sentence(
                f"Surprise: {line.kernel.partition(',')[0]}'s {came} "
                f"(thesis {format_us(line.published_us)}); 1 in 1,000 "
                f"came after {line.format_level(line.late)} in the median boot.",
                explain=line.rally.path.name,
            )
        )
    return found


def _verdict(claim: Claim | None) -> str:
    return claim.verdict if claim else ""


def _beside(claim: Claim | None) -> str:
    return claim.beside_verdict if claim else ""
