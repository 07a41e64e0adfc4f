"""The context of figures for a stranger: the rally, its settings, versions and time."""

from collections.abc import Iterable, Sequence

from tennis.kit.units import format_count
from tennis.rally.manifest import Manifest, Tool
from tennis.rally.text import plain

VALUES_SHOWN = 6


def circumstances(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Return facts about rallies that are shown together; values that differ are all named."""
    if not manifests:
        return {}
    facts = {
        "Played": _span([one.created for one in manifests]),
        "Bench": _all(f"{one.bench}: {one.time_note}" for one in manifests),
        "Tennis": _all(written_by(one.tool) for one in manifests),
        "QEMU": _all(one.tool.versions.get("qemu", "") for one in manifests),
        "Kernel": _all(_kernel(one) for one in manifests),
        "Added to its command line": _all(one.target.added for one in manifests),
        "Processors": _all(_processors(one) for one in manifests),
        "Load": _all(_load(one) for one in manifests),
        "Program": _all(one.target.reply_path for one in manifests if one.target.program),
        "Top half": _all(one.target.top_half for one in manifests),
        "Bottom half": _all(one.target.bottom_half for one in manifests),
        "Priorities": _all(one.target.priorities for one in manifests),
        "Instrument": _all(f"{one.instrument.kind} {one.instrument.firmware}" for one in manifests),
        "Boots": str(len(manifests)),
        "N of a boot": _all(f"{one.protocol.balls:,}" for one in manifests),
        "Seeds": _numbers({one.protocol.seed for one in manifests}),
    }
    return {name: plain(value, 600) for name, value in facts.items() if value}


def written_by(tool: Tool) -> str:
    """Return Tennis' version, and the bench's edition if the rally says one."""
    return f"{tool.tennis}, edition {tool.edition} of the bench" if tool.edition else tool.tennis


def _kernel(manifest: Manifest) -> str:
    target = manifest.target
    return f"{target.system}: {target.release} {target.version}"


def _processors(manifest: Manifest) -> str:
    target = manifest.target
    words = [str(target.processors)] if target.processors else []
    pinned = {
        "interrupt": target.interrupt_cpu,
        "bottom half": target.bottom_half_cpu,
        "load": manifest.load.cpus,
    }
    return ", ".join([*words, *(f"{a} on {b}" for a, b in pinned.items() if b is not None)])


def _load(manifest: Manifest) -> str:
    load = manifest.load
    return " ".join([load.name, *(f"{name}={value}" for name, value in load.options.items())])


def _all(values: Iterable[str]) -> str:
    """Write each value once, in the order of their first rallies."""
    found = [one for one in dict.fromkeys(values) if one]
    more = len(found) - VALUES_SHOWN
    words = "; ".join(found[:VALUES_SHOWN])
    return f"{words}; and {more} more" if more > 0 else words


def _span(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}"


def _numbers(numbers: Iterable[int]) -> str:
    """Write numbers; those that follow each other as a range."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [f"{a}" if a == b else f"{a} to {b}" for a, b in ranges]
    more = len(words) - 2 * VALUES_SHOWN
    shown = ", ".join(words[: 2 * VALUES_SHOWN])
    return f"{shown} and {format_count(more, 'more range')}" if more > 0 else shown
