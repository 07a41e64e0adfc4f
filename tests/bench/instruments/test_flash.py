"""Flash, doctor and verify with the real firmware on an emulated Pico."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis.bench.cache import digest
from tennis.bench.instruments import emulated, firmware, micropython, verifications
from tennis.cli import cli
from tennis.play import verify
from tennis.play.commissioning.request import Amount
from tests.support.emulated_pico import JUMPERS, EmulatedPico
from tests.support.terminal import tennis

pytestmark = pytest.mark.virtual


@pytest.fixture(autouse=True)
def _data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_DATA", str(tmp_path / "data"))


@pytest.fixture
def empty(tmp_path) -> Path:
    """Return the flash of a Pico on which MicroPython was just put."""
    path = tmp_path / "flash.bin"
    path.write_bytes(micropython.firmware().read_bytes().ljust(emulated.FLASH_SIZE, b"\xff"))
    return path


def execute(pico: EmulatedPico, program: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "mpremote", "connect", pico.plain_url, "exec", program],
        check=True,
        capture_output=True,
    )


# the compiler and MicroPython's version -> the digest that the reference rallies have, too
BUILT = {
    ("arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205", b"v1.25.0"): (
        "800fd1eaa64203d232319588867bdf09"
    )
}


def test_micropython_is_built_to_the_same_bytes_on_every_machine():
    """A table in the order of a set of Python's gave one of two images."""
    path = micropython.firmware()
    version = re.search(rb"MicroPython (v[0-9.]+) on", path.read_bytes())
    known = BUILT.get((micropython._compiler_version(), version[1] if version else b"none"))
    if not known:
        pytest.skip("not comparable: another compiler or MicroPython")
    assert digest(path) == known


@pytest.mark.more
def test_an_empty_pico_is_flashed_once(empty):
    with EmulatedPico(*JUMPERS, flash=empty) as pico:
        done = tennis("doctor", "--port", pico.url)
        assert done.returncode == 1
        assert "a MicroPython prompt answers" in done.stdout
        assert "tennis brickwall flash --port" in done.stdout
        done = tennis("brickwall", "flash", "--port", pico.url)
        assert done.returncode == 0, done.stderr
        assert f"runs firmware {firmware.sha256()[:12]}" in done.stdout
        assert f"{len(firmware.files())} files written, 0 were there already" in done.stderr
        # the Brickwall at work is interrupted, and nothing is written again
        done = tennis("brickwall", "flash", "--port", pico.url)
        assert done.returncode == 0, done.stderr
        assert f"0 files written, {len(firmware.files())} were there already" in done.stderr
        done = tennis("doctor", "--port", pico.url)
        assert done.returncode == 0, done.stdout
        assert "this checkout's" in done.stdout
        assert "the jumpers of the self-test" in done.stdout


@pytest.mark.more
def test_other_programs_are_not_removed_unasked(empty):
    with EmulatedPico(flash=empty) as pico:
        execute(pico, "for n in 'mine', 'main': open(n + '.py', 'w').write('x = 1')")
        done = tennis("brickwall", "flash", "--port", pico.url)
        assert done.returncode == 2
        assert "holds other programs (main.py, mine.py)" in done.stderr
        done = tennis("brickwall", "flash", "--port", pico.url, "--remove-others")
        assert done.returncode == 0, done.stderr
        assert "removing mine.py" in done.stderr


@pytest.mark.cases(more=["5-*"])
@pytest.mark.parametrize(("each", "random"), [(1, 192), (5, 5000)])
def test_the_firmware_measures_known_delays_to_the_tick(each, random, monkeypatch):
    monkeypatch.setattr(verify, "Amount", lambda each: Amount(each, random))
    words = ["brickwall", "verify", "--bench", "virtual", "--balls", str(each), "--json"]
    found = json.loads(CliRunner().invoke(cli, words).stdout)
    assert (found["verdict"], found["largest_error_ticks"]) == ("pass", 0), found["reason"]
    assert found["balls"] == 34 * each + random
    kept = verifications.read(found["instrument"]["unique_id"])
    assert (kept.verdict, kept.kind, kept.source) == ("pass", "emulated", "jumpers")
