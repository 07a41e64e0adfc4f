"""An executed notebook as a page of its own, or as PDF: nothing in it is fetched from elsewhere."""

import argparse
import sys
from html import escape
from pathlib import Path
from typing import Any

from tennis.course.notebook.notebook_runner import execute, place
from tennis.kit.checkout import ROOT
from tennis.kit.errors import TennisError
from tennis.kit.style import CODE_FONT, FONT, LIGHT
from tennis.rally.disk import write_whole
from tennis.rally.text import plain

PRINTED_MAX = 500_000  # characters of all outputs: half a minute of a usual machine
STYLE = f"""
@page {{
  size: A4; margin: 18mm 16mm;
  @bottom-right {{ content: counter(page); font: 8pt sans-serif; }}
}}
html {{ font: 15px/1.5 {FONT}; color: {LIGHT["ink"]}; background: {LIGHT["page"]}; }}
body {{ max-width: 900px; margin: 2em auto; padding: 0 1em; }}
pre, code {{ font: 13px/1.45 {CODE_FONT}; white-space: pre-wrap; overflow-wrap: anywhere; }}
.jp-Cell-inputWrapper pre, .input pre {{ background: {LIGHT["panel"]}; padding: .6em .8em; }}
img, svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; break-inside: avoid; }}
th, td {{ border: 1px solid #999; padding: .2em .5em; text-align: right; }}
.anchor-link {{ display: none; }}
@media print {{
  html {{ font-size: 9pt; }} pre, code {{ font-size: 7.5pt; }}
  body {{ margin: 0; max-width: none; }}
}}
"""


def too_long(notebook: Any) -> str:
    """Say which cell shows more than can be printed in a minute; empty: none does.

    Words count, and drawings that are words (SVG); pictures of points do not.
    """
    cells = list(notebook.cells)
    sizes = [sum(map(_words, cell.get("outputs", ()))) for cell in cells]
    if sum(sizes) <= PRINTED_MAX:
        return ""
    largest = sizes.index(max(sizes))
    return (
        f"{place(cells, largest)} shows {sizes[largest] / 1e6:.1f} MB of text; of all cells "
        f"{PRINTED_MAX / 1e6:.1f} MB are printed"
    )


def _words(output: Any) -> int:
    texts = [output.get("text", ""), *output.get("traceback", ())]
    texts += [
        text
        for kind, text in output.get("data", {}).items()
        if kind.startswith("text/") or kind.endswith(("svg+xml", "json"))
    ]
    return sum(len(text) if isinstance(text, str) else len(str(text)) for text in texts)


def _page(notebook: Any, title: str) -> str:
    """Return an executed notebook as one HTML file."""
    from nbconvert import HTMLExporter  # noqa: PLC0415 (of the stage lab)

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True
    )
    body, _ = exporter.from_notebook_node(notebook)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def pdf(notebook: Any, title: str) -> bytes:
    """Return an executed notebook as PDF; addresses and files that it refers to are left out."""
    from weasyprint import HTML  # noqa: PLC0415 (of the stage lab)
    from weasyprint.urls import URLFetcher  # noqa: PLC0415

    fetcher = URLFetcher(allowed_protocols={"data"})
    content: bytes = HTML(string=_page(notebook, title), url_fetcher=fetcher).write_pdf()
    return content


def main() -> None:
    """Execute a lab's notebook and write its page; an earlier page stays if it fails."""
    parser = argparse.ArgumentParser(description="Execute a lab's notebook into a page.")
    parser.add_argument("lab", help="as 01-first-serve")
    parser.add_argument("out", type=Path, help="the HTML file")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT, help="with the rallies")
    asked = parser.parse_args()
    source = ROOT / "notebooks" / f"{asked.lab}.md"
    if not source.is_file():
        known = ", ".join(sorted(path.stem for path in source.parent.glob("*.md")))
        sys.exit(f"notebook: there is no {plain(asked.lab, 60)}; there are {known}")
    notebook, error = execute(source, asked.folder)
    if error:
        sys.exit(f"notebook: {asked.lab}: {plain(error, 400)}")
    try:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(asked.out, _page(notebook, asked.lab).encode(), force=True)
    except TennisError as trouble:
        sys.exit(f"notebook: {trouble}")
    print(f"notebook: {asked.out}")


if __name__ == "__main__":
    main()
