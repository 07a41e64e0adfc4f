# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The students' book."""

from tennis import look

project = "Tennis: the labs"
author = "The Tennis authors"
copyright = author  # noqa: A001 (Sphinx wants this name)
language = "en"

extensions = ["myst_parser", "tennis.course.accessibility", "tennis.course.sphinx"]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
smartquotes_action = "qe"  # options keep their two dashes
exclude_patterns = ["_build"]

html_theme = "furo"
html_theme_options = look.book_theme()
html_title = "Tennis: the labs"
html_static_path = ["../docs/_static"]
html_css_files = ["tennis.css"]
html_show_sphinx = False
html_copy_source = False
