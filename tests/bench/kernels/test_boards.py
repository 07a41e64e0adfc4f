"""What boards cannot do: made-up snapshots of such boards. No board sent these."""

import os
from pathlib import Path

import pytest

from tennis.bench.kernels import boards
from tennis.bench.kernels.requirements import check, requirements
from tennis.bench.targets import snapshot
from tests.support.processes import run_to_end

PI_5 = """\
= release
 {release}
= version
 #1 SMP PREEMPT_RT
= realtime
 1
= model
 Raspberry Pi 5 Model B Rev 1.0
= gpio
 gpiochip0: GPIOs 569-622, parent: platform/1f000d0000.gpio, pinctrl-rp1:
  gpio-586 (GPIO17              |ping                ) in  lo IRQ
= rp1_driver
 {driver}
= config
 {config}
= end
 yes
"""


def told(**changes: str) -> snapshot.Snapshot:
    facts = {"release": "6.18.3-rt", "driver": "", "config": "CONFIG_PREEMPT_RT=y"}
    return snapshot.read(PI_5.format(**facts | changes))


def test_a_line_that_sleeps_on_preempt_rt_is_bad():
    """kernel.org's driver, kernel.org's tree and PREEMPT_RT: only the three together."""
    found = boards.gpio_lock(told())
    assert found
    assert found.verdict == "bad"
    assert "takes a lock in the interrupt that sleeps" in found.words
    for findings in (boards.check(told()), check(requirements("rt"), told())):
        assert found in list(findings)


@pytest.mark.parametrize(
    ("model", "ping", "verdict", "words"),
    [
        ("Raspberry Pi 4 Model B Rev 1.4", " 3\n", "good", "the ping goes to 3"),
        ("Raspberry Pi 4 Model B Rev 1.4", "", "note", "neither irqaffinity nor /proc/irq does"),
        ("Raspberry Pi 3 Model B Plus Rev 1.3", " 3\n", "bad", "come to processor 0"),
        ("Raspberry Pi Zero 2 W Rev 1.0", "", "bad", "come to processor 0"),
    ],
)
def test_isolation_is_judged_by_where_the_ping_goes(model, ping, verdict, words):
    text = f"= model\n {model}\n= isolated\n 3\n= racquet_cpu\n{ping}= end\n yes\n"
    (found,) = boards.check(snapshot.read(text))
    assert (found.verdict, found.what) == (verdict, "isolation")
    assert words in found.words


def link(
    root: Path, policy: str | None, vendor: str = "0x1de4", **states: str
) -> snapshot.Snapshot:
    """Return what the real script tells of a made-up sysfs with a device behind PCIe."""
    device = root / "bus/pci/devices/0002:01:00.0"
    (device / "link").mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    for name, value in states.items():
        (device / "link" / name).write_text(f"{value}\n")
    if policy:
        (root / "module/pcie_aspm/parameters").mkdir(parents=True)
        (root / "module/pcie_aspm/parameters/policy").write_text(f"{policy}\n")
    done = run_to_end(
        ["sh", snapshot.SCRIPT, "no-config"],
        env={**os.environ, "TENNIS_SYS": str(root)},
        check=True,
    )
    return snapshot.read(done.stdout)


@pytest.mark.parametrize(
    ("policy", "states", "link_is", "verdict"),
    [
        ("default [performance] powersave powersupersave", {}, "awake", "good"),
        ("default performance [powersave] powersupersave", {"l1_aspm": "1"}, "may sleep", "bad"),
        ("[default] performance powersave powersupersave", {"l1_aspm": "1"}, "may sleep", "bad"),
        ("[default] performance powersave powersupersave", {"l1_aspm": "0"}, "awake", "good"),
        (None, {"l0s_aspm": "0", "l1_aspm": "1"}, "may sleep", "bad"),
        (None, {}, None, "note"),
    ],
)
def test_a_link_to_the_gpio_controller_is_judged(tmp_path, policy, states, link_is, verdict):
    seen = link(tmp_path, policy, **states)
    assert boards.gpio_link(seen) == link_is
    pi_5 = snapshot.read(f"= model\n Raspberry Pi 5 Model B Rev 1.0\n{seen.text}")
    findings = {finding.what: finding for finding in check(requirements("mainline"), pi_5)}
    assert findings["PCIe link to the GPIO controller"].verdict == verdict
