"""How the gallery finds the pictures of an example, and in which order examples stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
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
        figure.savefig(path, dpi=200)
        paths.append(path)
    return str(figure_rst(paths, gallery_conf["src_dir"]))


class ListedOrder:
    """Examples stand in the order of examples/README.md."""

    def __init__(self, _: str) -> None:
        """Read the list; sphinx-gallery passes the folder it sorts."""
        root = Path(__file__).resolve().parent.parent
        self._listed = (root / "examples" / "README.md").read_text(encoding="utf-8")

    def __call__(self, filename: str) -> int:
        """Where the list has this file."""
        return self._listed.index(f"/{filename})")
