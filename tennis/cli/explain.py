"""``tennis explain``: why a ball of the virtual bench was late."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.explain_shots import shots
from tennis.cli.explain_stages import stages
from tennis.cli.explain_try import try_
from tennis.cli.explain_without import without
from tennis.cli.numbers import time_ns
from tennis.cli.progress import progress_line
from tennis.cli.settings import played_kernel_option, setting_option
from tennis.cli.tables import table
from tennis.cli.words import aside, echo_json, print_line
from tennis.explain.between import LockHeld
from tennis.explain.explanation import Explanation
from tennis.explain.page import PAGE, about, check_folder, write
from tennis.explain.remedies import remedies
from tennis.explain.replayed import explain as explained
from tennis.explain.story import Happening, Story
from tennis.kit.log import listening
from tennis.kit.units import format_count, format_ns
from tennis.play.rally import Watch
from tennis.rally.command import command_of
from tennis.rally.shots import are_shots
from tennis.rally.statistics.summary import percent
from tennis.rally.text import plain, quoted

ROWS = 8


@click.command()
@click.argument("rally", metavar="RALLY", type=Folder())
@click.option(
    "--ball", type=int, metavar="NUMBER", help="Explain this ball or repetition (the first is 0)."
)
@click.option(
    "--worst",
    type=int,
    metavar="COUNT",
    help="Explain this many of the latest balls.  [default: 20]",
)
@click.option(
    "--over", metavar="TIME", help="Explain all balls that waited longer, as in 100us or 1.5ms."
)
@played_kernel_option
@setting_option("racquet", "The Racquet that it was played with, if its file is another one now.")
@setting_option("program", "The program that answered, if it was not a Racquet.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A new folder for the page with flame graph and timeline.",
)
def balls(
    rally: Path,
    *,
    ball: int | None,
    worst: int | None,
    over: str | None,
    kernel: str | None,
    racquet: Path | None,
    program: Path | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Name the kernel code that made late balls wait.

    RALLY may be a drill, too. It is played again on the virtual bench, up to the last ball in
    question. A profiler counts every instruction, and costs no virtual time. Every ball of the
    replay must be the rally's, tick for tick. The latest balls are those with the longest time from
    the ping to the reply's fall, missed ones first. For a drill they are repetitions: those that
    came longest after the end of their period. If the drill has no period, they are those that took
    longest.

    \b
    Examples:
      tennis explain first
      tennis explain first --out why
      tennis explain first --ball 1234
      tennis explain first --over 100us
      tennis explain evl-idle --kernel ../linux-evl
      tennis explain switches --over 4us
      tennis explain my-own --racquet racquet.c
      tennis explain my-program --program answer.c
    """
    over_ns = None if over is None else time_ns("--over", over)
    if out is not None:
        check_folder(out)
    with listening(aside), progress_line("explain") as observe:
        explanation = explained(
            rally,
            ball=ball,
            worst=worst,
            over_ns=over_ns,
            kernel=kernel,
            racquet=racquet,
            program=program,
            watch=Watch(observe),
        )
    if out is not None:
        write(explanation, out)
    if as_json:
        echo_json(explanation.as_json())
        return
    _print(explanation, out)


class _WithBalls(click.Group):
    """A group that explains balls if its first word is no command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the usual command before a rally, or before its options."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["balls", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands, and rallies."""
        rallies = balls.params[0].shell_complete(ctx, incomplete)
        return [*super().shell_complete(ctx, incomplete), *rallies]


@click.group(cls=_WithBalls)
def explain() -> None:
    """Name the kernel code that ran while late balls waited (virtual bench).

    `tennis explain RALLY` explains the latest balls, as `tennis explain balls RALLY` does.

    \b
    Examples:
      tennis explain first
      tennis explain first --ball 1234 --out why
      tennis explain stages first
      tennis explain shots first
      tennis explain try first priorities=chrt
    """


for command in (balls, stages, shots, try_, without):
    explain.add_command(command)


def _print(explanation: Explanation, out: Path | None) -> None:
    console = Console(highlight=False)
    line = partial(print_line, console)
    stories = explanation.stories  # a few have a sentence each; of many, only the latest
    for number, story in enumerate(stories if len(stories) <= ROWS else stories[:1]):
        line(story.sentence, "" if number else "bold")
    line("")
    rule = explanation.rule[0].upper() + explanation.rule[1:]
    line(f"{rule}: {format_ns(explanation.waited)} of waiting.")
    shares = ((s.ns, s.balls, str(s.what), s.blame.short) for s in explanation.shares()[:ROWS])
    console.print(_shares(explanation, "what ran", shares))
    if len(explanation.stories) > 1:
        line("Their causes:")
        at_random = are_shots(explanation.rally.manifest.protocol)
        for cause, balls, ns in explanation.causes()[:ROWS]:
            noun = explanation.story.noun
            share = f" ({percent(balls / explanation.rally.balls)} of the time)" * at_random
            line(f"  {format_count(balls, noun)}{share}, {format_ns(ns)}: {cause}")
        line("")
    if found := explanation.stalls():
        line("Of that, waits for memory and registers:")
        waits = ((one.ns, one.balls, one.words, one.function) for one in found[:ROWS])
        console.print(_shares(explanation, "what was waited for", waits))
        if not explanation.rally.manifest.drill:
            line("The same ball without such a cost, for its share:")
            one = f"{quoted(explanation.rally.path)} {found[0].cost}"
            line(f"  tennis explain without {one} --ball {explanation.story.ball}")
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
        program = "program=FILE " * explanation.story.is_program
        for remedy in helpful:
            where = f"{quoted(explanation.rally.path)} {program}{remedy.setting}"
            line(f"  tennis explain try {where}" if remedy.setting else "  in the source:")
            line(f"    {remedy.why}", "dim")
        line("")
    manifest = explanation.rally.manifest
    versions = [manifest.tool.versions.get(name, "unknown") for name in ("qemu", "kernel")]
    line(f"The same balls come elsewhere, too, with QEMU {' and '.join(versions)}:")
    line(f"  {command_of(manifest)} --out again")
    own = " --program PROGRAM" if target.program else ""  # of a Racquet the file is known
    line(f"  tennis explain again --ball {explanation.story.ball}{own}")
    line("")
    line(about(explanation), "dim")
    if out is not None:
        line(f"The flame graph and the timeline: {plain(str(out / PAGE))}")
    else:
        line("With --out DIR: a page with a flame graph and a timeline.", "dim")


def _print_between(line: Callable[..., None], story: Story) -> None:
    """Print events between processors; if there are many, the longest waits for locks."""

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
