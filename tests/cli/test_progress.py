"""Progress on a terminal: one line that fits, and moves."""

import io
import re
import time

import click
import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from tennis.cli import progress as live
from tennis.cli.streams import QUIET
from tennis.kit import wire
from tennis.play.progress import Progress
from tennis.rally.balls import RECORD

LONGEST = "119/150, 59 min left"


def payload(*rises):
    """Return a BALLS frame's payload; the last ball is missed."""
    balls = [(0, rise, rise + 1) for rise in rises]
    return np.array([*balls, (0, wire.NONE_TICKS, wire.NONE_TICKS)], RECORD).tobytes()


@pytest.mark.parametrize("columns", [80, 120])
def test_the_line_fits_and_its_time_left_moves(monkeypatch, columns):
    out = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")  # a dumb one has lines that stay
    console = Console(file=out, force_terminal=True, width=columns, color_system=None)
    monkeypatch.setattr(live, "Console", lambda **_: console)
    monkeypatch.setattr(live, "LIVE_EVERY_S", 0)
    progress = Progress(planned=10_000, tick_hz=1_000_000)
    with live.progress_line(LONGEST) as observe:
        for _ in range(5):
            progress.add(payload(8, 1_900))
            progress.balls += 500
            observe(progress)
            time.sleep(0.6)
    lines = re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()))
    figures = [line.rstrip() for line in lines if "median" in line]
    assert max(map(len, figures)) <= columns
    assert not any("…" in line for line in figures)
    assert all(
        re.search(r"median 1.90 ms, latest 1.90 ms, \d missed$", line) for line in figures
    ), figures
    left = {found[0] for line in figures if (found := re.search(r"\d\d:\d\d", line))}
    assert len(left) > 1


def test_behind_the_last_ball_nobody_says_how_long_it_takes(monkeypatch, capsys):
    """It said "0 s left" for a minute, in which the load is looked at once more."""
    monkeypatch.setattr(live, "PLAIN_EVERY_S", 0)
    progress = Progress(planned=5, tick_hz=1_000_000)
    with live.progress_line("rally") as observe:
        for _ in range(2):
            progress.add(payload(8))
            observe(progress)
        progress.add(payload(8))  # one more than was asked for: balls come in batches
        observe(progress)
    first, before, behind = capsys.readouterr().err.splitlines()[-3:]
    assert "left" not in first  # of what came together at first nobody knows how fast it was
    assert before.endswith(" s left")
    assert behind.endswith("5/5 balls  latest 8.00 µs, 3 missed: all played, the target ends")


def test_without_a_terminal_a_state_is_one_line(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(live, "Console", lambda **_: Console(file=out, width=200))
    monkeypatch.setattr(live, "PLAIN_EVERY_S", -1)
    progress = Progress(planned=300)
    with live.progress_line() as observe:
        for _ in range(26):
            observe(progress)
        for _ in range(3):
            progress.add(payload(1_900))
            observe(progress)
            observe(progress)
    lines = out.getvalue().splitlines()
    assert lines[0] == "rally: 0/300 balls  the target boots"
    assert [line.partition("/")[0] for line in lines[1:]] == ["rally: 2", "rally: 4", "rally: 6"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("3/40 rt-idle: played, 6000 balls, 0 missed, 2 min left", False),
        ("4/40 rt-idle: kept, 6000 balls, 0 missed", False),
        ("5/40 rt-idle: played, 6000 balls, 0 missed, SUSPECT", True),
        ("6/40 rt-idle: FAILED: the kernel panicked", True),
        ("xload has no tasks of xenomai's core here", True),
    ],
)
def test_quiet_is_quiet_about_what_went_well(line, said):
    @click.command()
    @click.option("--quiet", is_flag=True)
    @click.pass_context
    def command(ctx, quiet):
        ctx.meta[QUIET] = quiet
        with live.progress_line() as observe:
            observe(Progress(planned=1))
        live.tell(line)

    loud = CliRunner().invoke(command, [])
    hushed = CliRunner().invoke(command, ["--quiet"])
    assert loud.stdout == f"{line}\n"
    assert hushed.output == (f"{line}\n" if said else "")
