"""How the gallery finds the pictures of an example."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


class FigureScraper:
    """Shows every figure that a block of an example leaves in a variable.

    `front.plot()` returns a figure that pyplot does not know, so the gallery's own search for open
    figures would find none.
    """

    def __init__(self) -> None:
        self._shown: WeakSet[Figure] = WeakSet()

    def __call__(self, _: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
        """Save the new figures of this block, and return the lines that show them."""
        values = list(block_vars["example_globals"].values())
        new = [v for v in values if isinstance(v, Figure) and v not in self._shown]
        paths = []
        for figure, path in zip(new, block_vars["image_path_iterator"], strict=False):
            self._shown.add(figure)
            figure.savefig(path, dpi=110)
            paths.append(path)
        return str(figure_rst(paths, gallery_conf["src_dir"]))
