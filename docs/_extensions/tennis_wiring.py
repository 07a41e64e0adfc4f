"""A Sphinx extension: the wiring of the physical bench, from ``kit-firmware/wiring.toml``.

``{tennis-wiring} table`` writes a table of the wires, ``{tennis-wiring} picture`` draws them;
``{tennis-wiring} two-picos`` is the table where the target is a second Pico.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tennis.course.authoring.sphinx import GeneratedDirective
from tennis.kit.wiring import SOURCE, Wiring, wiring
from tennis.report.pages.wiring import picture, resistor


def table(known: Wiring) -> str:
    """Return the wires as a Markdown table."""
    rows = ["| wire | Pico | target | in series | what for |", "|---|---|---|---|---|"]
    for wire in known.wires:
        target = f"pin {wire.target_pin} (BCM{wire.target_bcm})" if wire.target_pin else ""
        pico = f"pin {wire.pico_pin} (GP{wire.pico_gpio})"
        rows.append(f"| {wire.name} | {pico} | {target} | {resistor(wire)} | {wire.purpose} |")
    ground = known.ground
    rows.append(f"| ground | pin {ground.pico_pin} | pin {ground.target_pin} | | the return |")
    for part in known.to_ground:
        wire, boards = known.wire(part.wire), ", ".join(part.boards)
        ends = f"pin {wire.pico_pin} (GP{wire.pico_gpio}) to pin {ground.pico_pin}"
        rows.append(
            f"| **{boards} only**: {wire.name} to ground | {ends} | | {part.resistor_ohm} Ω, "
            f"not in series | {part.purpose} |"
        )
    return "\n".join(rows)


def two_picos(known: Wiring) -> str:
    """Return the wires to a second Pico, the target, as a Markdown table."""
    rows = ["| wire | Brickwall | target | in series |", "|---|---|---|---|"]
    for wire in known.wires:
        if wire.target_pico_pin:
            ends = f"pin {wire.pico_pin} (GP{wire.pico_gpio}) | pin {wire.target_pico_pin}"
            rows.append(f"| {wire.name} | {ends} (GP{wire.target_pico_gpio}) | {resistor(wire)} |")
    ground = known.ground
    rows.append(f"| ground | pin {ground.pico_pin} | pin {ground.target_pico_pin} | |")
    return "\n".join(rows)


class TennisWiring(GeneratedDirective):
    """``{tennis-wiring} table``, ``picture`` or ``two-picos``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table or the picture."""
        self.env.note_dependency(str(SOURCE))
        tables = {"table": table, "two-picos": two_picos}
        if self.arguments[0] in tables:
            return self.parse_text_to_nodes(tables[self.arguments[0]](wiring()))
        # WeasyPrint knows no variables in a picture
        on_paper = self.env.app.tags.has("print")
        drawn = picture(wiring(), "#fff") if on_paper else picture(wiring())
        return [nodes.raw("", drawn, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive to Sphinx."""
    app.add_directive("tennis-wiring", TennisWiring)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
