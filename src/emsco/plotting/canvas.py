"""A sheet to draw diagrams on: inches from the upper left corner, text as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from emsco.plotting.figures import DARK, LINE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Canvas"]

_SOLID: dict[str, Any] = {"facecolor": "white", "edgecolor": DARK, "linewidth": 0.8, "zorder": 3}
_FLAT: dict[str, Any] = {"facecolor": "0.8", "edgecolor": "none", "linewidth": 0, "zorder": 1}


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """A figure whose only axes cover it all."""

    figure: Figure
    axes: Any

    @classmethod
    def of(cls, width: float, height: float) -> Self:
        """An empty sheet."""
        figure = new_figure(width, height)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        return cls(figure, axes)

    def text(
        self, x: float, y: float, lines: str | Sequence[str], size: float, **look: Any
    ) -> None:
        """Lines of text; never read as mathematics, whatever signs a name has."""
        text = lines if isinstance(lines, str) else "\n".join(lines)
        look = {"va": "top", "color": DARK, "linespacing": LINE} | look
        self.axes.text(x, y, text, fontsize=size, parse_math=False, zorder=5, **look)

    def box(self, x: float, y: float, width: float, height: float, **look: Any) -> None:
        """A rectangle with round corners."""
        from matplotlib.patches import FancyBboxPatch

        look = _SOLID | look
        style = "round,pad=0,rounding_size=0.06"
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))

    def band(self, x: float, y: float, width: float, height: float, **look: Any) -> None:
        """A plain rectangle, such as a flow of rows."""
        from matplotlib.patches import Rectangle

        look = _FLAT | look
        self.axes.add_patch(Rectangle((x, y), width, height, **look))

    def shape(self, corners: Sequence[tuple[float, float]], **look: Any) -> None:
        """Any polygon."""
        from matplotlib.patches import Polygon

        look = _SOLID | look
        self.axes.add_patch(Polygon(corners, closed=True, **look))

    def diamond(self, x: float, y: float, width: float, height: float, word: str) -> None:
        """A question, around its middle."""
        across, up = width / 2, height / 2
        corners = [(x - across, y), (x, y - up), (x + across, y), (x, y + up)]
        self.shape(corners, facecolor="#fff3c4")
        self.text(x, y, word, 6.5, va="center", ha="center")

    def arrow(self, x: float, y: float, right: float, down: float, **look: Any) -> None:
        """A small tip at a place, towards the right or downwards."""
        back, wing = 0.075, 0.05
        foot = (x - back * right, y - back * down)
        sides = [(foot[0] + s * wing * down, foot[1] + s * wing * right) for s in (-1, 1)]
        self.shape([*sides, (x, y)], **({"facecolor": "0.35", "edgecolor": "none"} | look))
