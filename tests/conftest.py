# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What all tests share."""

import gc
import os
import platform
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tennis.bench import programs
from tennis.bench.kernels import catalogue
from tennis.checkout import ROOT
from tennis.course.notebook.notebook_runner import without_grammars
from tennis.log import listening
from tests.support import tiers
from tests.support.not_comparable import NotComparable
from tests.support.processor_seconds import ProcessorSeconds

MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
# where programs may be that no package holds: built here, made by a test, Python's own
OURS = (ROOT, Path(tempfile.gettempdir()), Path.home() / ".cache", Path(sys.prefix))
LISTED = {program.name for program in programs.programs()}
without_grammars()  # each worker imports the notebooks' tests
gc.set_threshold(50_000)  # as tennis.cli does: what is imported and collected stays
UNIT = {"system", "base", "lab", "unit"}  # the stages that scripts/setup.sh --unit installs
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORKER = "PYTEST_XDIST_WORKER"  # the environment's name of which one of several this is
DISPENSABLE = {"fc-list"}  # matplotlib asks it once for its list of fonts, and does without it


def pytest_sessionstart(session: pytest.Session) -> None:
    """Name what is missing before minutes of work."""
    marks = session.config.getoption("markexpr")
    unit = "not virtual" in marks  # `make unit`
    if unit and "not slow" in marks:  # all of it: with TESTS= somebody chose what may take more
        # its setup brings no kernel and no compiler for a Cortex-M, whatever this machine has
        catalogue.is_fetched = _never_fetched
        LISTED.intersection_update(p.name for p in _of_unit())
    sys.addaudithook(_listed_only)
    if WORKER in os.environ:
        return
    if session.config.args_source is pytest.Config.ArgsSource.ARGS:
        return  # of some files: what one of them starts is named then
    here = {"always", "absent", MACHINE}
    wanted = [p for p in programs.programs() if p.name != "-" and p.when in here]
    stage = "test"
    if unit:
        stage, wanted = "unit", [p for p in wanted if p in _of_unit()]
    missing = [program for program in wanted if not programs.find(program.name)]
    if missing:
        words = ", ".join(f"{program.name} (package {program.package})" for program in missing)
        pytest.exit(f"not installed: {words}; run scripts/setup.sh --{stage}", 3)


def _never_fetched(name: str) -> bool:
    del name
    return False


def _of_unit() -> list[programs.Program]:
    """Return the programs that scripts/setup.sh --unit installs."""
    every = [program for program in programs.programs() if program.stage in UNIT]
    return [program for program in every if not program.package.endswith("-arm-none-eabi")]


def _listed_only(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse to start a program that is not in scripts/programs.txt: setup must know it."""
    if event != "subprocess.Popen":
        return
    executable = os.fsdecode(arguments[0])  # type: ignore[arg-type]
    where = executable if "/" in executable else programs.find(executable)
    if (
        where is None
        or Path(where).name in LISTED | DISPENSABLE
        or Path(executable).name.startswith("python")
    ):
        return
    if any(Path(where).is_relative_to(place) for place in OURS) or not Path(where).exists():
        return
    raise AssertionError(
        f"{executable} is started, and scripts/programs.txt does not list it, or not for "
        "`make unit`: there the test waits as [slow] in tests/tiers.toml"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count processor seconds, and tests that had nothing to compare with."""
    config.pluginmanager.register(ProcessorSeconds())
    config.pluginmanager.register(NotComparable())


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what waits for another command; keep files together; run what boots kernels last."""
    # with the cache's --last-failed, too, a file is not whole
    chosen = config.getoption("lf", False) or any("::" in argument for argument in config.args)
    files = {item.path.relative_to(ROOT).as_posix() for item in items}
    known = list(tiers.lines())
    idle = tiers.mark(items, known, set() if chosen else files)
    idle += [line for line in known if not (ROOT / line.file).is_file()]
    if idle:
        pytest.exit(f"tests/tiers.toml: {idle[0].file}: no test is {idle[0].name}", 3)
    if lost := tiers.lost(items, known, set() if chosen else files):
        words = ", ".join(lost)
        pytest.exit(f'tests/tiers.toml: no case in make test, say ["*"] if so: {words}', 3)

    turns: Counter[Path] = Counter()  # of what boots: how many of its file came before it
    order: dict[pytest.Item, int] = {}
    for item in items:
        if any(map(item.get_closest_marker, ("provision", "virtual"))):
            turns[item.path] += 1
            order[item] = turns[item.path] if WORKER in os.environ else 1
        else:
            order[item] = 0
            if not item.get_closest_marker("xdist_group"):
                # one worker has a file's servers, browsers and made-up rallies; else each has them
                file = item.path.relative_to(ROOT / "tests").with_suffix("").as_posix()
                item.add_marker(pytest.mark.xdist_group(file))
    # workers take turns at files: what one makes once, others of its file would wait for
    items.sort(key=order.__getitem__)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run where xdist would not keep together what shares a machine."""
    gc.freeze()  # thousands of tests: Python need not look through them while they run
    if WORKER in os.environ:
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                pytest.exit("this pytest and this pytest-xdist know no groups together", 3)


@pytest.hookimpl(tryfirst=True)  # before --last-failed notes the name
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say at once what failed: a run that is ended from outside has no summary."""
    if WORKER in os.environ:
        return
    name, _, group = report.nodeid.rpartition("@")
    if name and "]" not in group:  # xdist adds the group, and one process alone does not
        report.nodeid = name
    if report.failed:
        print(f"\n{report.nodeid}: {report.when} failed\n{report.longreprtext}", flush=True)


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """Return the lines that are said while the test runs."""
    lines: list[str] = []
    with listening(lines.append):
        yield lines


@pytest.fixture
def in_time() -> Iterator[None]:
    """Let a test fail that waits for ever."""

    def late(*_: object) -> None:
        pytest.fail("this waited for half a minute, and would have gone on")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[object, str, str]]]:
    """Give a function that runs the command here and returns (exit code, output, errors).

    A process of its own (``tests.support.terminal``) costs more.
    """
    from tennis.cli import main

    handlers = {number: signal.getsignal(number) for number in STOPPING}

    def run(*words: object) -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["tennis", *map(str, words)])
        code: object = 0
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code or 0
        return code, *capsys.readouterr()

    yield run
    for number, handler in handlers.items():  # Ctrl-C is the tests' again
        signal.signal(number, handler)
