# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The text of a reproducer: a late ball in a mail, in plain ASCII and 72 columns."""

import textwrap
from collections.abc import Iterable

from tennis.checkout import source_address
from tennis.explain.explanation import Explanation
from tennis.explain.packed_ball import PackedBall, Stack
from tennis.explain.story import Share
from tennis.rally import Manifest, Rally
from tennis.rally.text import plain
from tennis.units import format_count, format_ns

COLUMNS = 72
SHARES_SHOWN = 6
STACKS_SHOWN = 3
FUNCTIONS_SHOWN = 12
TEXT_MAX = 4000
ASCII = str.maketrans({"µ": "u", "…": "...", "\N{NO-BREAK SPACE}": " "})


def ball_text(explanation: Explanation, packed: PackedBall, *, tree: bool) -> str:
    """Return the text about a packed ball; ``tree``: its kernel is of a tree, not of Debian's."""
    rally, story = explanation.rally, explanation.story
    lines = [
        *_wrapped(story.sentence),
        "",
        *_wrapped(_what_it_is(rally, packed)),
        "",
        *_see_it_again(rally.manifest, tree=tree),
        "",
        "When, from the ping on:",
        *(f"{moment.at_ns:>14,} ns  {moment.what}" for moment in packed.moments),
        "",
        f"What ran in these {format_ns(story.waited)}:",
        *_shares(explanation),
        "",
        "The longest call stacks, the innermost function first:",
        *_stacks(packed.stacks[:STACKS_SHOWN]),
        "",
        *_settings(rally, packed, tree=tree),
    ]
    if explanation.changed:
        changed = ", ".join(explanation.changed)
        lines += ["", *_wrapped(f"Changed since it was played, without effect: {changed}.")]
    return "".join(f"{_ascii(line)}\n" for line in lines)


def _ascii(line: str) -> str:
    """Return a line that any mail holds: no letter beyond ASCII, no more than 72 columns."""
    text = line.translate(ASCII).encode("ascii", "replace").decode()
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 3]}..."


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    words = plain(text, TEXT_MAX).translate(ASCII)
    return textwrap.wrap(
        words, COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _what_it_is(rally: Rally, packed: PackedBall) -> str:
    manifest = rally.manifest
    answers = (
        "a kernel module answers it, from its interrupt handler with the reply's rise, and from "
        "its bottom half with the reply's fall"
    )
    if manifest.target.program:
        answers = (
            "a program in user space answers it, with the reply's rise and then with its fall, "
            f"through the {manifest.target.program.way}"
        )
    return (
        f"It is ball {packed.ball} of {rally.balls:,} (the first is 0). A ball is a pulse on a "
        f"GPIO line of a virtual machine: {answers}. Both are timed "
        "from outside, by Tennis, a lab kit for real-time Linux. The kernel is real, and its time "
        f"is {manifest.time_note}. So there are no caches and no buses in it, and it is the same "
        "on every machine."
    )


def _see_it_again(manifest: Manifest, *, tree: bool) -> list[str]:
    argument = " KERNEL-TREE" if tree else ""
    own = "PROGRAM=FILE " if manifest.target.program else ""
    kernel = f"Debian's {_kernel(manifest)}"
    if tree:
        kernel = "the built tree of this kernel, whose image has the SHA-256 below"
    address = source_address()
    where = "get it as above" if address else "the folder that you have, or that of the sender"
    return [
        "To see it again (exit code 0: the same ball, to the nanosecond):",
        *([f"    git clone {address} TENNIS"] if address else []),
        "    make -C TENNIS setup",
        "    . TENNIS/.venv/bin/activate",
        f"    {own}sh replay.sh{argument}",
        *_wrapped(
            f"TENNIS is Tennis {manifest.tool.tennis}, edition {manifest.tool.edition}: {where}."
        ),
        *_wrapped(f"It needs QEMU {manifest.tool.versions.get('qemu', 'unknown')}, and {kernel}."),
    ]


def _kernel(manifest: Manifest) -> str:
    return manifest.tool.versions.get("kernel", manifest.target.kernel)


def _shares(explanation: Explanation) -> Iterable[str]:
    def row(share: Share) -> list[str]:
        percent = 100 * share.ns / explanation.waited
        lead = f"{percent:7.1f} %{format_ns(share.ns):>9}  "
        what, where = str(share.what), share.blame.short
        words = what if what == where else f"{what}, mostly in {where}"
        return _wrapped(words, lead, " " * len(lead))

    shares = explanation.shares()
    yield from (line for share in shares[:SHARES_SHOWN] for line in row(share))
    if len(shares) > SHARES_SHOWN:
        rest_ns = sum(share.ns for share in shares[SHARES_SHOWN:])
        others = format_count(len(shares) - SHARES_SHOWN, "other thing")
        yield f"         {format_ns(rest_ns):>9}  {others}"


def _stacks(stacks: Iterable[Stack]) -> Iterable[str]:
    for stack in stacks:
        off = " with interrupts off" if 2 * stack.interrupts_off_ns > stack.ns else ""
        yield f"  {format_ns(stack.ns)}{off}, task {stack.task}, {stack.latency} latency"
        shown = stack.functions[:FUNCTIONS_SHOWN]
        yield from (f"      {name}" for name in shown)
        if more := len(stack.functions) - len(shown):
            yield f"      ... and {format_count(more, 'caller')}"


def _settings(rally: Rally, packed: PackedBall, *, tree: bool) -> list[str]:
    manifest = rally.manifest
    target, load, protocol = manifest.target, manifest.load, manifest.protocol
    origin = "kernel.config is its configuration" if tree else "from Debian"
    served = (
        f"{protocol.rate_hz:g} balls a second"
        if protocol.rate_hz
        else f"gaps from {format_ns(protocol.gap_min_ns)} to {format_ns(protocol.gap_max_ns)}"
    )
    fields = {
        "kernel": f"{_kernel(manifest)}, {origin}: {target.release} {target.version}",
        "cmdline": target.command_line,
        "load": f"{load.name}: {load.command or 'nothing'}",
        "module": f"{target.module}, top half {target.top_half}, bottom half "
        f"{target.bottom_half}, priorities {target.priorities}",
        "balls": f"seed {protocol.seed}, {protocol.loop} loop, {served}",
    }
    if target.program:
        del fields["module"]
        fields["program"] = f"{target.program.name}, which is not in this file: ask the sender"
    rows = (_wrapped(text, f"{name:<9}", " " * 9) for name, text in fields.items())
    return [*(line for row in rows for line in row), *_hashes(manifest, packed)]


def _hashes(manifest: Manifest, packed: PackedBall) -> list[str]:
    versions = manifest.tool.versions
    hashes = {
        "kernel's image": versions.get("kernel_image_sha256"),
        "kernel's configuration": versions.get("kernel_config_sha256"),
        "program, as it was brought"
        if manifest.target.program
        else "Racquet (kernel module), source": packed.racquet_source_sha256,
        "Racquet, built": versions.get("racquet_sha256"),
        "instrument (plugin of QEMU), source": versions.get("instrument_sha256"),
        "profiler (plugin of QEMU), source": packed.profiler_sha256,
    }
    lines = [[f"  {name}", f"    {value}"] for name, value in hashes.items() if value]
    return ["SHA-256:", *(line for pair in lines for line in pair)]
