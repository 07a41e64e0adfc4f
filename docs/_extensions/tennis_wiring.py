# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Sphinx extension: the wiring of the physical bench, from ``kit-firmware/wiring.toml``.

``{tennis-wiring} table`` writes a table of the wires, ``{tennis-wiring} picture`` draws them.
"""

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tennis.wiring import SOURCE, Wire, Wiring, wiring

ROW = 34  # pixels between two wires
PICO_X, TARGET_X = 190, 470
TOP = 56
WIDTH = 660


def resistor(wire: Wire) -> str:
    """Write a series resistor."""
    return f"{wire.resistor_ohm} Ω" if wire.resistor_ohm else ""


def table(known: Wiring) -> str:
    """Return the wires as a Markdown table."""
    rows = ["| wire | Pico | target | in series | what for |", "|---|---|---|---|---|"]
    for wire in known.wires:
        target = f"pin {wire.target_pin} (BCM{wire.target_bcm})" if wire.target_pin else ""
        pico = f"pin {wire.pico_pin} (GP{wire.pico_gpio})"
        rows.append(f"| {wire.name} | {pico} | {target} | {resistor(wire)} | {wire.purpose} |")
    ground = known.ground
    rows.append(f"| ground | pin {ground.pico_pin} | pin {ground.target_pin} | | the return |")
    return "\n".join(rows)


def picture(known: Wiring) -> str:
    """Return the wires between Pico and target, and the jumpers, as SVG."""
    across = [wire for wire in known.wires if wire.target_pin]
    names = {jumper.origin for jumper in known.jumpers} | {jumper.to for jumper in known.jumpers}
    shown = [*across, *(wire for wire in known.wires if wire.name in names and wire not in across)]
    rows = {wire.name: TOP + ROW * number for number, wire in enumerate(shown, 1)}
    height = TOP + ROW * (len(shown) + 1)
    parts = [
        _board(30, PICO_X - 30, height - 40),
        _board(TARGET_X, 160, TOP + ROW * len(across)),
        '<text x="44" y="44" class="t">Pico</text>',
        f'<text x="{TARGET_X + 14}" y="44" class="t">target</text>',
    ]
    ground = known.ground
    parts += _across(TOP, f"GND  pin {ground.pico_pin}", f"pin {ground.target_pin}  GND", "")
    for wire in shown:
        y, end = rows[wire.name], f"GP{wire.pico_gpio}  pin {wire.pico_pin}"
        if wire.target_pin:
            far = f"pin {wire.target_pin}  BCM{wire.target_bcm}"
            parts += _across(y, end, far, f"{wire.name}, {resistor(wire)}")
        else:
            parts.append(_text(PICO_X - 12, y, end, "end"))
            parts.append(f'<circle cx="{PICO_X}" cy="{y}" r="4"/>')
            parts.append(_text(PICO_X + 76, y, f"{wire.name} {resistor(wire)}".strip()))
    for number, jumper in enumerate(known.jumpers):
        top, bottom = sorted((rows[jumper.origin], rows[jumper.to]))
        bend = PICO_X + 40 + 26 * number
        parts.append(
            f'<path d="M{PICO_X} {top} C{bend} {top + 8} {bend} {bottom - 8} {PICO_X} {bottom}" '
            'class="j"/>'
        )
    parts.append(_text(PICO_X + 14, height - 4, "dashed: the self-test's jumpers, no target then"))
    style = (
        ".b{fill:none;stroke:currentColor;stroke-width:1.5}"
        ".w{stroke:currentColor;stroke-width:2}"
        ".j{fill:none;stroke:#b4531f;stroke-width:2;stroke-dasharray:5 4}"
        "text{font:13px sans-serif;fill:currentColor}.t{font-weight:bold}"
        "circle{fill:currentColor}"
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {height + 6}" role="img" style="max-width:{WIDTH}px" '
        f'aria-label="Wires between the Pico and the target"><style>{style}</style>'
        + "".join(parts)
        + "</svg>"
    )


def _board(x: int, width: int, height: int) -> str:
    return f'<rect x="{x}" y="24" width="{width}" height="{height}" rx="8" class="b"/>'


def _across(y: int, near: str, far: str, words: str) -> list[str]:
    return [
        f'<line x1="{PICO_X}" y1="{y}" x2="{TARGET_X}" y2="{y}" class="w"/>',
        f'<circle cx="{PICO_X}" cy="{y}" r="4"/><circle cx="{TARGET_X}" cy="{y}" r="4"/>',
        _text(PICO_X - 12, y, near, "end"),
        _text(TARGET_X + 12, y, far),
        _text((PICO_X + TARGET_X) // 2 + 30, y - 10, words, "middle"),
    ]


def _text(x: int, y: int, words: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y + 4}" text-anchor="{anchor}">{escape(words)}</text>'


class TennisWiring(SphinxDirective):
    """``{tennis-wiring} table`` or ``{tennis-wiring} picture``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table or the picture."""
        self.env.note_dependency(str(SOURCE))
        if self.arguments[0] == "table":
            return self.parse_text_to_nodes(table(wiring()))
        return [nodes.raw("", picture(wiring()), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive to Sphinx."""
    app.add_directive("tennis-wiring", TennisWiring)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
