"""Where a target's two lines come from: /sys/kernel/debug/gpio as the kernel's sources write it.

A real kernel's is in tests/bench/physical/test_small_board.py.
"""

import os
from pathlib import Path

import pytest

from tennis.bench.kernels.gpio_lines import _gpio_chips, _GpioChip, check_lines
from tennis.bench.targets import snapshot
from tests.support.processes import run_to_end

EXPANDER = "gpiochip1: GPIOs 600-615, parent: i2c/1-0020, 1-0020, can sleep:"
PC = f"""\
gpiochip0: GPIOs 512-599, parent: platform/INTC1055:00, INTC1055:00:
 gpio-520 (                    |power button        ) in  hi IRQ ACTIVE LOW

{EXPANDER}
"""
OF_6_15 = "gpiochip0: 54 GPIOs, parent: platform/fe200000.gpio, pinctrl-bcm2711:\n"


def seen(gpio: str = PC, lines: str = "", config: str = "") -> snapshot.Snapshot:
    def fact(name: str, text: str) -> str:
        return f"= {name}\n" + "".join(f" {line}\n" for line in text.splitlines())

    facts = {"gpio": gpio, "racquet_lines": lines, "config": config, "end": "yes"}
    return snapshot.read("".join(fact(*one) for one in facts.items()))


def test_chips_of_old_and_new_kernels():
    intel, expander = _gpio_chips(seen())
    assert intel == _GpioChip("INTC1055:00", 88, can_sleep=False)
    assert expander == _GpioChip("1-0020", 16, can_sleep=True)
    assert _gpio_chips(seen(OF_6_15)) == [_GpioChip("pinctrl-bcm2711", 54, can_sleep=False)]
    assert _gpio_chips(seen("gpiochip0: (dangling chip)")) == []
    assert len(_gpio_chips(seen(f"{OF_6_15}\n" * 100))) == 64


@pytest.mark.parametrize(("base", "head"), [(512, PC), (0, OF_6_15)])
def test_a_loaded_racquet_holds_its_lines(base, head):
    """Offsets in the chip, whatever the first number is."""
    held = "".join(
        f" gpio-{base + line:<3} ({'GPIO':<20}|{name:<20}) in  lo IRQ\n"
        for line, name in ((17, "ping"), (27, "reply"))
    )
    first, rest = head.split("\n", 1)
    found = check_lines(seen(f"{first}\n{held}{rest}"))
    assert found.verdict == "good"
    assert "ping is line 17, reply line 27 of " in found.words


@pytest.mark.parametrize(
    ("lines", "verdict", "words"),
    [
        ("device-tree racquet", "good", "the device tree names them"),
        ("racquet gpiochip=INTC1055:00 ping_line=3 reply_line=4", "good", "reply line 4 of INTC"),
        ("racquet gpiochip=INTC1055:00", "good", "ping is line 0, reply line 1"),
        ("racquet gpiochip=INTC1056:00", "bad", "no GPIO chip has that label"),
        ("racquet gpiochip=1-0020", "bad", "1-0020 can sleep"),
        ("racquet gpiochip=INTC1055:00 reply_line=88", "bad", "which has 88 lines"),
        ("racquet gpiochip=INTC1055:00 ping_line=1", "bad", "name two of them"),
        ("racquet gpiochip=INTC1055:00 ping_line=-1", "bad", "name two of them"),
        ("racquet_evl gpiochip=INTC1055:00", "bad", "there are INTC1055:00 (88 lines)"),
        ("", "bad", "options racquet gpiochip=INTC1055:00 ping_line=A reply_line=B"),
    ],
)
def test_lines_by_name(lines, verdict, words):
    found = check_lines(seen(lines=lines))
    assert found.verdict == verdict, found
    assert words in f"{found.words}: {found.advice}"


def test_the_script_finds_the_node_and_the_options(tmp_path: Path):
    """The real script, with a made-up device tree and a modprobe that has options, and too many."""
    (tmp_path / "tree/racquet").mkdir(parents=True)
    (tmp_path / "tree/racquet/compatible").write_bytes(b"tennis,racquet\0")
    (tmp_path / "tree/soc").mkdir()
    (tmp_path / "tree/soc/compatible").write_bytes(b"simple-bus\0")
    modprobe = tmp_path / "bin/modprobe"
    modprobe.parent.mkdir()
    said = ["racquet gpiochip=a.b ping_line=4", "racquet interrupt_cpu=3", "other gpiochip=c"]
    said += [f"racquet gpiochip={'x' * 2000}", *["racquet gpiochip=x"] * 2100]
    (tmp_path / "said").write_text("".join(f"options {one}\n" for one in said))
    modprobe.write_text(f"#!/bin/sh\ncat {tmp_path / 'said'}\n")
    modprobe.chmod(0o755)
    done = run_to_end(
        ["sh", snapshot.SCRIPT, "no-config"],
        env={
            **os.environ,
            "PATH": f"{modprobe.parent}:{os.environ['PATH']}",
            "TENNIS_DEVICE_TREE": str(tmp_path / "tree"),
        },
        check=True,
    )
    told = snapshot.read(done.stdout).lines("racquet_lines")
    assert told[:2] == ["device-tree racquet", "racquet gpiochip=a.b ping_line=4"]
    assert (len(told), len(told[2])) == (2000, 1000)
    assert snapshot.read(done.stdout).lines("racquet_cpu") == ["3"]
