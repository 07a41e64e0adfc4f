# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The rules that follow from tables 2 and 3 and from c1 of Koeker et al., for each kernel.

They ran RTAI, on another processor and with other timers: see ``arm_rules``. The thresholds were
written before any match of 10 kHz was looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tennis.publications.load import load
from tennis.replicate.rules import PERIODIC, Measure, Rule, RulePart, RuleSide, replication

KOEKER = "koeker"
RATE_HZ = 10_000.0
Mode = Literal["oneshot", "periodic"]
LoadName = Literal["idle", "ping-flood"]
# the kernel's words for RTAI's timers, and how people call them
COMMAND_LINES: dict[Mode, str] = {"oneshot": "", "periodic": PERIODIC}
WORDS: dict[Mode, str] = {"oneshot": "one-shot", "periodic": "periodic"}
# how each kernel answers where nothing stands between interrupt and handler
ANSWERS = {"mainline": "default", "rt": "chrt", "xenomai": "native"}
# in words, by measure, in table 3
MOVED: tuple[tuple[str, Measure, str], ...] = (
    ("mean", "mean", "mean"),
    ("standard deviation", "standard deviation", "sd"),
    ("1 in 1,000", "level", "max"),
)


def koeker_rules() -> Iterator[Rule]:
    """Yield the rules of the paper."""
    for kernel in ANSWERS:
        paper = _Paper(kernel)
        yield paper.c1()
        yield paper.table_2()
        yield paper.table_3()


@dataclass(frozen=True)
class _Paper:
    """The paper's figures, as sides of a kernel."""

    kernel: str

    def side(self, mode: Mode, load_name: LoadName) -> RuleSide:
        return RuleSide(
            kernel=self.kernel,
            priorities=ANSWERS[self.kernel],
            loads=(load_name,),
            latency="interrupt",
            command_line=COMMAND_LINES[mode],
            rate_hz=RATE_HZ,
        )

    def row(self, table: str, mode: Mode, load_name: LoadName) -> dict[str, Any]:
        loaded = load_name == "ping-flood"
        rows = (row for row in load(KOEKER)[table] if (row["mode"], row["load"]) == (mode, loaded))
        return next(rows)

    def later(self, load_name: LoadName, measure: Measure, key: str) -> RulePart:
        """Return: one-shot has more of it than periodic."""
        one, other = (self.row("quartiles", mode, load_name)[key] for mode in COMMAND_LINES)
        return RulePart(
            says=f"under a ping flood one-shot's {measure} is larger",
            measure=measure,
            of=self.side("oneshot", load_name),
            to=self.side("periodic", load_name),
            above=1.0,
            published_value=float(one / other),
        )

    def c1(self) -> Rule:
        same_order = replication().tables.same_order
        one, other = (self.row("quartiles", mode, "idle")["qd"] for mode in COMMAND_LINES)
        return Rule(
            source=KOEKER,
            id=f"c1-{self.kernel}",
            title=f"{self.kernel}: periodic timers answer faster and narrower than one-shot ones "
            "under load; idle there is no significant difference",
            published="under load quartile distances of 2.4 against 3.7 and medians of 6.7 against "
            "10.2 µs; idle quartile distances of 0.1 against 0.2 µs, rounded by the paper; RTAI's "
            f"modes have no equal in Linux: here {PERIODIC}, and without",
            parts=(
                self.later("ping-flood", "median", "q2"),
                self.later("ping-flood", "quartile distance", "qd"),
                RulePart(
                    says=f"idle the quartile distances are within {same_order:.3g} times",
                    measure="quartile distance",
                    of=self.side("oneshot", "idle"),
                    to=self.side("periodic", "idle"),
                    above=1 / same_order,
                    below=same_order,
                    published_value=float(one / other),
                ),
            ),
        )

    def table_2(self) -> Rule:
        def widens(mode: Mode) -> RulePart:
            of, to = self.side(mode, "ping-flood"), self.side(mode, "idle")
            wide = self.row("quartiles", mode, "ping-flood")["qd"]
            return RulePart(
                says=f"{WORDS[mode]}: it is larger under a ping flood than idle",
                measure="quartile distance",
                of=of,
                to=to,
                above=1.0,
                published_value=wide / self.row("quartiles", mode, "idle")["qd"],
            )

        return Rule(
            source=KOEKER,
            id=f"table2-{self.kernel}",
            title=f"{self.kernel}: a ping flood widens the distance of the quartiles",
            published="q3 - q1, idle to ping flood: 0.2 to 3.7 µs (one-shot), 0.1 to 2.4 µs "
            "(periodic), rounded by the paper",
            parts=tuple(map(widens, COMMAND_LINES)),
        )

    def table_3(self) -> Rule:
        def grows(mode: Mode, what: str, measure: Measure, key: str) -> RulePart:
            idle, loaded = (
                self.row("latency", mode, load_name)[key] for load_name in ("idle", "ping-flood")
            )
            growth, same_order = loaded / idle, replication().tables.same_order
            low, high = growth / same_order, growth * same_order
            return RulePart(
                says=f"{WORDS[mode]}: the {what} grows {low:.3g} to {high:.3g} times",
                measure=measure,
                of=self.side(mode, "ping-flood"),
                to=self.side(mode, "idle"),
                above=low,
                below=high,
                published_value=growth,
            )

        return Rule(
            source=KOEKER,
            id=f"table3-{self.kernel}",
            title=f"{self.kernel}: how a ping flood moves mean, standard deviation and late balls",
            published="one-shot: mean 4.5 to 10.2, standard deviation 0.79 to 3.4, largest 45.7 to "
            "51.6 µs; the paper's jitter is the variance",
            parts=tuple(grows(mode, *moved) for mode in COMMAND_LINES for moved in MOVED),
        )
