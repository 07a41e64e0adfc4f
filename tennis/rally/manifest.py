# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``manifest.json``: what a rally was played with, under which conditions, and what went wrong."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

SCHEMA_VERSION = 1

Text = Annotated[str, StringConstraints(max_length=4096)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=2**40)]
BenchKind = Literal["pi", "virtual", "replay"]


class Part(BaseModel):
    """A part of the manifest: unknown keys are refused, values keep their JSON types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Instrument(Part):
    """What timed the balls."""

    kind: Text  # "virtual", "brickwall"
    serial: Text | None = None
    firmware: Text  # version
    firmware_sha256: Sha256
    tick_hz: Annotated[int, Field(gt=0, le=10**12)]
    calibration: Text | None = None  # the certificate of `tennis verify`, where there is one


class Priority(Part):
    """The scheduling policy of a task that takes part in the answer."""

    task: Text  # "irq/23-racquet", "ksoftirqd/0"
    policy: Text  # "SCHED_FIFO", "SCHED_OTHER"
    priority: Annotated[int, Field(ge=0, le=99)]


class Target(Part):
    """What answered."""

    board: Text
    kernel: Text  # what was asked for: mainline, rt, or the folder's name
    release: Text  # uname -r
    version: Text  # uname -v
    config_sha256: Sha256 | None
    command_line: Text
    module: Text  # "racquet"
    module_sha256: Sha256
    bottom_half: Literal["tasklet", "thread", "workqueue", "user"]
    governor: Text | None = None
    priorities: Literal["default", "chrt"]
    tasks: Annotated[list[Priority], Field(max_length=256)]


class LoadRecord(Part):
    """What kept the target busy."""

    name: Text
    command: Text  # exactly as started; empty for idle
    started_ns: Count | None = None  # on the instrument's clock; None: before the rally


class Protocol(Part):
    """How the balls were served."""

    loop: Literal["closed", "open"]
    balls: Annotated[int, Field(gt=0, le=2**32)]  # planned
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    gap_min_ns: Count
    gap_max_ns: Count
    rate_hz: Annotated[float, Field(gt=0)] | None = None  # open loop only
    pulse_ns: Annotated[int, Field(gt=0)]
    timeout_ns: Annotated[int, Field(gt=0)]
    settle_ns: Count


class Counts(Part):
    """What happened to the balls, as the instrument counted."""

    balls: Count  # served and decided: replies and misses
    misses: Count
    strays: Count
    doubles: Count
    late_serves: Count = 0


class Fault(Part):
    """Something that went wrong with the bench; any fault taints the rally."""

    code: Text  # "guest_panic", "module_did_not_load", "no_answer", ...
    message: Text


class Tool(Part):
    """The versions that must agree for two virtual rallies to give the same bytes."""

    tennis: Text
    versions: Annotated[dict[Text, Text], Field(max_length=64)]


class Manifest(Part):
    """All of ``manifest.json``."""

    schema_version: Literal[1]
    bench: BenchKind
    time_note: Text  # what a nanosecond means here; said on every table and plot
    created: Text  # ISO 8601, wall clock
    operator: Text | None = None
    instrument: Instrument
    target: Target
    load: LoadRecord
    protocol: Protocol
    counts: Counts
    ended: Literal["complete", "interrupted", "fault"]
    faults: Annotated[list[Fault], Field(max_length=1024)]
    tainted: bool
    tool: Tool
    files: Annotated[dict[Text, Sha256], Field(max_length=64)]
