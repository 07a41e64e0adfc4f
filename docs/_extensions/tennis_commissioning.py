# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A Sphinx extension: the steps of ``tennis commission``, and what came back of it.

- ``{commissioning} steps`` is the check-list: each step, and what its failures mean.
- ``{commissioning} symptoms`` is the table for a bench that fails in the lesson.
- ``{commissioning} boards`` is a table of the records beside the page.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tennis.course.authoring.sphinx import GeneratedDirective
from tennis.kit.errors import TennisError
from tennis.kit.wiring import SOURCE
from tennis.play.commissioning import steps, tables


class Commissioning(GeneratedDirective):
    """``{commissioning} steps``, ``symptoms`` or ``boards``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the text, or the error."""
        for source in (SOURCE, steps.__file__, tables.__file__):
            self.env.note_dependency(str(source))
        what = self.arguments[0]
        try:
            if what == "boards":
                folder = Path(self.env.doc2path(self.env.docname)).parent
                return self.parse_text_to_nodes(tables.boards(tables.records_in(folder)))
            makers = {"steps": tables.check_list, "symptoms": tables.symptoms}
            return self.parse_text_to_nodes(makers[what]())
        except (TennisError, KeyError) as error:
            return [self.state.document.reporter.error(str(error), line=self.lineno)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive to Sphinx."""
    app.add_directive("commissioning", Commissioning)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
