"""Shared by all tests."""

import gc
import importlib.util
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import hypothesis
import pytest

from tennis.bench import programs
from tennis.bench.kernels import catalogue
from tennis.course.notebook.notebook_runner import without_grammars
from tennis.kit.checkout import ROOT
from tennis.kit.log import listening

# programs there that no package holds: built here, made by a test, Python's own
OURS = (ROOT, Path(tempfile.gettempdir()), Path.home() / ".cache", Path(sys.prefix))
LISTED = {program.name for program in programs.programs()}
HERE = {name for p in programs.programs() if programs.find(p.name) for name in (p.name, p.package)}
hypothesis.settings.register_profile("tennis", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("tennis")
without_grammars()  # each worker imports the notebooks' tests
gc.set_threshold(50_000)  # as tennis.cli does: what is imported and collected stays
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORKER = "PYTEST_XDIST_WORKER"  # the environment's name of which one of several this is
DISPENSABLE = {"fc-list"}  # matplotlib asks it once for its list of fonts, and does without it
NOT_LATER = "not more and not provision and not release"
QUICK = f"not virtual and not slow and {NOT_LATER}"
NEEDS = "left out: it needs "


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test` asks for."""
    words = "leave out no test because a program, a kernel or a Python package is missing: it fails"
    parser.addoption("--all", action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Run the quick tests if nothing else is asked for; of files, what `make test` runs of them."""
    if not (config.option.markexpr or config.option.all):
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.option.markexpr = QUICK
        elif not any("::" in argument for argument in config.args):
            config.option.markexpr = NOT_LATER
    sys.addaudithook(_listed_only)


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
    raise AssertionError(f"{executable} is started, and scripts/programs.txt does not list it")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases that wait; keep files together; run what boots kernels last."""
    turns: Counter[Path] = Counter()  # of what boots: how many of its file came before it
    order: dict[pytest.Item, float] = {}
    boots = config.option.all or _can_boot()
    for item in items:
        case = item.name.partition("[")[2].removesuffix("]")
        for marker in item.iter_markers("cases"):
            for tier, patterns in marker.kwargs.items():
                if any(fnmatchcase(case, one) for one in patterns):
                    item.add_marker(tier)
        if any(map(item.get_closest_marker, ("provision", "virtual"))):
            turns[item.path] += 1
            # long ones first, or one worker has the last of them when the others have nothing left
            turn = 0.5 if item.get_closest_marker("slow") else turns[item.path]
            order[item] = turn if WORKER in os.environ else 1
            if not boots:
                item.add_marker(pytest.mark.skip(reason=f"{NEEDS}QEMU and Debian's kernels"))
        else:
            order[item] = 0
            if not item.get_closest_marker("xdist_group"):
                # one worker has a file's servers, browsers and made-up rallies; else each has them
                file = item.path.relative_to(ROOT / "tests").with_suffix("").as_posix()
                item.add_marker(pytest.mark.xdist_group(file))
    # workers take turns at files: what one makes once, others of its file would wait for
    items.sort(key=order.__getitem__)


def _can_boot() -> bool:
    return bool(
        programs.find("qemu-system-aarch64") and all(map(catalogue.is_fetched, ("mainline", "rt")))
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run where xdist would not keep together what shares a machine."""
    gc.freeze()  # thousands of tests: Python need not look through them while they run
    if WORKER in os.environ:
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                pytest.exit("this pytest and this pytest-xdist know no groups together", 3)


NO_PACKAGE = re.compile(r"No module named '(?!tennis|tests)(\w+)")
NO_PROGRAM = re.compile(
    r"([\w+.-]+)(?: is not installed|, which is missing|: command not found)"
    r"|No such file or directory: '([\w+.-]+)'"
)
NO_KERNEL = re.compile(r"the kernel ([\w.-]+) is not here yet")


def _lacking(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return what a failed test names that is not installed; empty: that is not why it failed."""
    text = report.longreprtext if report.failed else ""
    if found := NO_PACKAGE.search(text):
        return "" if importlib.util.find_spec(found[1]) else found[1]
    if found := NO_KERNEL.search(text):
        return "" if catalogue.is_fetched(found[1]) else found[1]
    names = [
        one[1] or one[2] for one in NO_PROGRAM.finditer(text) if not one[2] or one[2] in LISTED
    ]
    return next((one for one in names if one not in HERE and not programs.find(one)), "")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):  # type: ignore[no-untyped-def]
    """Leave a file out whose Python packages are not installed."""
    report = yield
    if not collector.config.option.all and (name := _lacking(report)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, NEEDS + name)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):  # type: ignore[no-untyped-def]
    """Leave a test out whose programs are not installed."""
    report = yield
    if not item.config.option.all and (name := _lacking(report)):
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, NEEDS + name)
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count what is left out by itself: with what is skipped, -ra would list each."""
    return ("left out", "", "") if _left_out_for(report) else None


def _left_out_for(report: pytest.TestReport | pytest.CollectReport) -> str:
    words = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return words.partition(NEEDS)[2] if report.skipped else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a line what was left out."""
    reports = [
        *terminalreporter.stats.get("left out", []),
        *terminalreporter.stats.get("skipped", []),
    ]
    needed = Counter(filter(None, map(_left_out_for, reports)))
    if needed:
        words = ", ".join(f"{name} ({count})" for name, count in sorted(needed.items()))
        terminalreporter.write_line(
            f"left out, as these are not installed: {words}; scripts/setup.sh --test installs all"
        )
    if terminalreporter.config.option.markexpr == QUICK:
        terminalreporter.write_line(
            "deselected: the tests that boot kernels or take long; make test runs them"
        )


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
    """Return the lines that are logged while the test runs."""
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
