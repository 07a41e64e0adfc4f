"""The Python interface: what a notebook gets is what the command line prints."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import tennis
from tennis.cli import cli
from tennis.kit.checkout import ROOT
from tennis.kit.errors import RallyError, UsageError
from tennis.rally import part_path, seal
from tennis.rally.statistics.balls import latencies_ns
from tests.support.synthetic import make_rally, manifest
from tests.support.tables import plain, schema

PAGE = ROOT / "docs/python.md"
TICK_HZ = 125_000_000
RISE = [100, 200, None, 400, 50]
FALL = [300, None, None, 1000, 51]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a rally in which edges are missing."""
    out = tmp_path_factory.mktemp("api") / "first"
    part_path(out).mkdir()
    balls = pa.table(
        [range(5), [n * 1_000_000 for n in range(5)], RISE, FALL], schema=schema(TICK_HZ)
    )
    seal(part_path(out), out, manifest(balls=5, tick_hz=TICK_HZ), plain(balls), [])
    return out


def test_latencies_are_differences_of_edges_in_nanoseconds(folder):
    table = tennis.open(folder).arrow().to_pydict()
    assert table["ball"] == [0, 1, 2, 3, 4]
    assert (table["rise_ticks"], table["fall_ticks"]) == (RISE, FALL)
    assert table["interrupt_ns"] == [800, 1600, None, 3200, 400]
    assert table["scheduling_ns"] == [1600, None, None, 4800, 8]


def test_the_command_counts_what_each_latency_misses(folder):
    """A reply that rose and did not fall has an interrupt latency."""
    out = CliRunner().invoke(cli, ["stats", str(folder)]).output
    row = next(line for line in out.splitlines() if line.lstrip().startswith("missed"))
    assert row.split() == ["missed", "1", "of", "5", "2", "of", "5"]


def test_pandas_says_the_same_with_nan(folder):
    rally = tennis.open(str(folder))
    balls = rally.pandas()
    assert balls["interrupt_ns"].isna().tolist() == [False, False, True, False, False]
    assert balls["interrupt_ns"].max() == rally.stats().interrupt_ns.latest
    # pandas leaves the missed ball out; it is later than all others
    assert rally.stats().interrupt_ns.said("max") == "> 100 ms"
    assert latencies_ns(rally, "interrupt").tolist() == [800, 1600, np.inf, 3200, 400]
    assert np.isinf(latencies_ns(rally, "scheduling")).sum() == 2
    assert balls["scheduling_ns"].min() == rally.stats().scheduling_ns.min
    assert balls["served_ns"].dtype == np.int64


def test_statistics_are_those_of_the_command(folder):
    main = "from tennis.cli import main; main()"
    said = subprocess.check_output(
        [sys.executable, "-c", main, "stats", folder, "--json"], text=True
    )
    assert json.loads(said) == json.loads(json.dumps(tennis.open(folder).stats().as_json()))


def test_what_is_not_installed_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match="polars is not installed"):
        tennis.open(folder).polars()


def test_what_cannot_be_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match="no picture 'pie': use histogram"):
        tennis.open(folder).plot("pie")
    with pytest.raises(UsageError, match="nothing to draw"):
        tennis.plot([])
    with pytest.raises(RallyError) as refused:
        tennis.open(tmp_path)
    # a notebook need not speak of commands
    assert refused.value.message == f"{tmp_path} holds no manifest.json"
    assert refused.value.next_step == "name the folder that `tennis rally` wrote"
    assert str(refused.value) == f"{refused.value.message}: {refused.value.next_step}"
    with pytest.raises(AttributeError, match="no attribute 'serve'"):
        _ = tennis.serve


def test_a_rally_is_opened_without_a_bench(folder):
    """Neither the bench nor matplotlib is loaded to read balls."""
    program = f"""
import sys, tennis
rally = tennis.open({str(folder)!r})
rally.arrow(), rally.stats()
heavy = ("tennis.bench", "tennis.play", "matplotlib")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    said = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert said == "[]\n"


def test_the_page_works(tmp_path, monkeypatch):
    """Its Python blocks, in their order, where two rallies are."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 1
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        make_rally(tmp_path / name, balls=500)
    exec("\n".join(blocks), {})  # noqa: S102 (our own page)
    assert (tmp_path / "both.png").stat().st_size > 1000
