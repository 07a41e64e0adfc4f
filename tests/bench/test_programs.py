"""A missing program is named with its package, as in dpkg's own list."""

from types import SimpleNamespace

import pytest

from tennis.bench import programs
from tennis.bench.commands import run
from tennis.bench.physical import managed
from tennis.bench.physical.programs import BoardProgram
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError
from tests.support.processes import run_to_end

REST = "Version: 2:1.2~rc1-3\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: x\n"
STATES = {  # package -> what dpkg remembers of it; only the first two can be used
    "usual": "install ok installed",
    "held": "hold ok installed",
    "half": "install reinstreq half-installed",
    "unpacked": "install ok unpacked",
    "half-made": "install ok half-configured",
    "removed": "deinstall ok config-files\nConffiles:\n /etc/x 11111111111111111111111111111111",
    "awaiting": "install ok triggers-awaited\nTriggers-Awaited: usual",
    "installed-half": "install ok unpacked",
    "purged": "purge ok not-installed",
}
LACKING = [*list(STATES)[2:], "absent"]


def test_a_missing_program_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BenchError, match=r"qemu-img is not installed; it is in Debian's package "
                       r"qemu-utils: run scripts/setup.sh --test"):  # fmt: skip
        run(["qemu-img", "--version"], what="making a disk")


def test_what_is_there_is_what_dpkg_calls_installed(tmp_path, monkeypatch):
    """For a board's program and load, and for this machine; dpkg reads a list with all states."""
    (tmp_path / "info").mkdir()
    stanzas = (f"Package: {name}\nStatus: {state}\n{REST}\n" for name, state in STATES.items())
    (tmp_path / "status").write_text("".join(stanzas))
    monkeypatch.setenv("DPKG_ADMINDIR", str(tmp_path))
    monkeypatch.setattr(programs.environment, "for_programs", lambda: None)  # this one
    mine = SimpleNamespace(packages=[*STATES, "absent"], name="mine")
    own = SimpleNamespace(brought=SimpleNamespace(about=mine, name="mine"))
    target = SimpleNamespace(
        host="a-pi", attempt=lambda it: SimpleNamespace(output=run_to_end(["sh", "-c", it]).stdout)
    )
    said = f"apt-get install {' '.join(LACKING)}`"
    with pytest.raises(BenchError, match=said):
        BoardProgram(own).versions(target)
    with pytest.raises(BenchError, match=said):
        managed._refuse_packages(SimpleNamespace(witness="none"), mine, target)
    assert [name for name in mine.packages if not programs._is_installed(name)] == LACKING
    setup = (ROOT / "scripts/setup.sh").read_text().partition("\nmissing_packages() {")[2]
    words = f"printf '%s\\n' {' '.join(mine.packages)} | (" + setup.partition("\n}")[0] + "\n)"
    assert run_to_end(["bash", "-c", words]).stdout.split() == LACKING
