"""Each bench records each setting that it takes: changed alone, its manifest says what was asked.

Nothing boots, and no board is asked: what took part is what a plan's versions say.
"""

import pytest

from tennis.bench.kernels import own_program, program_record
from tennis.bench.virtual.bench import VirtualBench
from tennis.kit.checkout import ROOT
from tennis.rally.folder import CONSOLE
from tennis.rally.manifest import NO_MODULE
from tennis.rally.settings import OF_KIND, UNRECORDED
from tests.support.one_setting import PROGRAM, before_and_after, planned_of, with_setting

HASHES = ("kernel_config", "racquet", "instrument", "firmware", "target_config", "target_module")
PICO = "sloth-pico"  # counts cycles of its processor, and no instructions
OF_A_PICO = {"serial": "none", "firmware": "0", "tick_hz": "125000000"}


def sloth():
    from tennis.bench.sloth.bench import SlothBench

    return SlothBench()


def managed():
    from tennis.bench.physical.managed import PiBench

    return PiBench("board.invalid")


def wired():
    from tennis.bench.physical.wired import WiredBench

    return WiredBench("ttyACM0")


def second_pico():
    from tennis.bench.physical.second_pico import SecondPicoBench

    return SecondPicoBench("ttyACM0")


BENCHES = {
    "virtual": VirtualBench,
    "sloth": sloth,
    "managed": managed,
    "wired": wired,
    "second pico": second_pico,
}
# a drill is recorded with its plan, on whatever bench
TAKEN = [
    (bench, row.name)
    for bench in BENCHES
    for row in OF_KIND
    if row.name != "drill" and (row.benches is None or bench in row.benches)
]


@pytest.mark.parametrize(("bench", "name"), TAKEN)
def test_a_bench_records_what_was_asked_for(folder, bench, name, tmp_path):
    made = BENCHES[bench]()
    usual, other = before_and_after(folder, name)
    usual_plan = planned_of(usual)
    if made.kind == "pi" and name != "instrument":  # a Brickwall is all there is
        usual_plan = usual_plan.model_copy(update={"instrument": "pico"})
    plan = with_setting(usual_plan, name, other)
    target = other.manifest.target
    if bench == "sloth":  # of its kernels one is for a Pico, which takes no other instrument
        plan = plan.model_copy(
            update={"kernel": PICO if name in {"kernel", "instrument"} else "sloth"}
        )
        target = target.model_copy(update={"kernel": plan.kernel})
        plan = plan.model_copy(update={"instrument": "pico"}) if plan.kernel == PICO else plan
    versions = {f"{one}_sha256": "0" * 64 for one in HASHES} | OF_A_PICO
    versions |= {"kernel_name": target.kernel, "load": "hog", "racquet": target.module}
    versions |= {"compiler": "a compiler"}
    versions |= {"target_flavour": target.kernel, "target_release": "0", "target_module": "racquet"}
    if name == "program":
        versions |= program_record.versions(own_program.OwnProgram(PROGRAM, {}), {})
        versions |= {"racquet": NO_MODULE, "target_module": NO_MODULE}
        versions = {key: value for key, value in versions.items() if key != "racquet_sha256"}
    (tmp_path / CONSOLE).write_text("")
    told = made.circumstances(plan.model_copy(update={"versions": versions}), tmp_path)
    parts = {"target": told.target, "load": told.load, "instrument": told.instrument}
    manifest = usual.manifest.model_copy(update=parts)
    for row in OF_KIND:
        is_so = row.recorded(manifest)
        if (bench, row.name) in TAKEN and not (plan.kernel == PICO and is_so is UNRECORDED):
            assert is_so == row.of(plan), row.name


def test_every_bench_of_the_table_is_here():
    named = {bench for row in OF_KIND for bench in row.benches or ()}
    assert named == {*BENCHES}
    assert (ROOT / "tennis" / "bench" / "replay.py").is_file()  # which records what was recorded
