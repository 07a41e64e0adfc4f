"""A rally's progress: a live line on a terminal, plain lines elsewhere."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tennis.cli.stop import Stop
from tennis.cli.streams import QUIET
from tennis.cli.words import aside, echo
from tennis.kit.log import Listener, listening
from tennis.kit.units import format_ns
from tennis.play.progress import Progress as RallyProgress

if TYPE_CHECKING:
    from tennis.play.rally import Watch

LIVE_EVERY_S = 0.2
PLAIN_EVERY_S = 5.0
LIVE_COLUMNS = 80
WIDE_COLUMNS = 100  # there is room for a bar and the rate


def quiet() -> bool:
    """Tell whether no progress is wanted."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.find_root().meta.get(QUIET))


def tell(line: str) -> None:
    """Print a match's progress; omit the rallies that went well if the command is quiet."""
    if not quiet() or not re.match(r"\d+/\d+ \S+: (played|kept),(?!.*SUSPECT)", line):
        echo(line)


@contextlib.contextmanager
def progress_line(label: str = "rally") -> Iterator[Callable[[RallyProgress], None]]:
    """Show the progress of a rally on standard error for the length of a block."""
    if quiet():
        yield lambda _: None
        return
    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal and console.width >= LIVE_COLUMNS:
        with _live(console, label) as observe:
            yield observe
    else:
        yield _plain(console, label)


@contextlib.contextmanager
def watching(label: str = "rally", say: Listener = aside) -> Iterator["Watch"]:
    """Yield who looks on while something is played: the first Ctrl-C asks for its end.

    ``say``: hears what the work says.
    """
    from tennis.play.rally import Watch

    stop = Stop()
    with listening(say), progress_line(label) as observe:
        yield Watch(observe, stop)


def _balls(progress: RallyProgress) -> str:
    """Say how many balls were played: they come in batches, and a replay ends within one."""
    return f"{min(progress.balls, progress.planned):,}/{progress.planned:,}"


def _figures(progress: RallyProgress, *, wide: bool = True) -> str:
    if progress.doing:
        return progress.doing
    if progress.first_ball is None:
        return "the target boots"
    if progress.listens:
        return f"{progress.rate:,.0f}/s"
    if progress.over:
        latest = format_ns(progress.max_ns)
        return f"latest {latest}, {progress.misses} missed: all played, the target ends"
    rate = f"{progress.rate:,.0f}/s, " if wide else ""
    return (
        f"{rate}median {format_ns(progress.median_ns)}, "
        f"latest {format_ns(progress.max_ns)}, {progress.misses} missed"
        f"{', replaying' if progress.replaying else ''}"
    )


@contextlib.contextmanager
def _live(console: Console, label: str) -> Iterator[Callable[[RallyProgress], None]]:
    wide = console.width >= WIDE_COLUMNS
    columns = (
        TextColumn("{task.description}"),
        *([BarColumn(bar_width=8)] if wide else []),
        TextColumn("{task.fields[balls]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[figures]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None, balls="", figures="getting ready")
        last = 0.0

        def observe(progress: RallyProgress) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last > LIVE_EVERY_S or progress.balls == progress.planned:
                last = now
                bar.update(
                    task,
                    total=progress.planned if progress.balls else None,
                    completed=progress.balls,
                    balls=_balls(progress),
                    figures=_figures(progress, wide=wide),
                )

        yield observe


def _plain(console: Console, label: str) -> Callable[[RallyProgress], None]:
    last, said = time.monotonic(), (0, "")

    def observe(progress: RallyProgress) -> None:
        nonlocal last, said
        now, state = time.monotonic(), (progress.balls, progress.doing or str(progress.first_ball))
        if now - last > PLAIN_EVERY_S and state != said:
            last, said = now, state
            left = progress.seconds_left
            of = "repetitions" if progress.listens else "balls"
            console.print(
                f"{label}: {_balls(progress)} {of}  {_figures(progress)}"
                f"{'' if left is None else f'  {left:.0f} s left'}",
                highlight=False,
                soft_wrap=True,
            )

    return observe
