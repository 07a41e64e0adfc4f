"""Standard streams that are closed, full or gone: no traceback, and the work is done."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tennis.rally import open_rally
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.terminal import TENNIS

pytestmark = pytest.mark.slow

CLOSED = "tennis: standard output is closed: what was printed went nowhere\n"
FULL = "tennis: output: No space left on device\n"
# commands in processes of their own, which begin as Python does with such outputs
TRIED = """
import json, os, sys, tempfile
import click
from tennis.cli import cli, main

def commands(group, words=()):
    yield [*words, "--help"]
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands(command, [*words, name])
        else:
            yield [*words, name, "--help"]

def put(number, what):
    if what == "closed":
        os.close(number)
        setattr(sys, {1: "stdout", 2: "stderr"}[number], None)
    elif what == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), number)
    elif what == "gone":
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, number)
    else:
        os.dup2(what.fileno(), number)

asked = json.loads(sys.argv[1])
for words in asked:  # what they import is imported once
    cli.get_command(click.Context(cli), words[0])
import tennis.course.labs, tennis.rally.statistics.summary
for words in asked or list(commands(cli)):
    for output, errors in json.loads(sys.argv[2]):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                put(2, errors or err)
                put(1, output or out)
                sys.argv = ["tennis", *words]
                code = 0
                try:
                    main()
                except SystemExit as error:
                    code = error.code
                os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0), err.seek(0)
            said = out.read().decode(), err.read().decode()
            print(json.dumps([words, output, errors, code, *said]), flush=True)
"""


def tried(words: list[list[str]], outputs: list[list[str]]) -> list[list[Any]]:
    """Run commands (none: the help of all) with these outputs: closed, full, gone, or taken."""
    done = run_to_end(
        [sys.executable, "-c", TRIED, json.dumps(words), json.dumps(outputs)], check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def shell(line: str, folder: Path, **words: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, with ``words`` as its variables."""
    return run_to_end(
        ["bash", "-c", line],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "tennis": TENNIS, **words},
    )


@pytest.fixture(scope="module")
def rally(tmp_path_factory):
    return make_rally(tmp_path_factory.mktemp("streams") / "r", balls=200).path


def test_every_command_without_an_output():
    expected = {"closed": (0, CLOSED), "full": (1, FULL), "gone": (0, "")}
    found = tried([], [[output, ""] for output in expected])
    for words, output, _, code, _, said in found:
        wanted, line = expected[output]
        if wanted == 1 and words[0] == "compare":
            wanted = 4  # 1 would say that something is worse
        assert (code, said) == (wanted, line), (words, output)
    assert len(found) > 150


def test_a_result_that_went_nowhere(rally):
    words = [["stats", "--json", str(rally)], ["kernels"], ["lab"]]
    expected = {
        ("closed", ""): (0, CLOSED),
        ("full", ""): (1, FULL),
        ("gone", ""): (0, ""),
        ("closed", "closed"): (0, ""),
        ("full", "full"): (1, ""),
        ("", "closed"): (0, ""),
        ("", "full"): (0, ""),
    }
    for command, output, errors, code, printed, said in tried(words, [*map(list, expected)]):
        assert (code, said) == expected[output, errors], (command, output, errors)
        assert bool(printed) == (not output)


def test_a_rally_is_played_and_sealed_whatever_its_outputs_are(rally, tmp_path):
    """No file gets the number of a closed output: the same bytes as with both outputs."""
    words = ["replay", str(rally), "--speed", "1e6", "--out"]
    for number, outputs in enumerate((["full", "full"], ["gone", "gone"], ["", "closed"])):
        (done,) = tried([[*words, str(tmp_path / str(number))]], [outputs])
        assert done[3] == (1 if outputs[0] == "full" else 0), done
    line = "$tennis $words all <&- >&- 2>&- || exit; $tennis $words output >&-"
    done = shell(line, tmp_path, words=" ".join(words))
    assert (done.returncode, done.stderr.endswith(CLOSED)) == (0, True)
    played = [open_rally(folder).manifest.files for folder in tmp_path.iterdir()]
    assert len(played) == 5
    assert all(files == played[0] for files in played)


def test_a_program_that_is_started_has_all_descriptors(tmp_path):
    """Without these, the next file that is opened takes the place of standard output."""
    script = (
        "import os\nfrom tennis.cli import streams\nstreams.prepare('strict')\n"
        "file = open('journal', 'wb')\nos.system('echo printed; echo said >&2')\n"
        "print('lost')\nfile.write(b'balls')\n"
    )
    line = '$python -c "$script" <&- >&- 2>&-'
    assert shell(line, tmp_path, python=sys.executable, script=script).returncode == 0
    assert (tmp_path / "journal").read_bytes() == b"balls"


def test_an_error_is_still_one_line(tmp_path):
    words = [["stats", str(tmp_path / "none")]]
    for *_, code, _, said in tried(words, [["closed", ""], ["full", ""]]):
        assert code == 1
        assert said.count("\n") == 1
        assert "none does not exist" in said
