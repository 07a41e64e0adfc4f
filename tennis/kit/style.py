"""The style of Tennis: the colours and fonts of all pictures, pages and books.

The colours of data are Okabe and Ito's, which everybody can distinguish, also in print. A colour
means one thing: a kernel, or a latency.
"""

from typing import Any

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222"),
)
KERNELS = {"mainline": VERMILLION, "rt": BLUE}
OTHER_KERNELS = (GREEN, PURPLE, SKY, BLACK)
LATENCIES = {"interrupt": "#3d4a5c", "scheduling": ORANGE}

# colours around the data, on paper and on a light screen, and on a dark one
LIGHT = {
    "ink": "#1d232b",
    "soft": "#5b6470",
    "line": "#d9dee4",
    "page": "#fff",
    "panel": "#f5f7f9",
    "accent": BLUE,
    "warn-ink": "#7a2e00",
    "warn": "#fff1e8",
    "warn-line": VERMILLION,
}
DARK = {
    "ink": "#e4e8ed",
    "soft": "#a3adb9",
    "line": "#363d47",
    "page": "#14181d",
    "panel": "#1d232a",
    "accent": "#6cb8e8",
    "warn-ink": "#ffd9c2",
    "warn": "#3a2317",
    "warn-line": VERMILLION,
}
GREY = LIGHT["soft"]
AXIS = "#8a929c"
GRID = "#e3e6ea"

PICTURE_FONT = "DejaVu Sans"
FONT = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif'
CODE_FONT = 'ui-monospace, "DejaVu Sans Mono", monospace'


def book_theme() -> dict[str, Any]:
    """Return the options of Sphinx' theme furo."""

    def variables(colours: dict[str, str]) -> dict[str, str]:
        return {
            "color-foreground-primary": colours["ink"],
            "color-foreground-secondary": colours["soft"],
            "color-foreground-muted": colours["soft"],
            "color-background-primary": colours["page"],
            "color-background-secondary": colours["panel"],
            "color-brand-primary": colours["accent"],
            "color-brand-content": colours["accent"],
            "font-stack": FONT,
            "font-stack--monospace": CODE_FONT,
        }

    return {"light_css_variables": variables(LIGHT), "dark_css_variables": variables(DARK)}
