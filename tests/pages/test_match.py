# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The report of a match: a long list of rallies is folded, and whole."""

import pytest

from tennis.pages.match import write_match_report
from tennis.replicate.verdicts import Replication
from tests.support.synthetic_match import MatchMaker, bursts


@pytest.mark.parametrize(("boots", "folded"), [(201, True), (12, False)])
def test_a_long_list_of_rallies_is_folded(tmp_path, boots, folded):
    maker = MatchMaker(tmp_path / "m")
    maker.cell("mainline", "default", "idle", bursts(3000, balls=200), boots=boots)
    page = write_match_report(Replication(maker.sealed())).read_text()
    assert (f"<summary>All {boots} rallies</summary>" in page) == folded
    for planned in maker.scheduled:
        assert f'<th scope="row">{planned.name}</th>' in page
