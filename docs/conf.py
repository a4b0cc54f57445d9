"""Sphinx configuration; ``make docs`` builds the site into docs/_build."""

import fewlabel

project = "fewlabel"
author = "The fewlabel developers"
copyright = "The fewlabel developers"
version = release = fewlabel.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "_reports"]
html_extra_path = ["_reports"]  # made by reports.py
templates_path = ["_templates"]
html_theme = "furo"
html_title = "fewlabel"
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, set_split_request"
}
autodoc_typehints = "none"  # the docstrings say more than the hints
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "ExampleTitleSortKey",
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
}
