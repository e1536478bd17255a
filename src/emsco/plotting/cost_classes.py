"""Tables of features by cost, with the stages of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.plotting.canvas import Canvas, draw_canvas, lines_height, text_size, wrap_items
from emsco.plotting.figures import COLUMN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = 7.0
_MARGIN, _PAD = 0.06, 0.07
_SHORT = 12  # letters up to which a heading stays on one line
_LONGEST = COLUMN  # inches up to which a word stays on one line


@dataclass(frozen=True, slots=True)
class CostClasses:
    """Features sorted by cost.

    Attributes
    ----------
    corner : str
        Heading of the column of costs.
    lines : tuple of str
        Each cost, the cheapest first.
    columns : tuple of str
        Stages of a design, or just "features".
    cells : tuple of tuple of tuple of str
        Names of features, by line and column.
    """

    corner: str
    lines: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[tuple[str, ...], ...], ...]

    @classmethod
    def from_costs(cls, costs: FeatureCosts, design: Design | None = None) -> Self:
        """Sort features by cost and, given a design, by the stage that buys them.

        A fee stands at its own cost, in the first stage that buys a feature that shares it.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "pulse": 1, "scan": 9})
        >>> print(CostClasses.from_costs(costs, Design([0, 1, 1], costs.names)).to_markdown())
        | cost | stage 1 | stage 2 |
        |---|---|---|
        | 1 | age | pulse |
        | 9 |  | scan |
        """
        columns: dict[str, tuple[str, ...]] = {"features": costs.names}
        if design is not None:
            columns = {f"stage {j}": bought for j, bought in enumerate(design.buys, start=1)}
            if design.left_out:
                columns["never bought"] = design.left_out
        cost_of = dict(zip(costs.names, costs.costs.tolist(), strict=True))
        paid: dict[str, list[str]] = {title: [] for title in columns}
        for fee in costs.fees:
            named = f"fee for {fee.name}"
            cost_of[named] = fee.cost
            first = next(title for title in columns if {*fee.features} & {*columns[title]})
            paid[first].append(named)
        values = np.unique([*cost_of.values()]).tolist()
        cells = tuple(
            tuple(
                tuple(name for name in (*bought, *paid[title]) if cost_of[name] == value)
                for title, bought in columns.items()
            )
            for value in values
        )
        return cls("cost", tuple(f"{value:.15g}" for value in values), tuple(columns), cells)

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        head = (self.corner, *self.columns)
        body = [
            (heading, *(", ".join(names) for names in cells))
            for heading, cells in zip(self.lines, self.cells, strict=True)
        ]
        escaped = ([text.replace("|", "\\|") for text in line] for line in (head, *body))
        first, *others = (f"| {' | '.join(line)} |" for line in escaped)
        return "\n".join([first, "|---" * len(head) + "|", *others])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: features by line and column."""
        return {
            f"{self.corner} {heading}": {
                column: list(names) for column, names in zip(self.columns, cells, strict=True)
            }
            for heading, cells in zip(self.lines, self.cells, strict=True)
        }


def draw_cost_classes(record: CostClasses, width: float = COLUMN, ax: Axes | None = None) -> Figure:
    """Draw a table of features by cost, wrapping names at blanks.

    The figure gets wider than `width` if the longest words need more room.

    Parameters
    ----------
    record : CostClasses
    width : float
        Width of a new figure in inches.
    ax : Axes, optional
        Existing axes to draw into; the text shrinks until it fits.
    """
    return draw_canvas(lambda inches: _lay_out(record, inches), width, ax)


def _lay_out(record: CostClasses, width: float) -> Canvas:
    first = max(text_size(text, _SIZE, "bold")[0] for text in (record.corner, *record.lines))
    first += 2 * _PAD
    widths = _widths(record, width - 2 * _MARGIN - first)
    width = sum(widths) + 2 * _MARGIN + first
    head = [
        wrap_items(c.split(" "), w - _PAD, _SIZE, "bold", "")
        for c, w in zip(record.columns, widths, strict=True)
    ]
    body = [
        [wrap_items(names, w - _PAD, _SIZE) for names, w in zip(cells, widths, strict=True)]
        for cells in record.cells
    ]
    heights = [_height(head), *map(_height, body)]
    canvas = Canvas(width, sum(heights) + 2 * _MARGIN)
    edges = [_MARGIN + first + sum(widths[:i]) for i in range(len(widths))]
    y = _MARGIN
    for i, (heading, cells) in enumerate(
        zip((record.corner, *record.lines), (head, *body), strict=True)
    ):
        if i % 2 == 0:
            canvas.band(
                _MARGIN, y, width - 2 * _MARGIN, heights[i], facecolor="0.94" if i else "0.86"
            )
        canvas.text(_MARGIN + _PAD, y + _PAD, heading, _SIZE, weight="bold")
        for x, lines in zip(edges, cells, strict=True):
            canvas.text(x, y + _PAD, lines, _SIZE, weight="normal" if i else "bold")
        y += heights[i]
    canvas.band(_MARGIN, y, width - 2 * _MARGIN, 0.01, facecolor="0.3")
    return canvas


def _height(cells: list[list[str]]) -> float:
    return lines_height(max(1, *map(len, cells)), _SIZE) + 2 * _PAD


def _widths(record: CostClasses, room: float) -> list[float]:
    """Share the room between columns by amount of text; each gets room for its longest word."""
    columns = [
        [record.columns[i], *(name for cells in record.cells for name in cells[i])]
        for i in range(len(record.columns))
    ]
    narrowest = []
    for names in columns:
        # Every word stays on one line, and so does a short heading.
        words = [f"{word}," for name in names for word in name.split(" ")]
        words += names[:1] if len(names[0]) <= _SHORT else []
        widest = max(text_size(word, _SIZE, "bold")[0] for word in words)
        narrowest.append(_PAD + min(widest, _LONGEST))
    amounts = [sum(len(name) + 2 for name in names) for names in columns]
    spare = max(0.0, room - sum(narrowest))
    return [
        width + spare * amount / sum(amounts)
        for width, amount in zip(narrowest, amounts, strict=True)
    ]
