# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Each lab can be handed in: its notebook runs in the box, and becomes a PDF with its pictures."""

import zipfile

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_course
from tennis.rally.folder import STAGES
from tests.support.hand_ins import STAGED, make_work

LABS = load_course()[1]


@pytest.mark.cases(more=["0[2-9]*", "1*"])
@pytest.mark.virtual
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_lab_is_handed_in(lab, tmp_path):
    made = make_work(tmp_path / "w", lab, "zoe")
    out = tmp_path / "zoe.zip"
    words = ["lab", "submit", f"{lab.number:02}", "--in", str(made), "--out", str(out)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(out) as archive:
        names = set(archive.namelist())
        pdf = archive.read("notebook.pdf")
    assert {"answers.toml", "notebook.md", *lab.files} <= names
    assert {f"{rally.name}/manifest.json" for rally in lab.to_play} <= names
    assert {f"{name}/{STAGES}" for slug, name in STAGED if slug == lab.slug} <= names
    recorded = {rally.name for rally in lab.rallies if rally.recorded}
    assert not {name for name in names if name.partition("/")[0] in recorded}
    if lab.match is not None:
        assert f"{lab.match.name}/match.json" in names
        boots = 5 * 10  # of each kernel, load and top half of plans/quick.toml
        assert sum(name.endswith("/manifest.json") for name in names) == boots
    assert b"/Image" in pdf
