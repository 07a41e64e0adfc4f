# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which Racquet plays on which kernel, and from where it can answer there."""

from dataclasses import dataclass

from tennis.bench.kernels.configuration import Flavour
from tennis.errors import UsageError
from tennis.rally.manifest import BottomHalf, Priorities, TopHalf


@dataclass(frozen=True)
class Racquet:
    """A kernel module of ``target/racquet``; the first of each tuple is what nobody asked for."""

    module: str
    top_halves: tuple[TopHalf, ...]
    bottom_halves: tuple[BottomHalf, ...]
    priorities: tuple[Priorities, ...]


_BOTTOM_HALVES: tuple[BottomHalf, ...] = ("tasklet", "thread", "workqueue", "user")
RACQUETS: dict[Flavour, Racquet] = {
    "mainline": Racquet("racquet", ("hard",), _BOTTOM_HALVES, ("default", "chrt")),
    "rt": Racquet("racquet", ("hard", "threaded"), _BOTTOM_HALVES, ("default", "chrt")),
    # Xenomai's cores have neither softirqs nor workqueues: a thread of theirs answers, at their
    # highest priority, and chrt cannot change that
    "evl": Racquet("racquet_evl", ("hard",), ("thread",), ("native",)),
    "cobalt": Racquet("racquet_cobalt", ("hard",), ("thread",), ("native",)),
}


def check(flavour: Flavour, top_half: str, bottom_half: str, priorities: str) -> None:
    """Raise UsageError where a kernel of this flavour cannot be answered from like that."""
    racquet = RACQUETS[flavour]
    for option, asked, possible in (
        ("--top-half", top_half, racquet.top_halves),
        ("--bottom-half", bottom_half, racquet.bottom_halves),
        ("--priorities", priorities, racquet.priorities),
    ):
        if asked not in possible:
            raise UsageError(
                f"{option} {asked} is not for a kernel of flavour {flavour}, where "
                f"{racquet.module} answers",
                next_step=f"use {' or '.join(possible)}",
            )
