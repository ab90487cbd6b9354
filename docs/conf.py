"""How Sphinx builds these pages: `sphinx-build -W docs docs/_build/html`, without network access."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import holokern

project = "holokern"
author = "The holokern developers"
project_copyright = "the holokern developers, BSD-3-Clause"
version = release = holokern.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "bibliography",
    "outlines",
    "plain_docstrings",
]
exclude_patterns = ["_build", "gallery", "pictures", "auto_gallery/*.md5", "auto_gallery/*.json"]
default_role = "code"
nitpicky = False

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
html_math_renderer = "outlines"

html_theme = "furo"
html_title = f"holokern {version}"
html_static_path = ["_static"]
html_css_files = ["holokern.css"]
html_show_sourcelink = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": r"/plot_",
    # files without the prefix are shown and not run: they take minutes
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "gallery_order.RunFirst",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    # its table of times would ask other hosts for scripts
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
}
# ref.python: several classes have a rank, and a docstring that says (rank,) means none of them in particular
suppress_warnings = ["config.cache", "ref.python"]
