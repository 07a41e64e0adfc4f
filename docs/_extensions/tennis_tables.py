"""A Sphinx extension: on a telephone a table that is too wide is a card a row, and nothing is cut.

A page's Markdown stays a plain table. Each cell gets its column's title, which ``tennis.css`` shows
where the titles' own row does not fit. Two cells a row need no titles.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

ROOM = 42  # characters side by side on a telephone of 390 pixels
EDGES = 3  # of them beside each cell's text


def is_too_wide(rows: list[list[nodes.entry]]) -> bool:
    """Tell whether the longest words of all columns do not fit beside each other."""
    widths = [
        max((len(word) for entry in column for word in entry.astext().split()), default=0)
        for column in zip(*rows, strict=True)
    ]
    return sum(widths) + EDGES * len(widths) > ROOM


def is_laid_out(node: nodes.Node) -> bool:
    """Tell whether ``tennis.css`` has a layout of its own for the list of labs."""
    while node := node.parent:
        if isinstance(node, nodes.Element) and "lab-table" in node.get("classes", ()):
            return True
    return False


def label_cells(app: Sphinx, document: nodes.document, name: str) -> None:
    """Put the columns' titles into the cells of each table that is too wide."""
    del app, name
    for table in document.findall(nodes.table):
        rows = [[*row.findall(nodes.entry)] for row in table.findall(nodes.row)]
        heads = [*table.findall(nodes.thead)]
        if is_laid_out(table) or not heads or len({*map(len, rows)}) != 1 or not is_too_wide(rows):
            continue
        table["classes"].append("cards")
        titles, *rest = rows
        for row in rest if len(titles) > 2 else ():
            for title, entry in zip(titles, row, strict=True):
                if entry.astext():
                    text = f"{title.astext()} "
                    entry[0].insert(0, nodes.inline("", text, classes=["column-title"]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Label cells when a page's tree is ready to be written."""
    app.connect("doctree-resolved", label_cells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
