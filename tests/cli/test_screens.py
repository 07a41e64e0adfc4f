# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a terminal shows, as text files that people review: tests/cli/screens/.

``TENNIS_SCREENS=write pytest tests/cli/test_screens.py`` writes them anew; read the difference
aloud before it is committed.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tennis import entries
from tennis.cli import cli, command_of, names, plugged
from tests.support.processes import run_to_end
from tests.support.shared import made_once
from tests.support.synthetic import make_rally
from tests.support.synthetic_match import MatchMaker, bursts

SCREENS = Path(__file__).parent / "screens"
BALLS = 3000


def held(name: str, text: str) -> None:
    """Hold a screen against its file."""
    file = SCREENS / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("TENNIS_SCREENS") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file} differs: {__doc__}"


def fits(text: str, columns: int) -> None:
    """A line is wider than the terminal only if it is a command to be copied."""
    wide = [line for line in text.splitlines() if len(line) > columns]
    assert not [line for line in wide if not re.match(r"(More boots: |Each: | +)tennis ", line)]


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the kit's own: packages of other people's may be installed here, too."""
    of_others = {entry.name for _, entry in plugged.commands() if entry.package != entries.OWN}
    for name in names():
        if name in of_others:
            continue
        command = command_of(name)
        assert command
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for inner in command.list_commands(context):
                if f"{name}.{inner}" in of_others:
                    continue
                within = command.get_command(context, inner)
                assert within
                yield f"{name} {inner}", within


def shown(*words: str, columns: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, list(words), prog_name="tennis")
    assert done.exit_code == 0, done.output
    return done.output


# a program for each screen, which its parent has imported for all of them: a screen that was shown
# before changes what click keeps
EACH_BY_ITSELF = """
import os, sys
from tennis import entries
entries.places = list  # the kit's own alone
from tennis.cli import command_of, main, names
folder, *screens = sys.argv[1:]
for name in names():
    command_of(name)
for number, command in enumerate(screens):
    if not (child := os.fork()):
        sys.argv = ["tennis", *command.split(), "--help"]
        os.dup2(os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT), 1)
        main()
        sys.stdout.flush()
        os._exit(0)  # without taking all down that was imported
    if status := os.waitpid(child, 0)[1]:
        sys.exit(f"tennis {command} --help: {status}")
"""
ALL = ["", *(name for name, _ in commands())]


@pytest.fixture(scope="module")
def screens(tmp_path_factory):
    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-c", EACH_BY_ITSELF, folder, *ALL], check=True)

    return made_once(tmp_path_factory, "screens", make)


@pytest.mark.parametrize("command", ALL)
def test_help(command, screens):
    text = (screens / str(ALL.index(command))).read_text(encoding="utf-8")
    fits(text, 80)
    first = text.split("\n\n")[1]
    assert first.startswith("  ")
    assert "Example" in text
    assert f"tennis {command.removesuffix(' install')}".strip() in text.partition("Example")[2]
    held(f"help-{command or 'tennis'}".replace(" ", "-"), text)


def test_the_screens_are_the_kits_own_whatever_is_installed(tmp_path):
    site, made = tmp_path / "site", tmp_path / "made"
    about = site / "circus-1.dist-info"
    about.mkdir(parents=True)
    made.mkdir()
    (about / "entry_points.txt").write_text("[tennis.commands.read]\nfall = circus:fall\n")
    (site / "circus.py").write_text('import click\n\n\ndef fall():\n    """Fall."""\n')
    there = {**os.environ, "PYTHONPATH": str(site)}
    program = "from tennis.cli import names; print('fall' in names())"
    done = run_to_end([sys.executable, "-c", program], env=there, check=True)
    assert done.stdout == "True\n"
    run_to_end([sys.executable, "-c", EACH_BY_ITSELF, made, ""], env=there, check=True)
    held("help-tennis", (made / "0").read_text(encoding="utf-8"))


def test_every_option_of_rally_stands_under_one_heading():
    program = str(Path(sys.executable).with_name("tennis"))
    text = run_to_end([program, "rally", "--help-all"], check=True).stdout
    from tennis.cli.rally import rally

    for parameter in rally.params:
        assert len(re.findall(rf"^  {parameter.opts[0]}\b(?!-)", text, re.MULTILINE)) == 1
    held("help-rally-all", text)


@pytest.mark.parametrize(
    ("typed", "now"),
    [
        ("flash --port /dev/ttyACM1", "tennis brickwall flash"),
        ("verify", "tennis brickwall verify"),
        ("boot bench-1 rt", "tennis benches boot"),
        ("release student --out t", "tennis course release"),
        ("rally --resume r", "tennis resume DIR"),
        ("rally --check=r", "tennis check DIR"),
        ("rally --bench replay --from r", "tennis replay DIR --out DIR"),
        ("drill --resume r", "tennis resume DIR"),
    ],
)
def test_what_was_typed_in_0_1_is_answered_with_what_it_is_now(typed, now):
    words = [str(Path(sys.executable).with_name("tennis")), *typed.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"now: run '{now}'")


@pytest.fixture(scope="module")
def match(tmp_path_factory):
    """Make a match in which each verdict occurs, hard top halves among them."""
    maker = MatchMaker(tmp_path_factory.mktemp("screens") / "quick")
    maker.cell("mainline", "default", "idle", bursts(3_000, BALLS))
    maker.cell("mainline", "default", "stress", bursts(900_000, BALLS))
    maker.cell("rt", "chrt", "idle", bursts(9_000, BALLS))
    late = bursts(12_000, BALLS)
    late[BALLS // 3] = 1_300_000
    maker.cell("rt", "chrt", "stress", late)
    maker.cell("rt", "chrt", "idle", bursts(3_100, BALLS), top="hard")
    maker.cell("rt", "default", "idle", bursts(9_000, BALLS))
    maker.left_out("xenomai", "native", "idle", "no kernel given")
    maker.sealed(plan_file="plans/quick.toml")
    return maker.path


@pytest.mark.parametrize("columns", [80, 120])
def test_replicate(match, monkeypatch, columns):
    monkeypatch.chdir(match.parent)
    text = shown("replicate", "quick", columns=columns)
    fits(text, columns)
    held(f"replicate-{columns}", text)


def test_stats(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_rally(tmp_path / "first", balls=900, misses=3)
    text = shown("stats", "first")
    fits(text, 80)
    held("stats-80", text)
