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
from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

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
    symbols = run_to_end([f"{PREFIX}nm", tmp_path / "work" / f"{module}.o"], check=True).stdout
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


WAITS = {
    "racquet_cobalt": ("rtdm_event_wait", "rtdm_task_should_stop", "racquet_task(&racquet)"),
    "racquet_evl": ("evl_wait_flag", "evl_kthread_should_stop", "racquet_lower_on_pings()"),
}
# of 3 pings, then of an error for ever; one call too many ends the program with 9
AROUND = """
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#define pr_err(...) fprintf(stderr, __VA_ARGS__)
struct racquet {{ int lowered, counted; }} racquet;
struct racquet_answer {{ int pinged; }} one, *answer = &one;
static int waits;
static void racquet_drive(struct racquet *r, bool up) {{ r->lowered += !up; }}
static void racquet_count_reply(struct racquet *r) {{ r->counted++; }}
static bool {stops}(void) {{ return {stopped} && waits > 3; }}
static int {waits}(int *event)
{{
	if (waits > 3)
		exit(9);
	return ++waits > 3 ? -1 : 0;
}}
{code}
int main(void)
{{
	{call};
	printf("%d %d", racquet.lowered, racquet.counted);
}}
"""


@pytest.mark.more
@pytest.mark.parametrize("stopped", [0, 1])
@pytest.mark.parametrize("module", WAITS)
def test_a_bottom_half_that_cannot_wait_ends(tmp_path, module, stopped):
    """It has the highest priority: one that tried again would leave the processor to nobody."""
    waits, stops, call = WAITS[module]
    text = (ROOT / "target" / "racquet" / f"{module}.c").read_text()
    code = text.partition("/* [bottom-half] */")[2].partition("/* [/bottom-half] */")[0]
    source, program = tmp_path / "loop.c", tmp_path / "loop"
    source.write_text(
        AROUND.format(waits=waits, stops=stops, stopped=stopped, code=code, call=call)
    )
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", program, source], check=True)
    ended = subprocess.run([program], capture_output=True, text=True, check=False, timeout=20)
    assert (ended.returncode, ended.stdout) == (0, "3 3")
    assert ("waiting for a ping failed (-1)" in ended.stderr) == (not stopped)
