# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Directives that write into a book what code or data say.

A page is also read without its book: in an editor, or on a forge, which shows a directive as a box.
The lines inside it are for those readers. They say what the book has there, and where that comes
from; the book leaves them out. ``tests/test_forge.py`` finds boxes without such a line.
"""

from sphinx.util.docutils import SphinxDirective


class GeneratedDirective(SphinxDirective):
    """A directive whose own content the book leaves out."""

    has_content = True
