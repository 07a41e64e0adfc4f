"""The classes of a clock, counted again: from every executed instruction, and its disassembly."""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from tennis.bench.qemu import plugins
from tennis.bench.virtual.bench import Extras
from tennis.bench.virtual.memory import find
from tennis.play.check import check_rally
from tennis.rally.folder import CONSOLE
from tennis.rally.memory import canonical
from tests.support.virtual import played

SOURCE = plugins.FOLDER.parents[1] / "tests" / "support" / "memory" / "executed.c"
ATOMICS = r"(ld|st)(a|l|ax|lx)?x[rp][bh]?|cas.*|swp.*|(ld|st)(add|clr|set|eor|[su]max|[su]min).*"
WORDS = {  # the first that fits
    "exception_return": "eret",
    "barrier": "d[sm]b|isb|sb|clrex",
    "system": "mrs|msr|sysl?|tlbi|[di]c|at",
    "atomic": ATOMICS,
    "branch": r"b|bl|br|blr|ret|b\..*|cbn?z|tbn?z",
    "load": "(ld|prf).*",
    "store": "st.*",
}
VECTORS, VECTOR = 0x800, 0x80
TRAPS = {"svc", "hvc", "smc", "brk", "mrs"}  # the kernel goes on behind them; mrs: of a process
PIECE = 1 << 22  # of a log of a hundred million instructions


def class_of(word: str, operands: str) -> str:
    """Return the class of an instruction."""
    if word == ".byte":  # QEMU 7.2 has no word for loads and stores that have a user's rights
        code = int.from_bytes(bytes(int(byte, 16) for byte in operands.split(",")), "little")
        assert code & 0x3B200C00 == 0x38000800
        return "load" if code & 3 << 22 else "store"
    return next((name for name, words in WORDS.items() if re.fullmatch(words, word)), "plain")


class Predictor:
    """What docs/memory.md says of it, once more."""

    def __init__(self, *, counters: int, returns: int, targets: int) -> None:
        self.counters, self.number = Counter[int](), counters
        self.ring, self.top, self.targets, self.places = [0] * returns, 0, {}, targets

    def knew(self, word: str, at: int, target: int, to: int) -> bool:
        """Tell whether it knew where a branch went, and let it learn that."""
        behind = at + 4
        if word in {"bl", "blr"} and self.ring:
            self.ring[self.top % len(self.ring)] = behind
            self.top += 1
        if word in {"b", "bl"}:
            return True
        if word == "ret":
            self.top -= 1
            return bool(self.ring) and self.ring[self.top % len(self.ring)] == to
        if word in {"br", "blr"}:
            slot = behind // 4 % self.places if self.places else None
            known = slot is not None and self.targets.get(slot) == (at, to)
            self.targets[slot] = at, to
            return known
        taken = to != behind
        if not self.number:
            return taken == (target < behind)
        slot = behind // 4 % self.number
        known = taken == (self.counters[slot] >= 2)
        self.counters[slot] = min(max(self.counters[slot] + (1 if taken else -1), 0), 3)
        return known


def counted(code: list[str], log: np.ndarray, predictor: Predictor) -> Counter[str]:
    """Return how many of each class were executed, and how many events there were."""
    at, words, targets, classes = [], [], [], []
    for line in code:
        address, word, operands = line.split(" ", 2)
        at.append(int(address, 16))
        words.append(word)
        found = re.search(r"#(0x[0-9a-f]+)$", line)
        targets.append(int(found[1], 16) if found else 0)
        classes.append(class_of(word, operands))
    ends = np.array([name in {"branch", "exception_return"} for name in classes])
    addresses = np.array(at, dtype=np.uint64)

    def pieces() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield a part of the log, and where each of its instructions led; whether it entered."""
        for begin in range(0, len(log) - 1, PIECE):
            lines = np.array(log[begin : begin + PIECE + 1])
            where = addresses[lines]
            enters = (where[1:] != where[:-1] + np.uint64(4)) & ~ends[lines[:-1]]
            yield lines[:-1], where[1:], enters

    total, tables = Counter[str](), set[int]()
    for lines, to, enters in pieces():
        assert not np.any(to[enters] % np.uint64(VECTOR))  # nothing else leaves the straight way
        tables |= set((to[enters] // np.uint64(VECTORS)).tolist())
        for number, count in enumerate(np.bincount(lines, minlength=len(code)).tolist()):
            total[classes[number]] += count
    total[classes[int(log[-1])]] += 1
    for lines, next_at, enters in pieces():
        chosen = np.flatnonzero(ends[lines] | enters)
        seen = zip(lines[chosen].tolist(), next_at[chosen].tolist(), enters[chosen], strict=True)
        for line, to, entered in seen:
            branches = classes[line] == "branch"
            expected = branches and to in {at[line] + 4, targets[line]}
            if not expected and to // VECTORS in tables and not to % VECTOR:
                total["exception_entry"] += 1
                # a fault: the instruction is executed once more later, or for the first time
                fault = not to % (4 * VECTOR) and words[line] not in TRAPS
                total[classes[line]] -= bool(fault and entered)
            elif branches:
                total["mispredicted"] += not predictor.knew(
                    words[line], at[line], targets[line], to
                )
    return total


@pytest.mark.virtual
@pytest.mark.cases(more=["rt-*"])
@pytest.mark.parametrize(
    ("kernel", "load", "memory"),
    [("mainline", "idle", "beaglebone"), ("rt", "hog", "raspberry-pi-1")],
)
def test_every_class_is_counted_as_it_was_executed(tmp_path, monkeypatch, kernel, load, memory):
    files = plugins.sources
    own = [SOURCE, *plugins.sources("guest")[1:]]
    monkeypatch.setattr(plugins, "sources", lambda name: own if name == "executed" else files(name))
    with (tmp_path / "code").open("w") as code, (tmp_path / "log").open("wb+") as log:
        descriptors = code.fileno(), log.fileno()
        given = dict(zip(("code_fd", "log_fd"), descriptors, strict=True))
        built = plugins.build(plugins.find_qemu(), "executed")
        extras = Extras(plugin=plugins.QemuPlugin(built, given, descriptors))
        rally = played(tmp_path / "r", extras, kernel=kernel, load=load, balls=20, memory=memory)
    logged = np.memmap(tmp_path / "log", dtype=np.uint32, mode="r")
    code_lines = (tmp_path / "code").read_text().splitlines()
    given = find(canonical(memory)).parameters(1)
    sizes = {name: given[f"predictor_{name}"] for name in ("counters", "returns", "targets")}
    total = counted(code_lines, logged[1 : 1 + logged[0]], Predictor(**sizes))
    console = (rally.path / CONSOLE).read_text()
    executed = {n: int(count) for count, n in re.findall(r"executed (\d+) times (\w+)", console)}
    assert total == executed
    assert len(executed) == 10
    assert sum(executed.values()) > 100_000
    assert check_rally(rally.path).balls == 20  # and these counts, of the same seed without a log
