# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``tennis explain``: why a ball of the virtual bench was late."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.instants import show_instants
from tennis.cli.numbers import time_ns
from tennis.cli.progress import progress_line, watching
from tennis.cli.sections import show_sections
from tennis.cli.settings import setting_option
from tennis.cli.stages import show_stages
from tennis.cli.tables import latency_rows, table
from tennis.cli.words import aside, echo_json, print_line
from tennis.errors import UsageError
from tennis.explain.between import LockHeld
from tennis.explain.explanation import Explanation
from tennis.explain.instants.agreement import apart
from tennis.explain.instants.storage import Until
from tennis.explain.remedies import remedies
from tennis.explain.story import Happening, Story
from tennis.log import listening
from tennis.pages.explain import PAGE, about, check_folder, write
from tennis.play.explain import explain as explained
from tennis.play.rally import Watch
from tennis.play.without_cost import ZERO, without
from tennis.rally import open_rally
from tennis.rally.command import command_of
from tennis.rally.shots import are_shots
from tennis.rally.text import plain, quoted
from tennis.units import format_count, format_ns, format_round_ns

ROWS = 8
ONE_BOOT = "All were played in one boot: one run up to the ping, and different ones behind it."
# looks that are at no chosen balls, and what goes with them
WITH = {
    "--stages": "--kernel, --json",
    "--sections": "--exact, --kernel, --json",
    "--exact": "--shots, --until, --kernel, --json",
}


@click.command()
@click.argument("rally", metavar="RALLY", type=Folder())
@click.option("--ball", type=int, help="Explain this ball or repetition (the first is 0).")
@click.option("--worst", type=int, help="Explain this many of the latest balls.  [default: 20]")
@click.option(
    "--over", metavar="TIME", help="Explain all balls that waited longer, as in 100us or 1.5ms."
)
@click.option(
    "--stages",
    is_flag=True,
    help="Record each step of every ball with its time, in RALLY/stages.parquet. The steps are: "
    "interrupt taken, its thread woken and running, lock, top half, bottom half. The file also "
    "has the cause of the wait. If it exists, show it.",
)
@click.option(
    "--kernel", metavar="DIR", help="The built kernel tree, if the rally was played on one."
)
@setting_option("program", "The program that answered, if it was not a Racquet.")
@click.option(
    "--sections",
    is_flag=True,
    help="Record what a ping at every instant would have met, as RALLY/sections.parquet. It shows "
    "the worst instant, its share of the time, and the code that makes a ball late there. If the "
    "file exists, show it.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="With --sections: play the worst instants that are predicted, and more, until none may "
    "be later; say what came. Alone: search for the worst instant by shots, also if nothing "
    "is predicted, and say what may hide in the time between them. It goes on where it "
    "was stopped.",
)
@click.option(
    "--shots",
    type=int,
    metavar="COUNT",
    help="With --exact alone: how many instants are played in all.  [default: 2000]",
)
@click.option(
    "--until",
    type=click.Choice(["rise", "fall"]),
    help="With --exact alone: the latest answer of the top half (rise), or of the bottom half, "
    "from the ping on (fall).  [default: rise]",
)
@click.option(
    "--try",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Play it again with another setting, beside RALLY, in pairs of boots of one seed, and "
    "compare its late balls: kernel, command-line, priorities, top-half, bottom-half. May be "
    "repeated. With memory=0, tlb=0 or registers=0 it plays the latest ball (or --ball) again. "
    "That cost of --memory is zero from its ping on. With --ball and priorities=irq=NUMBER it "
    "plays that shot again, and the Racquet's thread has another priority from its ping on.",
)
@click.option(
    "--boots",
    type=click.IntRange(1, 40),
    help="With --try: how many pairs; fewer than 7 decide nothing.  [default: 7]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A new folder for the page with flame graph and timeline.",
)
def explain(
    rally: Path,
    *,
    ball: int | None,
    worst: int | None,
    over: str | None,
    boots: int | None,
    stages: bool,
    sections: bool,
    exact: bool,
    shots: int | None,
    until: Until | None,
    kernel: str | None,
    program: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    out: Path | None,
) -> None:
    """Name the kernel code that ran while the late balls of a RALLY, or of a drill, waited.

    The rally is played again on the virtual bench, up to the last ball in question. A profiler
    counts every instruction, and costs no virtual time. Every ball of the replay must be the
    rally's, tick for tick. The latest balls are those with the longest time from the ping to the
    reply's fall, missed ones first. For a drill they are repetitions: those that came longest after
    the end of their period. If the drill has no period, they are those that took longest.

    \b
    Examples:
      tennis explain first
      tennis explain first --out why
      tennis explain first --ball 1234
      tennis explain first --over 100us
      tennis explain first --stages
      tennis explain first --sections --exact
      tennis explain first --exact --shots 5000
      tennis explain first --try command-line=rcu_nocbs=0
      tennis explain first --try kernel=rt-7 --over 100us
      tennis explain cold --ball 0 --try memory=0 --try tlb=0
      tennis explain instants --ball 7 --try priorities=irq=90
      tennis explain evl-idle --kernel ../linux-evl
      tennis explain switches --over 4us
      tennis explain my-program --program answer.c
    """
    _check_program(program, others=bool(stages or sections or exact or settings))
    over_ns = None if over is None else time_ns("--over", over)
    if settings:
        looks = stages or sections or exact
        of_a_ball = ball is not None and not _costs(settings)
        if of_a_ball and not all(one.startswith("priorities=") for one in settings):
            raise UsageError(
                "--try with --ball takes a cost of --memory, or priorities of one shot",
                next_step="leave --ball out",
            )
        if worst is not None or kernel or looks or out is not None:
            raise UsageError("--try stands alone (or with --over, --boots)")
        _try(rally, settings, over_ns, boots, ball, as_json=as_json)
        return
    if boots is not None:
        raise UsageError("--boots needs --try")
    chosen = ball is not None or worst is not None or bool(over) or out is not None
    of_a_search = shots is not None or until is not None
    _check_looks(stages, sections, exact, chosen=chosen, of_a_search=of_a_search)
    if stages:
        show_stages(open_rally(rally), kernel=kernel, as_json=as_json)
        return
    if sections:
        show_sections(open_rally(rally), exact=exact, kernel=kernel, as_json=as_json)
        return
    if exact:
        show_instants(open_rally(rally), shots, until or "rise", kernel=kernel, as_json=as_json)
        return
    if out is not None:
        check_folder(out)
    with listening(aside), progress_line("explain") as observe:
        explanation = explained(
            rally,
            ball=ball,
            worst=worst,
            over_ns=over_ns,
            kernel=kernel,
            program=program,
            watch=Watch(observe),
        )
    if out is not None:
        write(explanation, out)
    if as_json:
        echo_json(explanation.as_json())
        return
    _print(explanation, out)


