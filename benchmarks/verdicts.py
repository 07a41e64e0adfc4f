# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""How often verdicts are wrong, on matches that nobody played and whose truth is known.

Ten boots a side; "it grows more than x times", x a hair beside the true ratio, and x half or twice
the true ratio. Prints the table of docs/match.md; exits with 1 where more than 5 % are wrong.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.made_up_boots import KINDS, simulate

TARGET_WRONG = 0.05
BALLS = (3_000, 12_000)  # a boot


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=400, help="of each kind and N")
    matches = parser.parse_args().matches
    print(f"{matches} matches a row")
    print("| boots | balls | wrong | turned round | decided, at twice | at four times |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    for name, kind in KINDS.items():
        verdicts: list[str] = []
        for balls in BALLS:
            edge = simulate(kind, balls, matches)
            far = [simulate(kind, balls, max(1, matches // 10), times=times) for times in (2, 4)]
            decided = [one.verdicts.count("confirmed") / len(one.verdicts) for one in far]
            turned = sum(
                {one, other} == {"confirmed", "contradicted"}
                for one, other in zip(verdicts, edge.verdicts, strict=False)
            )
            verdicts = edge.verdicts
            wrong = max(edge.wrong / matches, *(one.wrong / len(one.verdicts) for one in far))
            worst = max(worst, wrong)
            turned_words = f"{100 * turned / matches:.1f} %" if balls != BALLS[0] else ""
            print(
                f"| {name} | {10 * balls:,} | {100 * wrong:.1f} % | {turned_words} | "
                f"{100 * decided[0]:.0f} % | {100 * decided[1]:.0f} % |",
                flush=True,
            )
    missed = worst > TARGET_WRONG
    print(f"target: at most {100 * TARGET_WRONG:g} % wrong: {'MISSED' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
