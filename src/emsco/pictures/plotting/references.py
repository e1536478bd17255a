"""Draw what there is without a cascade beside the points of a front: crosses with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from emsco._base.text import shorten
from emsco._base.typing import FloatArray
from emsco.pictures.marks import ReferenceMark
from emsco.pictures.plotting.figures import DARK
from emsco.pictures.plotting.text import text_size

__all__ = ["REFERENCE_KEY", "draw_references"]

_INK, _PALE = "0.3", "0.6"
_LOOK: dict[str, Any] = {"marker": "x", "s": 24, "linewidths": 1.1, "zorder": 3.5}
REFERENCE_KEY: dict[str, Any] = {
    "marker": "x",
    "label": "no cascade",
    "color": _INK,
    "markersize": 4.5,
}
_REACH = 1.0  # an axis reaches for a reference by at most the range of the points, on either side
_LONGEST = 26
_FONT = 6.0
_NAMES: dict[str, Any] = {
    "fontsize": _FONT,
    "color": DARK,
    "zorder": 5,
    "parse_math": False,
    # A pale ground lets a name be read over points.
    "bbox": {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
}
_LINE, _BESIDE = 7.5, 5.0  # points between lines of text, and between a cross and its name
_RADIUS = 2.2  # of a mark
_DOTS = 40  # that stand for a line
_STEPS = 3  # lines that a name may move up or down, besides those that others take


class _Series(Protocol):
    """The part of `FrontSeries` that this module reads."""

    @property
    def coverage(self) -> FloatArray: ...
    @property
    def accuracy(self) -> FloatArray: ...
    @property
    def cost(self) -> FloatArray: ...
    @property
    def references(self) -> tuple[ReferenceMark, ...]: ...


def draw_references(
    panel: Any,
    series: Sequence[_Series],
    objectives: Sequence[str],
    reached: Sequence[Sequence[float]] = ((), ()),
) -> None:
    """Draw all references in a panel over two or three objectives, with names for the first series.

    In two dimensions, a reference far from all points stands at the edge, with an arrow and its
    figure, so that the points keep at least a third of each axis. `reached` has further values
    that each axis shows, as it shows the points.
    """
    if len(objectives) == 2:
        _keep_range(panel, series, objectives, reached)
    for i, one in enumerate(series):
        look = _LOOK | ({"color": _PALE, "zorder": 3.4} if i else {"color": _INK})
        for mark in one.references:
            values = [getattr(mark, name) for name in objectives]
            if len(objectives) == 3:
                panel.scatter(*([v] for v in values), depthshade=False, **look)
                continue
            at = _inside(panel, values)
            panel.scatter(*([v] for v in at), clip_on=False, **look)
    named = next((one for one in series if one.references), None)
    if named is not None:
        if len(objectives) == 3:
            _write_in_space(panel, named.references, objectives)
        else:
            _write(panel, named.references, objectives, series, reached)


def _keep_range(
    panel: Any,
    series: Sequence[_Series],
    objectives: Sequence[str],
    reached: Sequence[Sequence[float]],
) -> None:
    """Set the limits of both axes: all points, and the references that are near enough."""
    panel.margins(0.06)
    for axis, objective, more in zip("xy", objectives, reached, strict=True):
        points = np.concatenate([*(getattr(one, objective) for one in series), more])
        marks = np.array([getattr(mark, objective) for one in series for mark in one.references])
        if not len(marks):
            continue
        low, high = _range(points, marks)
        edge = 0.06 * (high - low) or 0.05 * (abs(high) or 1.0)
        getattr(panel, f"set_{axis}lim")(low - edge, high + edge)


def _range(points: FloatArray, marks: FloatArray) -> tuple[float, float]:
    """Return the range of the points, extended to the marks that are near enough."""
    low, high = float(points.min()), float(points.max())
    reach = _REACH * (high - low) if high > low else np.inf
    near = marks[(marks >= low - reach) & (marks <= high + reach)]
    return min([low, *near]), max([high, *near])


def _inside(panel: Any, values: Sequence[float]) -> list[float]:
    """Return the nearest place within the axes."""
    ends = panel.get_xlim(), panel.get_ylim()
    return [min(max(value, low), high) for value, (low, high) in zip(values, ends, strict=True)]


def _write(
    panel: Any,
    references: Sequence[ReferenceMark],
    objectives: Sequence[str],
    series: Sequence[_Series],
    reached: Sequence[Sequence[float]],
) -> None:
    """Write names beside the crosses, where they cover fewest points, none over another."""
    room = _size(panel)
    points = [[getattr(one, name) for one in (*series, *references)] for name in objectives]
    if reached[1]:  # a line up, as a row of points
        points[0].append(np.repeat(reached[0], _DOTS))
        points[1].append(np.linspace(min(reached[1]), max(reached[1]), _DOTS))
    crowd = np.column_stack(_points_of_text(panel, [np.hstack(column) for column in points]))
    taken: list[_Box] = []
    for mark in references:
        values = [getattr(mark, name) for name in objectives]
        at = _inside(panel, values)
        words = _text(mark, values, at, objectives)
        x, y = _points_of_text(panel, at)
        lines = words.split("\n")
        size = 72 * max(text_size(line, _FONT)[0] for line in lines), len(lines) * _LINE
        box = _free((x, y), size, taken, crowd, room)
        taken.append(box)
        is_left = box.left < x
        panel.annotate(
            words,
            at,
            xytext=(-_BESIDE if is_left else _BESIDE, box.middle - y),
            textcoords="offset points",
            ha="right" if is_left else "left",
            va="center",
            **_NAMES,
        )


class _Box(NamedTuple):
    """The place of a text, in points: its ends, its middle and its height."""

    left: float
    right: float
    middle: float
    height: float

    def covers(self, other: _Box) -> bool:
        """Tell whether two texts would cover each other."""
        beside = self.right < other.left or other.right < self.left
        return not beside and abs(self.middle - other.middle) < (self.height + other.height) / 2

    def n_covered(self, crowd: FloatArray) -> int:
        """Return how many points it covers."""
        x, y = crowd.T
        across = (x > self.left - _RADIUS) & (x < self.right + _RADIUS)
        return int((across & (np.abs(y - self.middle) < self.height / 2 + _RADIUS)).sum())


def _free(
    at: Sequence[float],
    size: tuple[float, float],
    taken: Sequence[_Box],
    crowd: FloatArray,
    room: tuple[float, float],
) -> _Box:
    """Return the place of a name beside a cross, in points: clear of names, and of the crowd.

    A place farther from the cross must cover the fewer points. Of equal places, the one towards
    the middle is the best.
    """
    (x, y), inwards = at, (-1, 1) if at[0] > room[0] / 2 else (1, -1)
    width, height = size
    found = []
    for k in range(len(taken) + _STEPS):
        for side in inwards:
            left = x + _BESIDE if side > 0 else x - _BESIDE - width
            ends = left, left + width
            found += [_Box(*ends, y + sign * k * _LINE, height) for sign in (1, -1)]
    free = [
        box
        for box in found
        if box.left >= 0
        and box.right <= room[0]
        and height / 2 <= box.middle <= room[1]  # an axis would strike it through
        and not any(map(box.covers, taken))
    ]

    def spoilt(box: _Box) -> float:
        return box.n_covered(crowd) + ((box.middle - y) / _LINE) ** 2 / 2

    return min(free, key=spoilt) if free else found[0]


def _size(panel: Any) -> tuple[float, float]:
    """Return the width and height of a panel in points, before its layout is final."""
    box, (width, height) = panel.get_position(), panel.figure.bbox.size
    scale = 72 / panel.figure.dpi
    return box.width * width * scale, box.height * height * scale


def _points_of_text(panel: Any, at: Sequence[Any]) -> list[Any]:
    """Return a place of the panel, or several, in points from its lower left corner."""
    ends = panel.get_xlim(), panel.get_ylim()
    return [
        (value - low) / (high - low) * length
        for value, (low, high), length in zip(at, ends, _size(panel), strict=True)
    ]


def _text(
    mark: ReferenceMark,
    values: Sequence[float],
    drawn: Sequence[float],
    objectives: Sequence[str],
) -> str:
    """Return the name of a reference; an arrow and a figure tell that it is farther out."""
    words = [shorten(mark.title, _LONGEST).replace(", ", ",\n")]
    arrows = (("←", "→"), ("↓", "↑"))
    for value, place, (less, more), name in zip(values, drawn, arrows, objectives, strict=True):
        if value != place:
            figure = f"{value:.4g}" if name == "cost" else f"{value:.1%}"
            words.append(f"{less if value < place else more} {figure}")
    return " ".join(words)


def _write_in_space(
    panel: Any, references: Sequence[ReferenceMark], objectives: Sequence[str]
) -> None:
    for i, mark in enumerate(references):  # two may stand close to each other
        place = [getattr(mark, name) for name in objectives]
        look = {**_NAMES, "va": "bottom" if i % 2 else "top"}
        panel.text(*place, f" {shorten(mark.title, _LONGEST)}", **look)
