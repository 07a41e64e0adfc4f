# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A compile check of the Racquets for Xenomai, and no more than that.

No package registry has a kernel with EVL or Cobalt. So a compiler checks the modules against the
headers of a Debian kernel and, for what that does not have, against declarations of our own
(``tests/target/xenomai/``). What they do on real kernels is in docs/evidence/evl.md and cobalt.md.
"""

import shutil
import subprocess

import pytest

from tennis.bench.kernels.catalogue import find
from tennis.bench.kernels.modules import OVERRIDES, PREFIX
from tennis.checkout import ROOT

pytestmark = pytest.mark.virtual

DECLARATIONS = ROOT / "tests" / "target" / "xenomai"


def compiled(folder, module, declared, *, edit=lambda text: text):
    """Compile a module in ``folder`` with the tree's own Kbuild; return make's result."""
    work = folder / "work"
    shutil.copytree(ROOT / "target" / "racquet", work)
    source = work / f"{module}.c"
    source.write_text(edit(source.read_text()))
    common = DECLARATIONS / "common"
    includes = f"-I{DECLARATIONS / declared} -I{common} -include {common / 'dovetail.h'}"
    command = [
        *("make", "-C", find("mainline").build, f"M={work}", "ARCH=arm64"),
        *(f"CROSS_COMPILE={PREFIX}", f"CC={PREFIX}gcc", *OVERRIDES),
        *("CONFIG_EVL=y", "CONFIG_XENOMAI=y", f"EVL_INCLUDE={DECLARATIONS / declared}"),
        *(f"KCFLAGS={includes} -Wall -Wextra -Wno-unused-parameter -Werror", f"{module}.o"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "declared"),
    [("racquet_evl", "evl"), ("racquet_evl", "evl-older"), ("racquet_cobalt", "cobalt")],
)
def test_compile_check(tmp_path, module, declared):
    made = compiled(tmp_path, module, declared)
    assert made.returncode == 0, made.stderr
    symbols = subprocess.run(
        [f"{PREFIX}nm", tmp_path / "work" / f"{module}.o"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    asked = "rtdm_irq_request" if module == "racquet_cobalt" else "devm_request_threaded_irq"
    assert f"U {asked}" in symbols
    assert "U gpiod_set_raw_value" in symbols
    assert "U gpiod_set_value" not in symbols  # may take the kernel's locks: not out-of-band


def test_the_compile_check_sees_a_wrong_call(tmp_path):
    def edit(text: str) -> str:
        return text.replace("evl_wait_flag(&answer->pinged)", "evl_wait_flag(answer)")

    made = compiled(tmp_path, "racquet_evl", "evl", edit=edit)
    assert made.returncode != 0
    assert "evl_wait_flag" in made.stderr
