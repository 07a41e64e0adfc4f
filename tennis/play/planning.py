# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From what a person asked for to a plan, and to the bench that plays it."""

from collections.abc import Mapping

from tennis.bench import Bench
from tennis.bench.targets.virtual.bench import VirtualBench
from tennis.errors import UsageError
from tennis.rally.manifest import BenchKind, Protocol
from tennis.rally.plan import BottomHalf, Plan, Priorities

DEFAULT_RATE_HZ = 1000.0


def bench_of(kind: str) -> Bench:
    """Return the bench of a kind. Raises UsageError."""
    if kind == "virtual":
        return VirtualBench()
    raise UsageError(f"no bench {kind} here: use virtual")


def plan_of(  # noqa: PLR0913 (a plan has that many parts, all of them named)
    *,
    bench: BenchKind = "virtual",
    kernel: str = "mainline",
    load: str = "idle",
    load_options: Mapping[str, int] | None = None,
    bottom_half: BottomHalf = "tasklet",
    priorities: Priorities = "default",
    balls: int = 5000,
    seed: int = 1,
    loop: str = "closed",
    rate_hz: float | None = None,
    gap_min_us: float = 500,
    gap_max_us: float = 1500,
    pulse_us: float = 1,
    timeout_ms: float = 200,
    settle_s: float = 1,
    operator: str | None = None,
) -> Plan:
    """Return a plan. Raises UsageError where its numbers do not go together."""
    if gap_max_us < gap_min_us:
        raise UsageError(f"--gap-max-us {gap_max_us:g} is below --gap-min-us {gap_min_us:g}")
    if loop == "closed":
        if rate_hz is not None:
            raise UsageError("--rate-hz belongs to --loop open")
        shortest_us = gap_min_us
    else:
        rate_hz = rate_hz or DEFAULT_RATE_HZ
        shortest_us = 1e6 / rate_hz
    if pulse_us > shortest_us / 2:
        raise UsageError(
            f"a ping of {pulse_us:g} us is too long for balls {shortest_us:g} us apart: "
            f"use --pulse-us {shortest_us / 2:g} or less"
        )
    return Plan(
        bench=bench,
        kernel=kernel,
        load=load,
        load_options=dict(load_options or {}),
        bottom_half=bottom_half,
        priorities=priorities,
        operator=operator,
        versions={},
        protocol=Protocol(
            loop="closed" if loop == "closed" else "open",
            balls=balls,
            seed=seed,
            gap_min_ns=round(gap_min_us * 1000),
            gap_max_ns=round(gap_max_us * 1000),
            rate_hz=rate_hz,
            pulse_ns=round(pulse_us * 1000),
            timeout_ns=round(timeout_ms * 1_000_000),
            settle_ns=round(settle_s * 1_000_000_000),
        ),
    )
