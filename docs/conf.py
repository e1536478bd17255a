"""How Sphinx builds the documentation site; `python tools/site.py` runs it."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))  # gallery_figures.py and commands_page.py lie here

import commands_page  # noqa: E402 - found only now

project = "emsco"
author = "The emsco developers"
copyright = author  # noqa: A001 - the name that Sphinx reads
release = version = version_of("emsco")

gc.set_threshold(100_000, 50, 50)  # pages live to the end of the build: a sixth less time

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["gallery/**/*.md5", "gallery/**/*.py", "gallery/**/*.ipynb"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore = [("py:class", "emsco.scoring.scores.Counts")]  # emsco.scoring.Counts is this class

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # 1 / 3, not 0.3333333333333333
default_role = "code"  # docstrings write names between single backticks
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_class_members_toctree = False

# The examples save pictures where they run. Run a copy, so that they save nothing in examples/.
_copy = ROOT / "build" / "examples"
shutil.rmtree(_copy, ignore_errors=True)
shutil.copytree(ROOT / "examples", _copy, ignore=shutil.ignore_patterns("*.md", "__pycache__"))

(ROOT / "docs" / "commands.md").write_text(commands_page.page(), encoding="utf-8")

# Without the paper's data sets, the scripts of the paper are shown and not run.
_run = (
    r"[\\/]\w+\.py$" if "EMSCO_DATA" in os.environ else r"[\\/](quickstart|in_depth)[\\/]\w+\.py$"
)
sphinx_gallery_conf = {
    "examples_dirs": "../build/examples",
    "gallery_dirs": "gallery",
    "filename_pattern": _run,
    "image_scrapers": ("gallery_figures",),
    "subsection_order": [f"../build/examples/{t}" for t in ("quickstart", "in_depth", "paper")],
    "within_subsection_order": "gallery_figures.ListedOrder",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "notebook_extensions": set(),
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "emsco"
html_static_path = ["_static"]
html_css_files = ["emsco.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # summaries are fetched, and a page opened from disk cannot fetch
_alone = (
    "index",
    "start",
    "choose",
    "sign",
    "run",
    "words",
    "which_tool",
    "findings",
    "report",
    "commands",
    "changelog",
)
html_sidebars = {page: [] for page in _alone}
html_theme_options = {
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 10,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def escape_bars(*event: Any) -> None:
    """Write |G| as text: docstrings mean a size, and reStructuredText would look for a variable."""
    lines = event[-1]
    lines[:] = [re.sub(r"(?<![`\\])\|(\w)\|", r"\\|\1\\|", line) for line in lines]


def skip_borrowed(*event: Any) -> bool:
    """Leave out what scikit-learn or Python itself documents, such as `set_params`."""
    _, _, _, member, skip, _ = event
    home = getattr(getattr(member, "fget", member), "__module__", None) or "emsco"
    return bool(skip) or not home.startswith("emsco")


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("autodoc-skip-member", skip_borrowed)
    app.connect("autodoc-process-docstring", escape_bars)
