"""How often comparisons are wrong, and what they find, of boots that nobody played.

Their truth is known. Prints the tables of docs/errors.md, with fixed seeds; exits with 1 if a
family is wrong in more than 5 %.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.stats import binomtest, mannwhitneyu, ttest_ind

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for tests.support

from tennis.compare.boots import Boot, Values
from tennis.compare.judgement import Pair, judge, time_change
from tennis.compare.order import DRIFT, InTime, drift, in_turns
from tennis.compare.sides import Side
from tests.support.mixtures import CLEAR, CROSSING, GATE, boots, gate, latencies

TARGET_WRONG = 0.05
IN_A_ROW = 16  # boots of a recorded side
RIVAL_BOOTS = 10
LOST_NS = 1e7  # rivals know no lost ball: it counts as late as the time-out
MARGIN = 1.1
WALKS: dict[str, Callable[[np.random.Generator], Values]] = {
    "no drift": lambda _: np.ones(2 * IN_A_ROW),
    "walk of 1 % a boot": lambda random: np.exp(np.cumsum(random.normal(0, 0.01, 2 * IN_A_ROW))),
    "walk of 5 % a boot": lambda random: np.exp(np.cumsum(random.normal(0, 0.05, 2 * IN_A_ROW))),
    "drift of 3 % a boot": lambda _: 1.03 ** np.arange(2.0 * IN_A_ROW),
    "a middle that is 20 % later": lambda _: np.repeat([1, 1.2, 1], [8, 16, 8]),
    "each second boot 20 % later": lambda _: np.tile([1, 1.2], IN_A_ROW),
}
ORDERS: dict[str, Callable[[np.random.Generator], list[bool]]] = {
    "A16 B16": lambda _: [True] * 16 + [False] * 16,
    "A8 B16 A8": lambda _: [True] * 8 + [False] * 16 + [True] * 8,
    "A B A B": lambda _: [True, False] * 16,
    "A B B A": lambda _: [True, False, False, True] * 8,
    "shuffled": lambda random: list(random.permutation([True] * 16 + [False] * 16)),
}
Row = tuple[str, float]  # a line of a table, and the largest share of it that is wrong


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=100, help="of each family")
    parser.add_argument("--part", choices=PARTS, help="one table only")
    asked = parser.parse_args()
    worst = 0.0
    for name, (head, rows) in PARTS.items():
        if asked.part not in {None, name}:
            continue
        print(f"\n{name}, {asked.comparisons} comparisons a row, in per cent\n")
        print(f"| {' | '.join(head)} |")
        print("|---" * len(head) + "|")
        for line, wrong in rows(asked.comparisons):
            worst = max(worst, wrong)
            print(line, flush=True)
    missed = worst > TARGET_WRONG
    print(f"\ntarget: at most {100 * TARGET_WRONG:g} % wrong: {'MISSED' if missed else 'met'}")
    return int(missed)


def rate(count: int, of: int) -> str:
    """Write a share in per cent with its 95 % interval (C. J. Clopper, E. S. Pearson 1934)."""
    ends = binomtest(count, of).proportion_ci()
    return f"{100 * count / of:.3g} ({100 * ends.low:.2g} to {100 * ends.high:.2g})"


def gates(count: int) -> Iterator[Row]:
    """Yield a row for each family: nothing changed, and something did."""
    for name, change in GATE.items():
        same, other = (
            [
                gate(change.before, after, change.balls, number, most=change.most)[0].verdict
                for number in range(count)
            ]
            for after in (change.before, change.after)
        )
        wrong = same.count("worse")
        cells = [rate(wrong, count), *_shares(same, "undecided", "no worse")]
        if change.worse is True:
            wrong = max(wrong, other.count("no worse"))
            changed = [*_shares(other, "worse", "undecided"), rate(other.count("no worse"), count)]
        elif change.worse is False:
            wrong = max(wrong, other.count("worse"))
            changed = [rate(other.count("worse"), count), *_shares(other, "undecided", "no worse")]
        else:
            changed = _shares(other, "worse", "undecided", "no worse")
        declared = {True: "yes", False: "it is no worse", None: "too rare"}[change.worse]
        head = f"| {name} | {' | '.join(cells)} | {change.words} | {declared}"
        yield f"{head} | {' | '.join(changed)} |", wrong / count


def _shares(said: list[str], *verdicts: str) -> list[str]:
    return [f"{100 * said.count(one) / len(said):.0f}" for one in verdicts]


def rivals(count: int) -> Iterator[Row]:
    """Yield a row for each family: what others call worse, of the same ten pairs of boots."""
    for name, change in GATE.items():
        cells = []
        for after in (change.before, change.after):
            said = np.zeros(5)
            for number in range(count):
                random = np.random.default_rng([77, number])
                sides = [
                    [make(random, change.balls, "interrupt") for _ in range(RIVAL_BOOTS)]
                    for make in (change.before, after)
                ]
                said += _said_by_rivals(random, *sides)
            cells.append(" | ".join(f"{100 * one:.0f}" for one in said / count))
        yield f"| {name} | {' | '.join(cells)} |", 0.0


def _said_by_rivals(
    random: np.random.Generator, before: list[Values], after: list[Values]
) -> list[bool]:
    """Tell who calls it worse: U, Welch, Criterion's one boot, a bootstrap of boots, Tennis."""
    one, other = ([np.minimum(boot, LOST_NS) for boot in side] for side in (before, after))
    u = mannwhitneyu(np.concatenate(other), np.concatenate(one), alternative="greater").pvalue
    means = [np.array([boot.mean() for boot in side]) for side in (one, other)]
    welch = ttest_ind(means[1], means[0], equal_var=False, alternative="greater").pvalue
    first = ttest_ind(other[0], one[0], equal_var=False).pvalue
    grew = other[0].mean() > 1.01 * one[0].mean()  # Criterion's threshold of noise
    drawn = random.integers(RIVAL_BOOTS, size=(2, 1000, RIVAL_BOOTS))
    ratios = means[1][drawn[1]].mean(axis=1) / means[0][drawn[0]].mean(axis=1)
    sides = [Side([Boot.of(boot) for boot in side], range(RIVAL_BOOTS)) for side in (before, after)]
    return [
        u <= 0.05,
        welch <= 0.05,
        first <= 0.05 and grew,
        bool(np.quantile(ratios, 0.05) > MARGIN),
        judge([Pair("", "interrupt", *sides)]).verdict == "worse",
    ]


