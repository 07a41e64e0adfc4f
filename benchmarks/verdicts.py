# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How often comparisons are wrong, of boots that nobody played and whose truth is known.

Ten boots a side, both of one family, and each statement a hair beside its edge. Prints the tables
of docs/match.md; exits with 1 if more than 5 % of a family are wrong or turn round.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.made_up_boots import (
    FAMILIES,
    KINDS,
    STATEMENTS,
    STRADDLING,
    of_match,
    opposite,
    power,
    power_of_shares,
    simulate,
    simulate_shares,
)

TARGET_WRONG = 0.05
BALLS = 12_000  # a boot
SHARES = (1.0, 0.5, 0.25)  # of them
TIMES = (1.25, 2.0, 3.0, 10.0)


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=200, help="of each family")
    parser.add_argument(
        "--match", type=Path, metavar="DIR", help="a match: its boots are drawn for both sides, too"
    )
    asked = parser.parse_args()
    count = asked.comparisons
    families = dict(FAMILIES)
    balls = dict.fromkeys(families, BALLS)
    if asked.match:
        for name, (make, shortest) in of_match(asked.match).items():
            families[name], balls[name] = make, shortest
    print(f"{count} comparisons of each statement; wrong / turned round, in per cent")
    print("| family |" + "".join(f" {name} |" for name in STATEMENTS) + " found at |")
    print("|---|" + "---|" * (len(STATEMENTS) + 1))
    worst = 0.0
    for name, make in families.items():
        # played boots see their load's whole cycle: a part of one is another load
        shares = SHARES if name in FAMILIES else (1.0,)
        cells = []
        for results in simulate(make, balls[name], count, shares=shares).values():
            wrong = max(one.wrong for one in results) / count
            turned = max(
                sum(map(opposite, results[0].said, other.said)) / count for other in results
            )
            worst = max(worst, wrong, turned)
            cells.append(f"{100 * wrong:.1f} / {100 * turned:.1f}")
        found = power(make, balls[name], max(1, count // 4), TIMES)
        cells.append(", ".join(f"{100 * one:.0f}" for one in found))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    worst = max(worst, _shares(count))
    missed = worst > TARGET_WRONG
    print(f"target: at most {100 * TARGET_WRONG:g} % wrong: {'MISSED' if missed else 'met'}")
    return int(missed)


def _shares(count: int) -> float:
    """Print the same of cells whose level falls between two kinds; return the largest error."""
    print("\nshares of late balls; wrong / turned round, found at that many times as many")
    print("| family |" + "".join(f" {100 * share:g} % |" for share in STRADDLING) + " found at |")
    print("|---|" + "---|" * (len(STRADDLING) + 1))
    worst = 0.0
    for name, make in KINDS.items():
        cells = []
        for share in STRADDLING:
            results = simulate_shares(make, BALLS, count, share=share, shares=SHARES)
            wrong = max(one.wrong for one in results) / count
            turned = max(
                sum(map(opposite, results[0].said, other.said)) / count for other in results
            )
            worst = max(worst, wrong, turned)
            cells.append(f"{100 * wrong:.1f} / {100 * turned:.1f}")
        found = power_of_shares(make, BALLS, max(1, count // 4), share=0.001, times=TIMES)
        cells.append(", ".join(f"{100 * one:.0f}" for one in found))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
