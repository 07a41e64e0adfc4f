# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""One HTML page about a check: verdict, figures in table 6.1's form, pictures."""

from pathlib import Path
from typing import Any

from tennis.edition import VERSION
from tennis.pages.rally import embed
from tennis.pages.templates import template
from tennis.plots.umpire import agreement, check_note, persistence
from tennis.publications import knutsson_2008
from tennis.rally.disk import write_whole
from tennis.umpire import Check
from tennis.umpire.rally import facts, table


def write_page(result: Check, out: Path, *, force: bool = False) -> None:
    """Write one self-contained HTML page about a check. Raises UsageError, RallyError."""
    write_whole(out, page(result).encode(), force=force)


def page(result: Check) -> str:
    """Return the page: the same check gives the same bytes."""
    drawn = [agreement(result)]
    if not result.rally.manifest.drill:
        drawn.append(persistence(result))
    return template("umpire.html.j2").render(
        result=result,
        facts=facts(result),
        table=table(result),
        thesis=_thesis(),
        pictures=[embed(picture, picture.alt, "png") for picture in drawn],
        note=check_note(result),
        version=VERSION,
    )


def _thesis() -> list[dict[str, Any]]:
    """Return the thesis' own table 6.1; microseconds."""
    irq, sched = knutsson_2008().verification
    return [
        {"kind": kind, "analyser_us": a, "brickwall_us": b, "error_us": e}
        for kind, part in (("interrupt", irq), ("scheduling", sched))
        for a, b, e in zip(part.oscilloscope, part.brickwall, part.error, strict=True)
    ]
