"""Sphinx configuration; ``make docs`` builds the site into docs/_build."""

import contextlib
import io
import os
import sys
from pathlib import Path

import typer.main

import fewlabel
from fewlabel.cli.main import app as command_line
from fewlabel.cli.main import run

sys.path.insert(0, str(Path(__file__).parent))
import site_links

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
exclude_patterns = ["_build", "_reports", "sg_execution_times.rst", "gallery/backreferences"]
html_extra_path = ["_reports"]  # made by reports.py
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"fewlabel {release}"
html_static_path = ["_static"]
html_js_files = ["access.js"]
html_css_files = ["site.css"]
# The versions on the site, the newest first; "latest" is the main branch. A release adds its line.
html_context = {
    "versions": [(f"{release} (development)", "latest")],
    "this_version": os.environ.get("READTHEDOCS_VERSION", "latest"),
    "docs_url": "https://fewlabel.readthedocs.io/en",
}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "source_repository": "https://github.com/fewlabel/fewlabel/",
    "source_branch": "main",
    "source_directory": "docs/",
    "footer_icons": [{"name": "GitHub", "url": "https://github.com/fewlabel/fewlabel", "html": "GitHub", "class": ""}],
}
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autosummary_context = {"guide": site_links.guide_of()}
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, set_split_request"
}
autodoc_typehints = "none"  # the docstrings say more than the hints
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fewlabel",),
    "inspect_global_variables": True,
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "parallel": os.cpu_count() or 1,
}


def write_commands(app):
    """Write the page of the commands: what ``--help`` prints for each."""
    os.environ["COLUMNS"] = "90"
    lines = ["# Command line", "", "What each command prints with `--help`.", ""]
    for name in typer.main.get_command(command_line).commands:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run([name, "--help"])
        lines += [f"## fewlabel {name}", "", "```text", printed.getvalue().strip(), "```", ""]
    Path(app.srcdir, "cli.md").write_text("\n".join(lines), "utf-8")


def setup(app):
    """Make the pages that come from the code."""
    app.connect("builder-inited", write_commands)
    app.connect("doctree-read", site_links.link_names)