def _check_looks(
    stages: bool, sections: bool, exact: bool, *, chosen: bool, of_a_search: bool
) -> None:
    """Raise UsageError where two looks at a rally were asked for; ``chosen``: balls or a page."""
    if of_a_search and (stages or sections or not exact):
        raise UsageError(
            "--shots and --until are of a search by shots alone",
            next_step="use them with --exact, without --sections",
        )
    if stages and (sections or exact):
        raise UsageError("--stages and --sections", next_step="use one, then the other")
    alone = {"--stages": stages, "--sections": sections, "--exact": exact}
    for option, others in WITH.items():
        if alone[option] and chosen:
            raise UsageError(
                f"{option} stands alone (or with {others})", next_step="leave the others out"
            )


def _check_program(program: Path | None, *, others: bool) -> None:
    """Raise UsageError for what does not look into a program; ``others``: it was asked for."""
    if program is not None and others:
        raise UsageError(
            "--program: stages, sections and --try do not look into a program yet",
            next_step="use --ball, --worst or --over",
        )


def _costs(settings: tuple[str, ...]) -> list[str]:
    """Return the costs that shall be zero, each once."""
    return list(dict.fromkeys(ZERO[setting] for setting in settings if setting in ZERO))


def _without(rally: Path, costs: list[str], ball: int | None, *, as_json: bool) -> None:
    one_rally = open_rally(rally)
    with watching("try") as watch:
        story, found = without(one_rally, costs, ball=ball, watch=watch)
    if as_json:
        rows = [
            {
                "cost": one.cost,
                "rise_ns": one.now[0],
                "fall_ns": one.now[1],
                "share_ns": one.share_ns,
                "stalls_ns": one.stalls_ns,
            }
            for one in found
        ]
        was = {"ball": story.ball, "rise_ns": story.rise, "fall_ns": story.fall}
        echo_json({**was, "without": rows})
        return
    console = Console(highlight=False)
    print_line(console, story.sentence, "bold")
    shown = _of_a_ball((story.rise, story.fall), "its share", "its waits, summed")
    for one in found:
        share = "" if one.share_ns is None else _signed(one.share_ns)
        shown.add_row(f"{one.cost}=0", *map(_edge, one.now), share, format_ns(one.stalls_ns))
    console.print(shown)
    note = (
        "Each share is what the ball waits less. It differs from the sum of the waits if the ball "
        "then meets other work."
    )
    if are_shots(one_rally.manifest.protocol):
        note += f" {ONE_BOOT}"
    print_line(console, note, "dim")


