"""A Sphinx extension: on a telephone a table of verdicts is a card a row, and nothing is cut.

A page's Markdown stays a plain table. Each cell gets its column's title, which ``tennis.css`` shows
where the titles' own row does not fit.
"""

from typing import Any, get_args

from docutils import nodes
from sphinx.application import Sphinx

from tennis.replicate.verdicts import Verdict

VERDICTS = frozenset(get_args(Verdict))


def is_verdict_table(table: nodes.table) -> bool:
    """Tell whether a cell begins with a verdict in bold."""
    return any(
        strong.astext() in VERDICTS and entry.astext().startswith(strong.astext())
        for entry in table.findall(nodes.entry)
        for strong in entry.findall(nodes.strong)
    )


def label_cells(app: Sphinx, document: nodes.document, name: str) -> None:
    """Put the columns' titles into the cells of each table of verdicts."""
    del app, name
    for table in document.findall(nodes.table):
        if not is_verdict_table(table):
            continue
        table["classes"].append("verdict-cards")
        titles = [entry.astext() for entry in next(table.findall(nodes.thead)).findall(nodes.entry)]
        for row in next(table.findall(nodes.tbody)).findall(nodes.row):
            for title, entry in zip(titles, row.findall(nodes.entry), strict=True):
                if entry.children:
                    entry[0].insert(0, nodes.inline("", f"{title} ", classes=["column-title"]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Label cells when a page's tree is ready to be written."""
    app.connect("doctree-resolved", label_cells)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
