# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""``ball.json``: what a reproducer says of its ball beside the rally that it was played in.

Only what was counted is kept, to be compared when the ball is played again: moments and call
stacks. Words are made of them where they are shown.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tennis.errors import RallyError
from tennis.explain.segments import Segments
from tennis.explain.story import Latency, Story
from tennis.rally.manifest import Count, Ns, Sha256, StrictModel, Text
from tennis.rally.record_file import RecordFile
from tennis.rally.text import plain
from tennis.units import format_ns

BALL = "ball.json"
SIZE_MAX = 4 << 20  # bytes
STACKS_MAX = 2000  # the longest; of those that are left out the sum is kept
DEPTH_MAX = 256
NAME_MAX = 200
SCHEMA_VERSION: Literal[1] = 1

Name = Annotated[Text, Field(max_length=NAME_MAX)]


class Moment(StrictModel):
    """What happened when, in ns since the ping."""

    what: Name
    at_ns: Ns


class Stack(StrictModel):
    """How long the processor was at the end of one call stack while the ball waited."""

    latency: Latency  # in which of both
    task: Name
    functions: Annotated[list[Name], Field(max_length=DEPTH_MAX)]  # the innermost first
    ns: Ns
    interrupts_off_ns: Ns

    @property
    def where(self) -> str:
        """Return the function that ran, and its task."""
        return f"{self.functions[0] if self.functions else '?'} of {self.task}"


class PackedBall(StrictModel):
    """All of ``ball.json``."""

    schema_version: Literal[1] = SCHEMA_VERSION
    ball: Count  # from 0
    moments: Annotated[list[Moment], Field(max_length=16)]
    stacks: Annotated[list[Stack], Field(max_length=STACKS_MAX)]  # the longest first
    other_stacks_ns: Ns  # those that are too many
    racquet_source_sha256: Sha256
    profiler_sha256: Sha256  # source of the plugin that counted

    def text(self) -> bytes:
        """Return the file's content."""
        content = self.model_dump(mode="json")
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def packed_ball(story: Story, racquet_sha256: str, profiler_sha256: str) -> PackedBall:
    """Return what is kept of a ball's story; both hashes are of sources."""
    latencies: tuple[Latency, ...] = ("interrupt", "scheduling")
    stacks = [stack for part in story.parts for stack in _stacks(part, latencies[part.phase.phase])]
    stacks.sort(key=lambda one: (-one.ns, one.latency, one.task, one.functions))
    return PackedBall(
        ball=story.ball,
        moments=[Moment(what=what, at_ns=at) for what, at in story.moments],
        stacks=stacks[:STACKS_MAX],
        other_stacks_ns=sum(stack.ns for stack in stacks[STACKS_MAX:]),
        racquet_source_sha256=racquet_sha256,
        profiler_sha256=profiler_sha256,
    )


def _stacks(part: Segments, latency: Latency) -> list[Stack]:
    """Return a phase's call stacks, by the function that ran at their end."""
    return [
        Stack(
            latency=latency,
            task=plain(part.task(node), NAME_MAX),
            functions=[plain(name, NAME_MAX) for name in reversed(part.stack(node))][:DEPTH_MAX],
            ns=int(part.node_ns[node]),
            interrupts_off_ns=int(part.node_masked_ns[node]),
        )
        for node in np.flatnonzero(part.node_ns).tolist()
    ]


def read_ball(folder: Path) -> PackedBall:
    """Read ``ball.json`` of a folder that may come from anybody. Raises RallyError."""
    file = RecordFile(folder / BALL, "packed ball", SCHEMA_VERSION, SIZE_MAX, ASK)
    try:
        text = file.read()
    except FileNotFoundError as error:
        raise RallyError(f"cannot read {file.path} ({error.strerror})", next_step=ASK) from error
    file.content(text)
    return file.checked(PackedBall, text)


ASK = "ask for the file that `tennis pack` made"


def difference(packed: PackedBall, again: PackedBall) -> str:
    """Say in what a ball that was played again is not the packed one; empty: in nothing."""
    if packed.moments != again.moments:
        return _moments(packed.moments, again.moments)
    for ours, theirs in zip(packed.stacks, again.stacks, strict=False):
        if ours != theirs:
            return (
                f"{format_ns(ours.ns)} in {ours.where} are packed, and "
                f"{format_ns(theirs.ns)} in {theirs.where} came in their place"
            )
    if len(packed.stacks) != len(again.stacks):
        return f"{len(packed.stacks)} call stacks are packed, and {len(again.stacks)} came"
    if packed.other_stacks_ns != again.other_stacks_ns:
        return "the time of its shortest call stacks is another"
    return ""


def other_sources(packed: PackedBall, again: PackedBall) -> list[str]:
    """Say which sources a ball is packed with that this kit's are not; empty: with the same."""
    pairs = {
        "the Racquet": (packed.racquet_source_sha256, again.racquet_source_sha256),
        "the profiler": (packed.profiler_sha256, again.profiler_sha256),
    }
    return [
        f"{what} (SHA-256 {ours} in {BALL}, {theirs} here)"
        for what, (ours, theirs) in pairs.items()
        if ours != theirs
    ]


def _moments(packed: Sequence[Moment], again: Sequence[Moment]) -> str:
    for ours, theirs in zip(packed, again, strict=False):
        if ours != theirs:
            return (
                f"'{plain(ours.what, 40)}' after {ours.at_ns} ns is packed, and "
                f"'{theirs.what}' after {theirs.at_ns} ns came"
            )
    return f"{len(packed)} moments are packed, and {len(again)} came"