def _with_priorities(rally: Path, settings: tuple[str, ...], ball: int, *, as_json: bool) -> None:
    from tennis.play.with_priority import with_priorities

    with watching("try") as watch:
        found = with_priorities(open_rally(rally), settings, ball=ball, watch=watch)
    if as_json:
        echo_json({"ball": ball, **asdict(found)})
        return
    console = Console(highlight=False)
    print_line(console, f"Shot {ball}, at {found.at_ns:,} ns.", "bold")
    shown = _of_a_ball((found.rise_ns, found.fall_ns), "earlier by")
    for one in found.now:
        earlier = _signed(found.rise_ns - one.rise_ns)
        edges = map(_edge, (one.rise_ns, one.fall_ns))
        shown.add_row(f"priorities=irq={one.priority}", *edges, earlier)
    console.print(shown)
    print_line(console, f"{ONE_BOOT} Earlier is that of the rise.", "dim")


def _of_a_ball(was: Iterable[int | None], *more: str) -> Table:
    """Return a table of a ball's edges with the row as it was; ``more``: other columns."""
    made = table("from its ping on", numbers=("to the rise", "to the fall", *more))
    made.add_row("as it was", *map(_edge, was), *("" for _ in more))
    return made


def _edge(ns: int | None) -> str:
    return "missed" if ns is None else format_ns(ns)


def _signed(ns: int) -> str:
    return format_ns(ns) if ns >= 0 else f"-{format_ns(-ns)}"


def _try(
    rally: Path,
    settings: tuple[str, ...],
    over_ns: int | None,
    boots: int | None,
    ball: int | None,
    *,
    as_json: bool,
) -> None:
    from tennis.play.remedy_trial import BOOTS, try_setting
    from tennis.stats.summary import summarize

    if costs := _costs(settings):
        if over_ns is not None or boots is not None or not set(settings) <= set(ZERO):
            raise UsageError(
                "--try of a cost stands alone (or with --ball, --json)",
                next_step="try the others in a command of their own",
            )
        _without(rally, costs, ball, as_json=as_json)
        return
    if ball is not None:
        if over_ns is not None or boots is not None:
            raise UsageError("--try with --ball", next_step="leave --over and --boots out")
        _with_priorities(rally, settings, ball, as_json=as_json)
        return
    with watching("try") as watch:
        tried = try_setting(
            open_rally(rally), settings, over_ns=over_ns, boots=boots or BOOTS, watch=watch
        )
    summaries = [summarize(one) for one in (tried.before, tried.after)]
    of_shots = are_shots(tried.before.manifest.protocol)
    differ = apart(tried.before, tried.after) if of_shots else None
    if as_json:
        content = {
            "setting": tried.setting,
            "verdict": tried.verdict,
            "over_ns": tried.over_ns,
            "late": [tried.late_before, tried.late_after],
            "balls": list(tried.balls),
            "boots": tried.boots,
            "why": tried.why,
            "moved": asdict(tried.moved) if tried.moved else None,
            "after": str(tried.after.path),
            "apart": asdict(differ) if differ else None,
            "summaries": [one.as_json() for one in summaries],
        }
        echo_json(content)
        return
    shown = table("", numbers=("before", "after"))
    shown.add_row(
        f"balls of {format_count(tried.boots, 'boot')}", *(f"{count:,}" for count in tried.balls)
    )
    if tried.over_ns is not None:
        shown.add_row(
            f"later than {format_round_ns(tried.over_ns)}, ping to fall",
            *(f"{count:,}" for count in (tried.late_before, tried.late_after)),
        )
    shown.add_section()
    for name, cells in latency_rows(summaries):
        shown.add_row(f"first boot: {name}", *cells)
    console = Console(highlight=False)
    console.print(shown)
    outcome = {
        "helps": "It helps",
        "harms": "It harms",
        "alike": "It makes no difference of more than 10 %",
        "undecided": "Undecided",
    }
    moved = f" {tried.moved.words}." if tried.moved else ""
    console.print(Text(f"{outcome[tried.verdict]}. After against before, {tried.why}.{moved}"))
    if differ:
        console.print(Text(differ.words))
    console.print(Text(f"The first rally after: {plain(str(tried.after.path))}", style="dim"))


