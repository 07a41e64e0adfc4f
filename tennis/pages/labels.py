# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A sheet of labels, one for each bench: its name, its Pico's serial number, its wires."""

from dataclasses import dataclass

from markupsafe import Markup

from tennis.edition import VERSION
from tennis.pages.templates import template
from tennis.pages.wiring import step_picture
from tennis.wiring import wiring


@dataclass(frozen=True)
class Label:
    """What is on a label; an empty serial number is written in by hand."""

    bench: str
    serial: str


def page(labels: list[Label]) -> str:
    """Return the sheet, as HTML to be printed."""
    across = [wire.name for wire in wiring().wires if wire.target_pin]
    picture = Markup(step_picture(wiring(), across))  # noqa: S704 (made here, of the wiring only)
    return template("labels.html.j2").render(
        labels=labels, picture=picture, wiring=wiring(), version=VERSION
    )
