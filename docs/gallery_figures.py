"""How the gallery finds the pictures of an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_shown: WeakSet[Figure] = WeakSet()


def _get_sg_image_scraper() -> Callable[..., str]:
    """Return the function below; sphinx-gallery asks by this name."""
    return show_figures


def show_figures(_: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save every new figure that a block leaves in a variable; return the lines that show them.

    `front.plot()` returns a figure that pyplot does not know, so the gallery's own search for open
    figures would find none.
    """
    values = list(block_vars["example_globals"].values())
    new = [value for value in values if isinstance(value, Figure) and value not in _shown]
    paths = []
    for figure, path in zip(new, block_vars["image_path_iterator"], strict=False):
        _shown.add(figure)
        figure.savefig(path, dpi=110)
        paths.append(path)
    return str(figure_rst(paths, gallery_conf["src_dir"]))