def _print(explanation: Explanation, out: Path | None) -> None:
    console = Console(highlight=False)
    line = partial(print_line, console)
    stories = explanation.stories  # each of a few has its sentence, of many the latest alone
    for number, story in enumerate(stories if len(stories) <= ROWS else stories[:1]):
        line(story.sentence, "" if number else "bold")
    line("")
    rule = explanation.rule[0].upper() + explanation.rule[1:]
    line(f"{rule}: {format_ns(explanation.waited)} of waiting.")
    shares = ((s.ns, s.balls, str(s.what), s.blame.short) for s in explanation.shares()[:ROWS])
    console.print(_shares(explanation, "what ran", shares))
    if len(explanation.stories) > 1:
        line("Their causes:")
        for cause, balls, ns in explanation.causes()[:ROWS]:
            noun = explanation.story.noun
            line(f"  {format_count(balls, noun)}, {format_ns(ns)}: {cause}")
        line("")
    if found := explanation.stalls():
        line("Of that, waits for memory and registers:")
        waits = ((one.ns, one.balls, one.words, one.function) for one in found[:ROWS])
        console.print(_shares(explanation, "what was waited for", waits))
        ball = f"--ball {explanation.story.ball}"
        if not explanation.rally.manifest.drill:
            line("The same ball without such a cost, for its share:")
            line(f"  tennis explain {quoted(explanation.rally.path)} {ball} --try {found[0].zero}")
            line("")
    if explanation.story.lanes:
        _print_between(line, explanation.story)
    target = explanation.rally.manifest.target
    had = {
        "kernel": target.kernel,
        "priorities": target.priorities,
        "command-line": target.added,
        "bottom-half": target.bottom_half,
    }
    helpful = remedies(explanation.story.sentence, had)
    if helpful and not explanation.rally.manifest.drill:
        line("May help; to see whether it does:")
        for remedy in helpful:
            line(f"  tennis explain {quoted(explanation.rally.path)} --try {remedy.setting}")
            line(f"    {remedy.why}", "dim")
        line("")
    manifest = explanation.rally.manifest
    versions = [manifest.tool.versions.get(name, "unknown") for name in ("qemu", "kernel")]
    line(f"The same balls come elsewhere, too, with QEMU {' and '.join(versions)}:")
    line(f"  {command_of(manifest)} --out again")
    line(f"  tennis explain again --ball {explanation.story.ball}")
    line("")
    line(about(explanation), "dim")
    if out is not None:
        line(f"The flame graph and the timeline: {plain(str(out / PAGE))}")
    else:
        line("With --out DIR: a page with a flame graph and a timeline.", "dim")


def _print_between(line: Callable[..., None], story: Story) -> None:
    """Print what happened between processors; of much, the longest waits for locks."""

    def longest_lock_first(one: Happening) -> int:
        return -one.event.ns if isinstance(one.event, LockHeld) else 0

    found = story.between()
    ordered = sorted(found, key=longest_lock_first)
    listed = sorted(ordered[:ROWS], key=lambda one: one.at)
    line(f"Between processors while {story.noun} {story.ball} waited:")
    for one in listed:
        line(f"  {format_ns(one.at)}, processor {one.processor}: {one.event}")
    if not found:
        line("  nothing: no lock that both wanted, no interrupt, no task that moved")
    elif len(found) > len(listed):
        line(f"  and {format_count(len(found) - len(listed), 'more event')}", "dim")
    line("")


def _shares(
    explanation: Explanation, what: str, rows: Iterable[tuple[int, int, str, str]]
) -> Table:
    """Return a table of parts of the waiting: ns, balls, ``what`` it was, and the code."""
    numbers = ("share", "time", f"{explanation.story.noun}s")
    made = table(numbers=numbers, rest=(what, "mostly in"))
    for ns, balls, words, where in rows:
        share = f"{100 * ns / explanation.waited:.1f} %"
        made.add_row(share, format_ns(ns), str(balls), Text(words), Text(where))
    return made
