"""Sweeps on the virtual bench: a known answer, real kernels, interruptions, foreign folders."""

import json
import shutil
from pathlib import Path

import pytest

from tennis.kit.errors import RallyError
from tennis.match.sweep.folder import open_sweep
from tennis.rally import open_rally
from tennis.rally.statistics.pairing import pairing
from tests.support.shared import made_once
from tests.support.terminal import run

pytestmark = [pytest.mark.virtual, pytest.mark.xdist_group("sweep")]

WORDS = (
    *("sweep", "--kernel", "rt", "--balls", "600", "--seed", "7", "--from-hz", "50000"),
    *("--to-hz", "150000", "--rates-per-decade", "2", "--resolution-percent", "80"),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """Return a sweep that nobody disturbed."""

    def make(folder: Path) -> None:
        done = run(*WORDS, "--out", folder / "rates")
        assert done.exit_code == 0, done.output
        (folder / "said.txt").write_text(done.output)

    return made_once(tmp_path_factory, "sweep", make) / "rates"


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    shutil.copytree(whole, tmp_path / "rates")
    return tmp_path / "rates"


def test_a_real_kernel_breaks_where_its_answer_takes_a_period(whole):
    """rt lowers the line some 9.4 us after a ping: with pings 7 us apart replies are alike."""
    swept = open_sweep(whole)
    assert list(swept.rates) == sorted(swept.rates)
    answer_ns = swept.rates[50_000].interrupt_ns.median + swept.rates[50_000].scheduling_ns.median
    assert swept.rates[50_000].share > 0.99
    assert swept.rates[150_000].share < 0.1
    assert swept.breaking.holds_hz < 1e9 / answer_ns
    assert swept.breaking.breaks_hz / swept.breaking.holds_hz <= 1.8
    said = (whole.parent / "said.txt").read_text()
    assert f"Pairing breaks between {swept.breaking.holds_hz:,}" in said
    assert "599 pings a rate are judged" in said


def test_each_rate_is_a_rally(whole):
    rally = open_rally(whole / "50000-hz")
    assert rally.manifest.protocol.rate_hz == 50_000
    assert rally.manifest.protocol.timeout_ns == 20_000
    assert pairing(rally) == open_sweep(whole).rates[50_000]


def test_what_is_missing_is_played_and_the_rest_stays(whole, copy):
    """As after Ctrl-C or a crash: the same command, the same folder."""
    shutil.rmtree(copy / "50000-hz")
    done = run(*WORDS, "--out", copy)
    assert done.exit_code == 0, done.output
    assert "played" in done.output or "Pairing breaks" in done.output
    for path in whole.glob("*-hz"):
        again = open_rally(copy / path.name).manifest.files
        assert again == open_rally(path).manifest.files, path.name  # byte for byte


def test_stats_and_pictures(whole, tmp_path):
    done = run("stats", whole, "--json")
    told = json.loads(done.output)
    assert told["breaks_hz"] == open_sweep(whole).breaking.breaks_hz
    assert [rate["pings"] for rate in told["rates"]] == [599] * len(told["rates"])
    done = run("plot", whole, "--out", tmp_path / "pictures")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "pictures" / "rates.svg").read_text()
    assert "pairing breaks between" in text
    assert (tmp_path / "pictures" / "screens.svg").is_file()
    done = run("plot", whole, whole, "--out", tmp_path / "two")
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["rates.svg"]
    done = run("plot", whole, "--kind", "histogram", "--out", tmp_path / "none")
    assert "no picture of one sweep: use rates, screens" in done.output


def test_somebody_elses_folder_is_checked(copy):
    (copy / "70000-hz").symlink_to(copy / "50000-hz")
    with pytest.raises(RallyError, match="70000-hz is a link"):
        open_sweep(copy)
    (copy / "70000-hz").unlink()
    shutil.copytree(copy / "50000-hz", copy / "70000-hz")
    with pytest.raises(RallyError, match=r"70000-hz is not a rally of this sweep \(protocol"):
        open_sweep(copy)
