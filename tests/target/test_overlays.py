"""The device-tree overlays, applied to the boards' real trees by dtc's own fdtoverlay."""

import re
import struct
import subprocess
from pathlib import Path

import pytest
import yaml

from tennis.bench.kernels import catalogue
from tennis.kit.checkout import ROOT
from tennis.kit.wiring import wiring
from tests.support.processes import run_to_end

OVERLAYS = ROOT / "target" / "overlays"
BOARDS = {
    "Pi 3": "bcm2837-rpi-3-b",
    "Pi 3 B+": "bcm2837-rpi-3-b-plus",
    "Pi 4": "bcm2711-rpi-4-b",
    "Zero 2": "bcm2837-rpi-zero-2-w",
}
# Debian 13's kernel has no tree of a Pi 5 with its header: this stands in for it, in its labels
RP1 = """/dts-v1/;
/ { axi { rp1_gpio: pinctrl@400d0000 { gpio-controller; #gpio-cells = <2>; }; }; };
"""


def run(*words: object, stdin: str | None = None) -> str:
    done = run_to_end([str(word) for word in words], input=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(name: str, folder: Path) -> Path:
    out = folder / f"{name}.dtbo"
    # no warning is accepted, but for labels that only the base tree has
    said = run_to_end(
        ["dtc", "-@", "-I", "dts", "-O", "dtb", "-o", out, OVERLAYS / f"{name}.dts"], check=True
    )
    assert not said.stderr
    return out


def base(board: str) -> Path:
    image = catalogue.find("mainline").config.parents[1]
    return next(image.rglob(f"broadcom/{BOARDS[board]}.dtb"))


def numbers(tree: Path, node: str, name: str) -> list[int]:
    return [int(word) for word in run("fdtget", "-t", "u", tree, node, name).split()]


def pins() -> tuple[int | None, int | None]:
    return wiring().wire("ping").target_bcm, wiring().wire("reply").target_bcm


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_the_racquet_gets_its_node_on_a_board(board, tmp_path):
    overlay, merged = compiled("tennis-racquet", tmp_path), tmp_path / "merged.dtb"
    run("fdtoverlay", "-i", base(board), "-o", merged, overlay)
    assert run("fdtget", merged, "/racquet", "compatible").strip() == "tennis,racquet"
    gpio = numbers(merged, "/soc/gpio@7e200000", "phandle")[0]
    assert numbers(merged, "/racquet", "ping-gpios") == [gpio, pins()[0], 0]
    assert numbers(merged, "/racquet", "reply-gpios") == [gpio, pins()[1], 0]
    schema = yaml.safe_load((OVERLAYS / "tennis,racquet.yaml").read_text())
    there = set(run("fdtget", "-p", merged, "/racquet").split()) - {"phandle"}
    assert there == set(schema["properties"]) == set(schema["required"])


def test_a_pi_5_has_its_own_label(tmp_path):
    overlay, merged = compiled("tennis-racquet-rp1", tmp_path), tmp_path / "merged.dtb"
    tree = tmp_path / "rp1.dtb"
    run("dtc", "-@", "-q", "-O", "dtb", "-o", tree, stdin=RP1)
    run("fdtoverlay", "-i", tree, "-o", merged, overlay)
    gpio = numbers(merged, "/axi/pinctrl@400d0000", "phandle")[0]
    assert numbers(merged, "/racquet", "ping-gpios") == [gpio, pins()[0], 0]
    assert numbers(merged, "/racquet", "reply-gpios") == [gpio, pins()[1], 0]
    refused = subprocess.run(
        ["fdtoverlay", "-i", tree, "-o", merged, compiled("tennis-racquet", tmp_path)],
        capture_output=True,
        check=False,
    )
    assert refused.returncode != 0  # there is no `gpio` there


def test_a_tree_needs_its_symbols(tmp_path):
    """So a kernel is built with DTC_FLAGS=-@: by itself an older one keeps none."""
    overlay, tree = compiled("tennis-racquet-rp1", tmp_path), tmp_path / "bare.dtb"
    run("dtc", "-q", "-O", "dtb", "-o", tree, stdin=RP1)
    said = run_to_end(["fdtoverlay", "-i", tree, "-o", tmp_path / "merged.dtb", overlay])
    assert said.returncode != 0
    # Debian 12 says NOTFOUND, Debian 13 BADOFFSET and why
    assert re.search("FDT_ERR_(NOTFOUND|BADOFFSET)", said.stdout + said.stderr)


def override(overlay: Path, parameter: str) -> tuple[str, str, int]:
    """Return (node, property, offset) that a parameter sets.

    In the form that Raspberry Pi's documentation of overlays gives: a phandle, then text
    "PROPERTY:OFFSET", where `:` means one cell. The phandle is a fix-up of the overlay's own.
    """
    content = run("fdtget", "-t", "bx", overlay, "/__overrides__", parameter).split()
    raw = bytes(int(word, 16) for word in content)
    (phandle,) = struct.unpack(">I", raw[:4])
    name, _, offset = raw[4:].rstrip(b"\0").decode().partition(":")
    node = "/fragment@0/__overlay__/racquet"
    assert numbers(overlay, node, "phandle") == [phandle]
    fixups = run("fdtget", "-t", "u", overlay, "/__local_fixups__/__overrides__", parameter)
    assert fixups.split() == ["0"]
    return node, name, int(offset)


@pytest.mark.parametrize("name", ["tennis-racquet", "tennis-racquet-rp1"])
def test_parameters_set_the_pins(name, tmp_path):
    overlay = compiled(name, tmp_path)
    for parameter, default in zip(("ping", "reply"), pins(), strict=True):
        node, prop, offset = override(overlay, parameter)
        assert prop == f"{parameter}-gpios"
        assert offset % 4 == 0
        assert numbers(overlay, node, prop)[offset // 4] == default
