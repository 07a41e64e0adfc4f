"""Each lab can be handed in: its notebook runs in the box, and becomes a PDF with its pictures.

Thirty students can do so at once.
"""

import subprocess
import time
import zipfile

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import load_course, work
from tennis.grading import hand_in
from tennis.rally.folder import STAGES
from tests.support.hand_ins import STAGED, make_work
from tests.support.terminal import TENNIS

LABS = load_course()[1]


@pytest.mark.more
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


@pytest.mark.more
@pytest.mark.slow
def test_thirty_hand_in_at_once(tmp_path):
    """None is lost, each file is whole and its student's own; ``-s`` prints the longest wait."""
    lab = LABS[1]
    for number in range(31):
        make_work(tmp_path / f"w{number}", lab, f"student {number}")

    def submit(number: int) -> subprocess.Popen[bytes]:
        words = ["--in", tmp_path / f"w{number}", "--out", tmp_path / f"{number}.zip"]
        with (tmp_path / f"{number}.out").open("w") as said:
            command = [TENNIS, "lab", "submit", f"{lab.number}", *words]
            return subprocess.Popen(command, stdout=said, stderr=said)

    begin = time.monotonic()
    assert submit(30).wait() == 0, (tmp_path / "30.out").read_text()
    alone_s, begin = time.monotonic() - begin, time.monotonic()
    running = {number: submit(number) for number in range(30)}
    codes = {number: one.wait() for number, one in running.items()}
    longest_s = time.monotonic() - begin
    print(f"the longest of thirty took {longest_s / alone_s:.0f} times as long as one alone")
    said = {number: (tmp_path / f"{number}.out").read_text() for number in running}
    assert not {number: words for number, words in said.items() if codes[number]}
    assert sum("waiting for others" in words for words in said.values()) >= 20
    for number in running:
        with zipfile.ZipFile(tmp_path / f"{number}.zip") as archive:
            assert archive.testzip() is None
            assert b"/Image" in archive.read("notebook.pdf")
        out = tmp_path / f"out-{number}"
        assert hand_in.unpack(tmp_path / f"{number}.zip", out).notes == []
        own = work.read(out, lab)
        assert (own.answers.student, own.trouble) == (f"student {number}", {})
        assert own.answers.seed == own.seed
