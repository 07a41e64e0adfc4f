# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Skip the tests that need a room, each counted: for scripts/core-tests.sh."""

from collections.abc import Generator

import pytest

WHY = "needs a room"
# what Python says of a room that is not there, and what a command says of it
WORDS = (
    "is a room's",
    "needs a part of Tennis that is not here",
    "from 'tennis.bench.instruments' (",  # cannot import a name of a package that is there
    *("from 'tests.browser.test_pages' (", "from 'tests.provisioning.test_card' ("),  # the same
    "no kernel 'sloth'",
)
# of these no words name what is missing: SLOTH, boards, an emulated Pico
OF_ROOMS = (
    "bench/kernels/test_requirements.py::test_the_doctor_looks_at_one_thing",
    "bench/test_fitting.py::test_a_first_cpu_is_said",
    "bench/test_fitting.py::test_what_was_recorded_is_asked_for_again",
    "bench/test_fitting.py::test_what_does_not_go_together[asked5-",
    "bench/test_new_bench.py::test_what_it_does_not_take_is_refused",
    "bench/virtual/test_memory.py::test_other_benches_have_no_profile[other1]",
    "figures/test_figures.py::test_every_text_has_what_was_played",
    "play/test_command.py::test_each_setting_of_a_plan_is_among_the_cases",
    "play/test_command.py::test_the_command_is_planned_as_the_rally_is_played_again[sloth",
    "play/test_planning.py::test_a_program_is_named_again",
    "play/test_planning.py::test_options_that_do_not_go_together[asked9-",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(OF_ROOMS):
            item.add_marker(pytest.mark.skip(reason=WHY))


def _needs_a_room(report: pytest.CollectReport | pytest.TestReport) -> bool:
    said = [report.longreprtext, *(text for _, text in report.sections)]
    return report.failed and any(words in text for text in said for words in WORDS)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if _needs_a_room(report):
        report.outcome, report.result = "skipped", []
        report.longrepr = (str(collector.path), 0, WHY)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if _needs_a_room(report):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, WHY)
    return report