def rankings(count: int) -> Iterator[Row]:
    """Yield a row for each family: curves that cross have no ranking, and clear ones have."""
    for families, crossing in ((CROSSING, True), (CLEAR, False)):
        for name, (one, other, balls) in families.items():
            for number_of_boots in (RIVAL_BOOTS, 2 * RIVAL_BOOTS):
                said = []
                for number in range(count):
                    random = np.random.default_rng([51, number])
                    sides = [
                        Side(boots(random, balls, kinds, number_of_boots)) for kinds in (one, other)
                    ]
                    said.append(time_change(sides[1], sides[0], 1000).change)
                later, earlier = said.count("later"), said.count("earlier")
                wrong = later + earlier if crossing else earlier
                cells = [rate(later, count), rate(earlier, count)]
                head = f"| {name} | {balls:,} | {number_of_boots}"
                yield f"{head} | {' | '.join(cells)} |", wrong / count


def folders(count: int) -> Iterator[Row]:
    """Yield a row for each way to drift and each order: two folders that a board played."""
    for name, walk in WALKS.items():
        for order, draw in ORDERS.items():
            said = [_recorded(walk, draw, number) for number in range(count)]
            claimed = said.count("worse")
            rest = _shares(said, "worse, if nothing drifted", "undecided")
            yield (
                f"| {name} | {order} | {rate(claimed, count)} | {' | '.join(rest)} |",
                (claimed / count),
            )


def _recorded(
    walk: Callable[[np.random.Generator], Values],
    draw: Callable[[np.random.Generator], list[bool]],
    number: int,
) -> str:
    random = np.random.default_rng([57, number])
    usual = CROSSING["cross, with spread"][0]
    every = [Boot.of(pace * latencies(random, 3000, usual)) for pace in walk(random)]
    mine = np.array(draw(random))
    times = [f"2026-01-01T00:{place:02d}" for place in range(len(every))]
    before, after = ([every[one] for one in np.flatnonzero(some)] for some in (mine, ~mine))
    turns = in_turns(*([times[one] for one in np.flatnonzero(some)] for some in (mine, ~mine)))
    drifted = [drift([boot.median() for boot in side]) <= DRIFT / 4 for side in (before, after)]
    time = InTime(turns, ["it drifted"] * sum(drifted))
    found = judge([Pair("", "interrupt", Side(before), Side(after))], time=time)
    conditional = found.verdict == "worse" and time.condition
    return f"{found.verdict}, {time.condition}" if conditional else found.verdict


def mixtures(count: int) -> Iterator[Row]:
    """Yield a row: of random sides, how often a verdict turns round if it should not."""
    from tests.support.mixtures import turned_round

    for name, turned in turned_round(count).items():
        yield f"| {name} | {rate(turned, count)} |", turned / count


Rows = Callable[[int], Iterator[Row]]
WORSE = ["U", "Welch", "Criterion", "bootstrap", "Tennis"]
PARTS: dict[str, tuple[list[str], Rows]] = {
    "Gate": (
        ["family", "unchanged: worse", "undecided", "no worse", "changed", "declared", "worse",
         "undecided", "no worse"],
        gates,
    ),
    "Rivals": (["family", *(f"unchanged: {one}" for one in WORSE), *WORSE], rivals),
    "Rankings": (["family", "balls", "boots", "later", "earlier"], rankings),
    "Two folders": (["the board", "played", "worse", "worse, with a condition", "undecided"],
                    folders),
    "Mixtures": (["of random sides", "turned round"], mixtures),
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
