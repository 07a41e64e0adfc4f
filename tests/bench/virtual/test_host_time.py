# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The instrument in a QEMU without -icount: the virtual Pi's clock is the host's."""

import os
import subprocess
from pathlib import Path

import pytest

from tennis.bench.qemu import plugins
from tennis.kit import wire

WAITS_FOR_EVER = bytes.fromhex("7f2003d5 ffffff17")  # wfi; b to the wfi
SETTINGS = {
    **{"balls": 1, "seed": 1, "period": 0, "gap_min": 1_000_000, "gap_max": 3_000_000},
    **{"timeout": 1_000_000, "ready_timeout": 100_000_000, "give_up": 1_000_000},
}


@pytest.mark.cases(more=["2"])
@pytest.mark.virtual
@pytest.mark.parametrize("processors", [1, 2])
def test_a_machine_in_the_hosts_time_is_left_alone(processors, tmp_path: Path):
    """Clock and turns are QEMU's own there: to move them ended the machine at once."""
    code = tmp_path / "code.bin"
    code.write_bytes(WAITS_FOR_EVER)
    found = plugins.find_qemu()
    reader, writer = os.pipe()
    words = [f"{name}={value}" for name, value in {"fd": writer, **SETTINGS}.items()]
    done = subprocess.run(
        [
            *(found.path, "-M", "virt,gic-version=2,acpi=off", "-cpu", "cortex-a57", "-nodefaults"),
            *("-smp", str(processors), "-display", "none", "-bios", code),
            *("-plugin", ",".join([str(plugins.build(found)), *words])),
        ],
        pass_fds=[writer],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    os.close(writer)
    with os.fdopen(reader, "rb") as frames:
        kinds = [kind for kind, _, _ in wire.Decoder().feed(frames.read())]
    assert (done.returncode, done.stderr) == (0, b"")
    # nobody was ready in time: the instrument itself ended the rally
    assert kinds[-1] == wire.END
