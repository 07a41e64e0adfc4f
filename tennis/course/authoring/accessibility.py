"""A Sphinx extension: both books become usable with a keyboard and a screen reader.

Wide blocks of text scroll, so that a keyboard must reach them; captions of the navigation are
marked as headings, and need a level. Names in the text may break behind an underscore.
"""

import re
from typing import TYPE_CHECKING, Any

from sphinx.util.typing import ExtensionMetadata

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

_AFTER_THE_THEME = 900
_NAME = re.compile(r'<span class="pre">[^<]*_[^<]*</span>')  # code within a sentence


def _mend(
    app: "Sphinx",  # noqa: ARG001
    pagename: str,  # noqa: ARG001
    templatename: str,  # noqa: ARG001
    context: dict[str, Any],
    doctree: "nodes.document | None",  # noqa: ARG001
) -> None:
    for key, was, becomes in (
        ("body", "<pre>", '<pre tabindex="0">'),
        ("body", '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
        ("furo_navigation_tree", 'role="heading"', 'role="heading" aria-level="2"'),
    ):
        if key in context:
            context[key] = context[key].replace(was, becomes)
    if "body" in context:
        context["body"] = _NAME.sub(lambda name: name[0].replace("_", "_<wbr>"), context["body"])


def setup(app: "Sphinx") -> ExtensionMetadata:
    """Register the extension with Sphinx."""
    app.connect("html-page-context", _mend, priority=_AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
