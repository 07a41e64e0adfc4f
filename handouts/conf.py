"""The students' book."""

import sys
from pathlib import Path

from tennis import __version__
from tennis.kit import style

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "_extensions"))

project = "Tennis: the labs"
author = "The Tennis authors"
copyright = author  # noqa: A001 (Sphinx wants this name)
release = __version__
language = "en"

extensions = [
    "myst_parser",
    "tennis.course.authoring.accessibility",
    "tennis.course.authoring.sphinx",
    "tennis_books",
    "tennis_wiring",
]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
smartquotes_action = "qe"  # options keep their two dashes
exclude_patterns = ["_build"]

# the book as one page is printed: make docs
printed = tags.has("print")  # type: ignore[name-defined]  # noqa: F821 (Sphinx brings it)
html_theme = "basic" if printed else "furo"
if printed:
    pygments_style = "friendly"  # that theme colours no code
else:
    extensions.append("tennis_tables")
html_theme_options = {} if printed else style.book_theme()
html_title = "Tennis: the labs"
html_static_path = ["../docs/_static"]
html_css_files = ["print.css" if printed else "tennis.css"]
html_show_sphinx = False
html_copy_source = False
