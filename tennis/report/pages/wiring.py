"""A picture of the wires between Pico and target, as SVG."""

from collections.abc import Collection
from html import escape

from tennis.kit.wiring import Wire, Wiring

ROW = 34  # pixels between two wires
PICO_X, TARGET_X = 190, 520
RESISTOR_X, PART_X, GROUND_X = 270, 400, 450
TITLE, TOP = 46, 84
WIDTH = 720
JUMPERS = ("#1f6fb4", "#b4531f")
LIGHTS = {"yellow": "#e6b800", "red": "#d03030", "green": "#2e9d46"}


def resistor(wire: Wire) -> str:
    """Write a series resistor."""
    return f"{wire.resistor_ohm} Ω" if wire.resistor_ohm else ""


def step_picture(wires: Wiring, names: Collection[str], *, jumpers: bool = False) -> str:
    """Return some wires to the target and ground, or as jumpers of the self-test, as SVG."""
    rows = [wires.wire(name) for name in names]
    top = TOP if not jumpers else TOP - ROW
    bottom = top + ROW * len(rows)
    where = "the same Pico" if jumpers else "target"
    parts = [
        _board(30, PICO_X - 30, bottom),
        _board(TARGET_X, 170, bottom),
        f'<text x="44" y="{TITLE}" class="t">Raspberry Pi Pico</text>',
        f'<text x="{TARGET_X + 14}" y="{TITLE}" class="t">{where}</text>',
    ]
    if not jumpers:
        parts += _line(TOP, PICO_X, TARGET_X)
        parts.append(_text(PICO_X - 12, TOP, f"GND  pin {wires.ground.pico_pin}", "end"))
        parts.append(_text(TARGET_X + 12, TOP, f"pin {wires.ground.target_pin}  GND"))
        parts.append(_text((RESISTOR_X + TARGET_X) // 2, TOP - 11, "ground", "middle"))
    pairs = [{jumper.origin, jumper.to} for jumper in wires.jumpers]
    for number, wire in enumerate(rows, 1):
        y = top + ROW * number
        parts += _pin(y, f"GP{wire.pico_gpio}  pin {wire.pico_pin}")
        parts += _line(y, PICO_X, TARGET_X)
        if jumpers:
            pair = next(pair for pair in pairs if wire.name in pair)
            other = wires.wire(next(name for name in pair if name != wire.name))
            far = f"pin {other.pico_pin}  GP{other.pico_gpio}"
        else:
            far = f"pin {wire.target_pin}  BCM{wire.target_bcm}"
        parts.append(_text(TARGET_X + 12, y, far))
        parts.append(_text(PART_X, y - 11, wire.name, "middle"))
        if wire.resistor_ohm:
            parts.append(f'<rect x="{RESISTOR_X}" y="{y - 7}" width="44" height="14" class="r"/>')
            parts.append(_text(RESISTOR_X + 22, y, str(wire.resistor_ohm), "middle"))
    words = f"{' and '.join(names)} {'as jumpers' if jumpers else 'to the target'}"
    return _svg(parts, bottom + 40, f"Wires: {words}", "var(--page,#fff)")


def picture(wires: Wiring, ground: str = "var(--color-background-primary,#fff)") -> str:
    """Return the wires between Pico and target, the jumpers and the panel, as SVG.

    ``ground`` is the colour of the page, of which resistors are.
    """
    across = [wire for wire in wires.wires if wire.target_pin]
    rows = {wire.name: TOP + ROW * number for number, wire in enumerate(wires.wires, 1)}
    bottom = max(rows.values())
    parts = [
        _board(30, PICO_X - 30, bottom),
        _board(TARGET_X, 170, rows[across[-1].name]),
        f'<text x="44" y="{TITLE}" class="t">Raspberry Pi Pico</text>',
        f'<text x="{TARGET_X + 14}" y="{TITLE}" class="t">target</text>',
        *_line(TOP, PICO_X, TARGET_X),
        _text(PICO_X - 12, TOP, f"GND  pin {wires.ground.pico_pin}", "end"),
        _text(TARGET_X + 12, TOP, f"pin {wires.ground.target_pin}  GND"),
        _text((RESISTOR_X + TARGET_X) // 2, TOP - 11, "ground", "middle"),
    ]
    for wire in wires.wires:
        y = rows[wire.name]
        parts += _pin(y, f"GP{wire.pico_gpio}  pin {wire.pico_pin}")
        if wire.target_pin:
            parts += _line(y, PICO_X, TARGET_X)
            parts.append(_text(TARGET_X + 12, y, f"pin {wire.target_pin}  BCM{wire.target_bcm}"))
            arrow = "→" if wire.direction == "to target" else "←"
            parts.append(_text(PART_X, y - 11, f"{wire.name} {arrow}", "middle"))
        elif any(wire.name in {jumper.origin, jumper.to} for jumper in wires.jumpers):
            words = ", ".join(filter(None, (wire.name, resistor(wire), "for the self-test")))
            parts.append(_text(PICO_X + 110, y, words))
            continue
        else:
            parts += _line(y, PICO_X, GROUND_X, dot=False)
            parts += _panel(y, wire.name)
        if wire.resistor_ohm:
            parts.append(f'<rect x="{RESISTOR_X}" y="{y - 7}" width="44" height="14" class="r"/>')
            parts.append(_text(RESISTOR_X + 22, y, str(wire.resistor_ohm), "middle"))
    for number, jumper in enumerate(wires.jumpers):
        top, end = sorted((rows[jumper.origin], rows[jumper.to]))
        bend = PICO_X + 46 + 44 * number
        colour = JUMPERS[number % len(JUMPERS)]
        parts.append(
            f'<path d="M{PICO_X} {top} C{bend} {top + 10} {bend} {end - 10} {PICO_X} {end}" '
            f'class="j" stroke="{colour}"/>'
        )
    words = "Boxes: resistors in Ω. Dashed: where the wires' far ends go for the self-test."
    parts.append(_text(30, bottom + 44, words))
    for number, part in enumerate(wires.to_ground, 1):
        wire = wires.wire(part.wire)
        words = f"{', '.join(part.boards)} only: {part.resistor_ohm} Ω from {wire.name} to ground"
        parts.append(_text(30, bottom + 44 + 20 * number, f"{words} (pin {wire.pico_pin} to GND)."))
    below = bottom + 60 + 20 * len(wires.to_ground)
    return _svg(parts, below, "Wires between the Pico, the target and the panel", ground)


def _svg(parts: list[str], height: int, label: str, ground: str) -> str:
    style = (
        ".b{fill:none;stroke:currentColor;stroke-width:1.5}"
        ".w{stroke:currentColor;stroke-width:2}"
        f".r{{fill:{ground};stroke:currentColor;stroke-width:1.5}}"
        ".j{fill:none;stroke-width:2;stroke-dasharray:5 4}"
        "text{font:13px sans-serif;fill:currentColor}.t{font-weight:bold}"
        "circle{fill:currentColor}"
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" style="max-width:{WIDTH}px" '
        f'aria-label="{escape(label)}"><style>{style}</style>' + "".join(parts) + "</svg>"
    )


def _board(x: int, width: int, bottom: int) -> str:
    return f'<rect x="{x}" y="24" width="{width}" height="{bottom}" rx="8" class="b"/>'


def _pin(y: int, words: str) -> list[str]:
    return [_text(PICO_X - 12, y, words, "end"), f'<circle cx="{PICO_X}" cy="{y}" r="4"/>']


def _line(y: int, start: int, end: int, *, dot: bool = True) -> list[str]:
    line = f'<line x1="{start}" y1="{y}" x2="{end}" y2="{y}" class="w"/>'
    return [line, *(f'<circle cx="{x}" cy="{y}" r="4"/>' for x in (start, end) if dot)]


def _panel(y: int, name: str) -> list[str]:
    """Draw a light (or the buzzer) and the ground behind it."""
    words = f"{name} LED" if name in LIGHTS else name
    ground = [
        f'<line x1="{GROUND_X + dx}" y1="{y - h}" x2="{GROUND_X + dx}" y2="{y + h}" class="w"/>'
        for dx, h in ((0, 9), (5, 6), (10, 3))
    ]
    if name in LIGHTS:
        part = f'<circle cx="{PART_X}" cy="{y}" r="9" style="fill:{LIGHTS[name]}" class="b"/>'
    else:
        part = f'<rect x="{PART_X - 11}" y="{y - 9}" width="22" height="18" rx="3" class="r"/>'
    return [*ground, part, _text(GROUND_X + 26, y, words)]


def _text(x: int, y: int, words: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y + 4}" text-anchor="{anchor}">{escape(words)}</text>'
