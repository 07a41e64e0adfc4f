"""Caches, TLBs and slow registers in virtual time: profiles, known answers, balls that repeat."""

import re
import shutil
import tomllib
from functools import partial

import pytest

from tennis.bench.kernels.modules import program
from tennis.bench.virtual import memory
from tennis.bench.virtual.bench import Extras, VirtualBench
from tennis.kit.errors import TennisError, UsageError
from tennis.play.check import check_rally
from tennis.rally import memory as profiles
from tennis.rally.folder import CONSOLE
from tests.support.plans import plan_of
from tests.support.virtual import GUEST, busy_host, guest_module, played, script

virtual = pytest.mark.virtual
OWN = profiles.ROOT / "tests" / "support" / "memory"


@pytest.fixture
def own(monkeypatch):
    """Let the tests' own profiles be those that there are."""
    monkeypatch.setattr(profiles, "FOLDER", OWN)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of profiles with one of the tests' own, to be altered."""
    shutil.copy(OWN / "small.toml", tmp_path / "mine.toml")
    monkeypatch.setattr(profiles, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", profiles.names())
def test_every_figure_of_the_kit_has_its_source(name):
    """Or the word assumed, and a range that it is thought to be in."""
    profile = memory._read(profiles.file_of(name))
    found = memory.find(profiles.canonical(name))
    assert found.profile == profile
    for instruction_ns in (1, 2, 4):
        given = found.parameters(instruction_ns)
        costs = {name: value for name, value in given.items() if name.endswith("_ns")}
        assert costs
        assert all(value % instruction_ns == 0 for value in costs.values())
    assert memory.ASSUMED in profiles.file_of(name).read_text()


def test_what_was_given_is_what_the_file_says():
    given = memory.find(profiles.canonical("cortex-a72")).parameters(4)
    assert (given["code_sets"], given["code_ways"]) == (256, 3)
    assert (given["second_sets"], given["second_ways"]) == (1024, 16)
    assert (given["pages_sets"], given["pages_ways"]) == (256, 4)
    assert (given["second_ns"], given["memory_ns"]) == (12, 100)  # 10 are two and a half
    assert "third_sets" not in given


def test_a_profile_of_another_digest_is_another_one(folder):
    first = plan_of(memory="mine").memory
    (folder / "mine.toml").write_text((folder / "mine.toml").read_text() + "# a comment\n")
    profiles._digest_of.cache_clear()
    second = plan_of(memory="mine").memory
    assert first != second
    assert re.fullmatch(r"mine@[0-9a-f]{8}", second)
    assert plan_of(memory=second).memory == second
    with pytest.raises(UsageError, match=f"--memory {first}: here is {second}"):
        VirtualBench().parts(plan_of(memory=first))


def test_a_clock_needs_its_classes_and_cycles_need_a_clock(folder):
    text = (folder / "mine.toml").read_text()
    clock = 'clock_mhz = { value = 500, source = "a test" }\n'
    profiles._digest_of.cache_clear()
    for wrong, why in (
        (clock + text, "belong together"),
        (text.replace("{ value = 30,", "{ cycles = 30,"), "needs clock_mhz"),
        (text.replace("{ value = 30,", "{ cycles = 3, value = 30,"), "a value in ns, or cycles"),
    ):
        assert wrong != text
        (folder / "mine.toml").write_text(wrong)
        with pytest.raises(TennisError, match=why):
            memory._read(folder / "mine.toml")


def test_costs_in_cycles_follow_the_clock(folder):
    text = (OWN / "clocked.toml").read_text()
    second = '[costs]\nsecond_ns = { cycles = 15, source = "a test" }\n'
    text = text.replace('"small"', '"mine"').replace("[costs]\n", second)
    given = {}
    for mhz in (500, 1000):
        (folder / f"at{mhz}.toml").write_text(text.replace("value = 500,", f"value = {mhz},"))
        given[mhz] = memory.find(profiles.canonical(f"at{mhz}")).parameters(1)
        assert memory.has_clock(profiles.canonical(f"at{mhz}"))
    assert (given[500]["second_ns"], given[1000]["second_ns"]) == (30, 15)
    assert (given[500]["barrier_ps"], given[1000]["barrier_ps"]) == (20_000, 10_000)
    assert given[500]["memory_ns"] == given[1000]["memory_ns"] == 210
    plan = plan_of(memory="at500")
    assert VirtualBench.defaults(plan, {})["instruction_ns"] == 1
    assert "instruction_ns" not in VirtualBench.defaults(plan_of(), {})


def known(out, name: str, **plan: int) -> dict[str, float]:
    """Return how long a step of each of the module's loops took, in ns."""
    extras = Extras(
        files={
            "/tennis/known-memory.ko": guest_module("known-memory"),
            "/tennis/after": script(
                "(while :; do :; done) & busy=$!\n"
                "insmod /tennis/known-memory.ko && /tennis/remembered; done=$?\n"
                "kill $busy; exit $done"
            ),
            "/tennis/remembered": program(GUEST / "remembered.c"),
        }
    )
    # it reads the timer: some pings are due while the processor waits for that
    hog = {"load": "hog", "load_options": {"hold_us": 300, "period_us": 1000}}
    rally = played(out, extras, balls=60, memory=name, **hog, **plan)
    assert (rally.manifest.suspect, rally.manifest.counts.late_serves) == (False, 0)
    said = (out / "console.log").read_text(errors="replace")
    return {n: int(ps) / 1000 for n, ps in re.findall(r"known-memory: (\w+) (\d+)", said)}


TICK_NS = 16  # of the processor's counter
# over a thousand steps; of up to four spans, of which each is right to a tick
exact = partial(pytest.approx, rel=0, abs=4 * TICK_NS / 1000)


def more_than(took: dict[str, float], base: str, names: dict[str, float]) -> None:
    """Check how much more a step takes than one that is never missed: ns, to the hundredth part.

    Besides that what a loop misses when it begins, and what of a page each of its lines pays.
    """
    for name, cost in names.items():
        more = took[name] - took[base]
        assert cost - 0.5 <= more <= 1.01 * cost + 0.6, f"{name}: {more:.2f} ns, and not {cost}"


@pytest.mark.more
@virtual
@pytest.mark.usefixtures("own")
def test_known_answers(tmp_path):
    """Loops that do one thing take what that costs: both sides of each size, each device."""
    took = known(tmp_path / "r", "small")
    cost = tomllib.loads((OWN / "small.toml").read_text())["costs"]
    ns = {name: figure["value"] for name, figure in cost.items()}
    walk = ns["walk_ns"] + ns["second_ns"]  # the entry's line is in the second cache
    loops = {
        0: "first_fits pages_fit",
        ns["second_ns"]: "first_not second_fits ways_fit",
        ns["third_ns"]: "second_not third_fits ways_not",
        ns["second_tlb_ns"]: "pages_not table_fits",
        walk: "table_not",
    }
    for cost, names in loops.items():
        more_than(took, "one_line", dict.fromkeys(names.split(), cost))
    # of each 64 lines one walks, and reads an entry that came from memory for every eighth page
    assert ns["memory_ns"] <= took["third_not"] - took["one_line"] <= ns["memory_ns"] + 2
    stores = {"second": ns["store_second_ns"], "third": ns["store_third_ns"]}
    more_than(took, "store_first", {f"store_{where}": cost for where, cost in stores.items()})
    for what in ("store", "zero"):
        more = took[f"{what}_memory"] - took[f"{what}_first"]
        assert ns["store_memory_ns"] - 0.5 <= more <= ns["store_memory_ns"] + 2
    # of eight pages, between which others are used, four are the one that is used most
    fillers = 64 * (3 + ns["second_tlb_ns"])
    pages_go = 8 * 3 + 4 * ns["second_tlb_ns"] + 4 * walk + fillers
    assert pages_go - 1 <= took["pages_go"] <= pages_go + 10
    flushed = {"other": 0, "page": walk, "here_too": walk, "space": 0, "all": 2 * walk}
    assert {w: took[f"flushed_{w}"] - took["flushed_none"] for w in flushed} == exact(flushed)
    more_than(took, "jumps_fit", {"jumps_not": ns["second_ns"]})
    assert 2 <= took["jumps_fit"] <= 2.2
    # 16 instructions a line, each line from the second cache, and of 64 lines one's page
    assert 0 <= took["straight"] - 32 - ns["second_ns"] <= 0.5
    assert ns["second_tlb_ns"] + 2 <= took["jumped_pages_not"] <= ns["second_tlb_ns"] + 3.2
    # a jump takes 2 ns, and so many begin a chain that costs 3 more each time
    assert took["jumped_pages_fit"] < 4
    registers = {
        f"{device}_{way}": price[f"{way}_ns"]["value"]
        for device, price in tomllib.loads((OWN / "small.toml").read_text())["devices"].items()
        for way in ("read", "write")
    }
    assert {name: took[name] - took["register_none"] for name in registers} == exact(registers)
    assert took["abac"] == exact(2 * ns["second_ns"] + 12)
    # a deadline is met in time: where the block ends, or the next one, each with a read of 300 ns
    assert 0 <= took["near"] <= 700
    assert 0 <= took["far"] <= 700


@pytest.mark.slow
@virtual
@pytest.mark.usefixtures("own")
@pytest.mark.cases(more=["500"])
@pytest.mark.parametrize("mhz", [500, 1500])
def test_known_cycles(tmp_path, mhz):
    """A loop of one class takes its cycles; an access to a device ends a block in its middle.

    At 1.5 GHz some classes take less than QEMU's time for an instruction.
    """
    took = known(tmp_path / "r", f"clocked-at-{mhz}mhz", instruction_ns=1)
    profile = tomllib.loads((OWN / "clocked.toml").read_text())
    base = tomllib.loads((OWN / "small.toml").read_text())
    ns = {name: figure["value"] * 1000 / mhz for name, figure in profile["cycles"].items()}
    device = base["devices"]
    cost = {n: figure["value"] for n, figure in (base["costs"] | profile["costs"]).items()}
    # a line that is written goes back once: when the last cache needs its place
    more_than(
        took, "store_second", {"store_third": cost["store_third_ns"] - cost["store_second_ns"]}
    )
    stored = cost["store_memory_ns"] + cost["write_back_ns"] - cost["store_third_ns"]
    assert stored <= took["store_memory"] - took["store_third"] <= stored + 2
    assert took["third_not"] - took["one_line"] <= cost["memory_ns"] + 2
    # twelve large pages are in twelve sets of the second TLB; in one set each would walk
    assert 0 <= took["jumped_large"] - cost["second_tlb_ns"] - ns["branch"] <= 3
    assert took["register_none"] == exact(2 * ns["plain"] + ns["branch"])
    more = {  # than a loop with one plain instruction
        "of_load": ns["load"] - ns["plain"],
        "of_store": ns["store"] - ns["plain"],
        "of_barrier": ns["barrier"] - ns["plain"],
        "of_system": ns["system"] - ns["plain"],
        "of_atomic": 2 * ns["atomic"] - ns["plain"],
        "of_branch": ns["branch"] - ns["plain"],
        "of_mispredicted": ns["branch"] + (ns["plain"] + ns["mispredicted"]) / 2,
        "gpio_read": device["gpio"]["read_ns"]["value"] + ns["load"] - ns["plain"],
        "gpio_write": device["gpio"]["write_ns"]["value"] + ns["store"] - ns["plain"],
        "timer_read": device["timer"]["read_ns"]["value"] + ns["system"] - ns["plain"],
    }
    assert {name: took[name] - took["register_none"] for name in more} == exact(more)
    console = (tmp_path / "r" / CONSOLE).read_text()
    executed = {n: int(count) for count, n in re.findall(r"executed (\d+) times (\w+)", console)}
    # each exception that is entered is left, but for the last one, and for what runs at the end
    assert 0 <= executed["exception_entry"] - executed["exception_return"] < 10
    assert executed["exception_entry"] > 60


@pytest.mark.more
@virtual
@pytest.mark.parametrize(
    ("kernel", "load", "name"),
    [
        ("rt", "hog", "cortex-a53"),
        ("mainline", "stress", "cortex-a72"),
        ("mainline", "hog", "cm-x270"),
        ("rt", "idle", "raspberry-pi-5"),
    ],
)
def test_the_same_seed_gives_the_same_folder(tmp_path, kernel, load, name):
    """Also where QEMU's threads lose the processor when the host's scheduler wants it to."""
    rally = played(tmp_path / "r", kernel=kernel, load=load, balls=60, memory=name)
    assert (rally.misses, rally.manifest.suspect) == (0, False)
    assert rally.manifest.counts.late_serves == 0
    missed = re.findall(r"memory: missed (\d+) times in", (rally.path / CONSOLE).read_text())
    assert len(missed) == 5
    assert all(map(int, missed))
    assert name in rally.manifest.time_note
    assert name in rally.label
    with busy_host():
        assert check_rally(rally.path).balls == 60


@pytest.mark.more
@virtual
def test_a_switch_cleans_what_it_empties(tmp_path):
    """On the thesis' board: a line that was written goes back, and comes from memory again."""
    took = known(tmp_path / "r", "cm-x270", instruction_ns=1)
    given = memory.find(profiles.canonical("cm-x270")).parameters(1)
    step = given["store_ps"] + 2 * given["plain_ps"] + given["branch_ps"]
    line = step / 1000 + given["store_memory_ns"] + given["write_back_ns"]
    assert (took["cleans_62"] - took["cleans_2"]) / 60 == pytest.approx(line, abs=0.5)


@pytest.mark.more
@virtual
def test_entering_the_kernel_empties_no_cache(tmp_path):
    """With kpti=on each entry changes the address space, and the process stays the same."""
    missed = {}
    for kpti in ("off", "on"):
        rally = played(tmp_path / kpti, balls=60, memory="pxa270", command_line=f"kpti={kpti}")
        console = (rally.path / CONSOLE).read_text()
        missed[kpti] = int(re.findall(r"memory: missed (\d+) times in data\n", console)[0])
    assert "KPTI" in console
    assert missed["on"] < 1.5 * missed["off"]
