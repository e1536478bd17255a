"""A canvas for diagrams, measured in inches from its upper left corner."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from emsco.plotting.figures import (
    DARK,
    NARROWEST,
    check_axes,
    check_matplotlib,
    check_width,
    figure_of,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 1.18  # height of a line of text, as a multiple of its size
_FINE = 1200.0  # dpi at which rounding to pixels hardly changes the width of a letter
_COARSE = 72.0  # dpi of the coarsest picture in which text must fit
_SAFE = 1.02
_SOLID: dict[str, Any] = {"facecolor": "white", "edgecolor": DARK, "linewidth": 0.8, "zorder": 3}
_FLAT: dict[str, Any] = {"facecolor": "0.8", "edgecolor": "none", "linewidth": 0, "zorder": 1}
_SHRINK = 0.95  # scale of each attempt to fit a diagram, relative to the attempt before
_TINIEST = 0.05
_PAGE = 9.6  # inches of the height of a page
_READABLE = 0.6  # smallest scale of a new figure: text of 7 points becomes 4.2


def text_size(text: str, size: float, weight: str = "normal") -> tuple[float, float]:
    """Width and height of text in inches, enough for pictures of 72 dpi or more.

    Drawing rounds the width of each letter to whole pixels, so text gets wider at some
    resolutions. The result leaves room for half a pixel per letter.
    """
    lines = text.split("\n")
    width = max(_line_width(line, size, weight) for line in lines)
    return width, lines_height(len(lines), size)


def lines_height(n_lines: int, size: float) -> float:
    """Height of lines of text in inches."""
    return n_lines * LINE * size / 72


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
    given = list(items)
    for i, item in enumerate(given):
        if i + 1 < len(given):
            item += between.rstrip()
        together = f"{line} {item}" if line else item
        if text_size(together, size, weight)[0] <= width:
            line = together
            continue
        if line:
            lines.append(line)
        *full, line = _broken(item, width, size, weight)
        lines += full
    return [*lines, line] if line else lines


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


Mark: TypeAlias = Callable[[Any, float], None]  # (axes, scale)


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """Shapes and text to draw, in order, on a sheet of `width` by `height` inches."""

    width: float
    height: float
    marks: list[Mark] = field(default_factory=list)

    def text(
        self, x: float, y: float, lines: str | Sequence[str], size: float, **look: Any
    ) -> None:
        """Add lines of text; a "$" in a name does not start a formula."""
        text = lines if isinstance(lines, str) else "\n".join(lines)
        look = {"va": "top", "color": DARK, "linespacing": LINE, "parse_math": False} | look
        self.marks.append(
            lambda axes, scale: axes.text(x, y, text, fontsize=scale * size, zorder=5, **look)
        )

    def box(self, x: float, y: float, width: float, height: float, **look: Any) -> None:
        """Add a rectangle with round corners."""
        from matplotlib.patches import FancyBboxPatch

        style = "round,pad=0,rounding_size=0.06"
        self._patch(FancyBboxPatch, (x, y), width, height, boxstyle=style, **(_SOLID | look))

    def band(self, x: float, y: float, width: float, height: float, **look: Any) -> None:
        """Add a plain rectangle, such as a flow of rows."""
        from matplotlib.patches import Rectangle

        self._patch(Rectangle, (x, y), width, height, **(_FLAT | look))

    def shape(self, corners: Sequence[tuple[float, float]], **look: Any) -> None:
        """Add a polygon."""
        from matplotlib.patches import Polygon

        self._patch(Polygon, corners, closed=True, **(_SOLID | look))

    def ribbon(
        self, start: tuple[float, float], end: tuple[float, float], thick: float, **look: Any
    ) -> None:
        """Add a band of this thickness that bends from one place to another on its right."""
        (x, y), (x_end, y_end) = start, end
        wide, high = x_end - x, y_end - y
        above, below = [], []
        for t in (i / 24 for i in range(25)):
            middle = (x + wide * t, y + high * t * t * (3 - 2 * t))
            # Half the thickness to both sides, at right angles to the way of the band.
            slope = high * 6 * t * (1 - t)
            half = thick / 2 / math.hypot(wide, slope)
            above.append((middle[0] + slope * half, middle[1] - wide * half))
            below.append((middle[0] - slope * half, middle[1] + wide * half))
        self.shape([*above, *reversed(below)], **(_FLAT | look))

    def diamond(self, x: float, y: float, width: float, height: float, word: str) -> None:
        """Add a diamond with a word in it, centred at (x, y)."""
        across, up = width / 2, height / 2
        corners = [(x - across, y), (x, y - up), (x + across, y), (x, y + up)]
        self.shape(corners, facecolor="#fff3c4")
        self.text(x, y, word, 6.5, va="center", ha="center")

    def arrow(self, x: float, y: float, right: float, down: float) -> None:
        """Add the tip of an arrow that points to the right or downwards."""
        back, wing = 0.075, 0.05
        foot = (x - back * right, y - back * down)
        sides = [(foot[0] + s * wing * down, foot[1] + s * wing * right) for s in (-1, 1)]
        self.shape([*sides, (x, y)], facecolor="0.35", edgecolor="none")

    def draw(self, axes: Any, width: float, height: float, scale: float) -> None:
        """Draw everything on axes of `width` by `height`, in units of the canvas.

        Sizes of text and lines are multiplied by `scale`.
        """
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        for mark in self.marks:
            mark(axes, scale)

    def _patch(self, kind: Any, *place: Any, linewidth: float, **look: Any) -> None:
        self.marks.append(
            lambda axes, scale: axes.add_patch(kind(*place, linewidth=scale * linewidth, **look))
        )


def draw_canvas(
    lay_out: Callable[[float], Canvas],
    width: float,
    ax: Axes | None = None,
    page: float = _PAGE,
    largest: float = 1.0,
) -> Figure:
    """Draw the canvas that `lay_out` returns for a width, as a new figure or into axes.

    A new figure is as high as the canvas. A canvas that is too high for a page or for the axes is
    laid out wider and drawn smaller. `page` is the height of a page in inches, `largest` the scale
    of a new figure that has room.
    """
    check_matplotlib()
    if ax is not None:
        panel = check_axes(ax)
        figure = figure_of(panel)
        panel.set_axis_off()
        whole: Any = figure.canvas.figure  # `figure` may be a subfigure
        if whole.get_layout_engine() is not None:
            whole.draw_without_rendering()  # the layout engine places axes only when it draws
        size = panel.get_window_extent()
        width, height = size.width / figure.dpi, size.height / figure.dpi
        scale = min(1.0, width / NARROWEST)
        canvas = lay_out(width / scale)
        while scale > _TINIEST and (
            scale * canvas.height > height or scale * canvas.width > width * 1.001
        ):
            scale *= _SHRINK
            canvas = lay_out(width / scale)
        canvas.draw(panel, width / scale, height / scale, scale)
        return figure
    canvas, scale = lay_out(check_width(width) / largest), largest
    while (
        scale * canvas.height > page or scale * canvas.width > width * 1.001
    ) and scale * _SHRINK >= _READABLE:
        scale *= _SHRINK
        canvas = lay_out(width / scale)
    figure = new_figure(scale * canvas.width, scale * canvas.height, layout=None)
    canvas.draw(figure.add_axes((0, 0, 1, 1)), canvas.width, canvas.height, scale)
    return figure
