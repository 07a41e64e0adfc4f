"""The reference book."""

import sys
from pathlib import Path

from tennis.kit import style

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Tennis"
author = "The Tennis authors"
copyright = author  # noqa: A001 (Sphinx wants this name)
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "tennis.course.authoring.accessibility",
    "tennis_books",
    "tennis_tables",
]
autodoc_typehints = "none"  # the docstrings say shapes and units
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
smartquotes_action = "qe"  # options keep their two dashes
exclude_patterns = ["_build"]

html_theme = "furo"
html_theme_options = style.book_theme()
html_title = "Tennis"
html_static_path = ["_static"]
html_css_files = ["tennis.css"]
html_show_sphinx = False
html_copy_source = False
