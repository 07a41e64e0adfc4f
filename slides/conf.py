"""The slides: a page is a deck, a part of it is a slide."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "_extensions"))
tags.add("slides")  # type: ignore[name-defined]  # noqa: F821 (Sphinx brings it)
tags.add("print")  # type: ignore[name-defined]  # noqa: F821 (pictures without variables)

project = "Tennis: slides"
author = "The Tennis authors"
copyright = author  # noqa: A001 (Sphinx wants this name)
language = "en"

extensions = ["myst_parser", "tennis.course.authoring.sphinx", "tennis_sessions", "tennis_wiring"]
myst_enable_extensions = ["colon_fence", "deflist"]
nitpicky = True
smartquotes_action = "qe"  # options keep their two dashes
exclude_patterns = ["_build"]

html_theme = "basic"
html_theme_options = {"nosidebar": True}
html_title = "Tennis: slides"
html_static_path = ["../docs/_static"]
html_css_files = ["slides.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_use_index = False
