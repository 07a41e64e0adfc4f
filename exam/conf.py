"""The exam set: for those who teach, and in no students' tree."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Tennis: exam"
author = "The Tennis authors"
copyright = author  # noqa: A001 (Sphinx wants this name)
language = "en"

extensions = ["myst_parser", "exam_pages"]
nitpicky = True
smartquotes_action = "qe"
exclude_patterns = ["_build"]

html_theme = "basic"
html_theme_options = {"nosidebar": True}
html_title = "Tennis: exam"
html_static_path = ["../docs/_static"]
html_css_files = ["print.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_use_index = False
