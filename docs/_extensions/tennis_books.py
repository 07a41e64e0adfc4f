"""A Sphinx extension: a link to a page of another book leads to that book's built page.

``[the labs](../handouts/index.md)`` is right where the Markdown is read as it is, on a forge. In a
built book it becomes ``../../../handouts/_build/html/index.html``.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class OtherBook(SphinxTransform):
    """Resolve what MyST takes for a page that this book has not."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:  # noqa: ARG002 (Sphinx calls it so)
        """Change the links of one page."""
        here = Path(self.env.srcdir)
        for link in list(self.document.findall(addnodes.pending_xref)):
            target = here / f"{link['reftarget']}.md"
            if link["refdomain"] != "doc" or target.is_relative_to(here) or not target.is_file():
                continue
            book, *inside = target.relative_to(here.parent).parts
            built = Path(book, "_build", "html", *inside).with_suffix(".html").as_posix()
            up = "../" * (self.env.docname.count("/") + 3)  # book/_build/html
            to = f"#{link['reftargetid']}" if link["reftargetid"] else ""
            link.replace_self(nodes.reference("", "", *link.children, refuri=up + built + to))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the transform to Sphinx."""
    app.add_transform(OtherBook)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
