"""Measure and wrap text, so that it fits its box at any resolution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from emsco.pictures.plotting.figures import check_matplotlib

__all__ = ["LINE", "text_size", "wrap_items"]

LINE = 1.18  # height of a line of text, as a multiple of its size
_FINE = 1200.0  # dpi at which rounding to pixels hardly changes the width of a letter
_COARSE = 72.0  # dpi of the coarsest picture in which text must fit
_SAFE = 1.02


def text_size(text: str, size: float, weight: str = "normal") -> tuple[float, float]:
    """Width and height of text in inches, enough for pictures of 72 dpi or more.

    Drawing rounds the width of each letter to whole pixels, so text gets wider at some
    resolutions. The result leaves room for half a pixel per letter.
    """
    lines = text.split("\n")
    width = max(_line_width(line, size, weight) for line in lines)
    return width, len(lines) * LINE * size / 72


@lru_cache(maxsize=4096)
def _line_width(line: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties

    font = FontProperties(size=size, weight=weight)
    pixels, _, _ = _renderer().get_text_width_height_descent(line, font, ismath=False)
    return float(_SAFE * (pixels / _FINE + 0.5 * len(line) / _COARSE))


@lru_cache(maxsize=1)
def _renderer() -> Any:
    check_matplotlib()
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, _FINE)


def wrap_items(
    items: Iterable[str], width: float, size: float, weight: str = "normal", between: str = ", "
) -> list[str]:
    """Put items side by side on lines of at most `width` inches.

    An item wider than a line continues on the next line; nothing is left out.
    """
    lines: list[str] = []
    line = ""
    for item in _ended(list(items), between.rstrip()):
        together = f"{line} {item}" if line else item
        if text_size(together, size, weight)[0] <= width:
            line = together
            continue
        if line:
            lines.append(line)
        *full, line = _broken(item, width, size, weight)
        lines += full
    return [*lines, line] if line else lines


def _ended(items: Sequence[str], mark: str) -> list[str]:
    return [f"{item}{mark}" for item in items[:-1]] + list(items[-1:])


def _broken(item: str, width: float, size: float, weight: str) -> list[str]:
    """Break an item into lines: at a blank, else after a mark such as "_", else anywhere."""
    lines = []
    while item and text_size(item, size, weight)[0] > width:
        fits = 1
        while fits < len(item) and text_size(item[: fits + 1], size, weight)[0] <= width:
            fits += 1
        blank = item.rfind(" ", 1, fits + 1)  # a blank just after the last fitting letter counts
        marks = [i + 1 for i, letter in enumerate(item[:fits]) if letter in "_-/.,"]
        end = blank if blank > 0 else marks[-1] if marks and marks[-1] > fits // 3 else fits
        lines.append(item[:end].rstrip())
        item = item[end:].lstrip()
    return [*lines, item] if item else lines
