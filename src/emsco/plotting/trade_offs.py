"""Draw a front: cost against accuracy, in three dimensions, or by pairs of objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_choice, refused
from emsco._base.objectives import Expected, metric_brief, metric_name
from emsco._base.text import counted, shorten
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.errors import Parameter, ParameterError
from emsco.plotting.canvas import text_size
from emsco.plotting.figures import (
    COLOURS,
    COLUMN,
    DARK,
    MARKERS,
    add_scale,
    check_axes,
    check_width,
    figure_of,
    new_figure,
    soften,
)
from emsco.plotting.marks import ReferenceMark, check_currency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "black"
_LOOK: dict[str, Any] = {
    "marker": "D",
    "markerfacecolor": "white",
    "markeredgecolor": _INK,
    "markeredgewidth": 0.9,
    "markersize": 4,
}
EXPECTED_KEY: dict[str, Any] = _LOOK | {"label": "expected"}
_LINE: dict[str, Any] = {"color": _INK, "linewidth": 0.6, "zorder": 2.9}  # behind the points
_INTERVAL: dict[str, Any] = {
    "color": _INK,
    "linewidth": 0.7,
    "zorder": 4.1,
    "marker": "_",
    "markersize": 4,
}


def draw_expected(
    panel: Any, scored: Sequence[float], expected: Expected, objectives: Sequence[str]
) -> None:
    """Draw expected figures over two or three objectives, and a line from the scored ones.

    The 95 % interval is that of the vertical objective, the last.
    """
    *ground, up = (getattr(expected, name) for name in objectives)
    places = [one.value for one in ground]
    ends = [*((one, one) for one in places), (up.low, up.high)]
    panel.plot(*zip(scored, [*places, up.value], strict=True), **_LINE)
    panel.plot(*ends, **_INTERVAL)
    panel.plot(*([one] for one in (*places, up.value)), **_LOOK, linestyle="none", zorder=4.2)


def reach_of(expected: Expected | None, objectives: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the values that each axis must reach for `draw_expected`, in order."""
    if expected is None:
        return [()] * len(objectives)
    *ground, up = (getattr(expected, name) for name in objectives)
    return [*((one.value,) for one in ground), (up.low, up.high)]


_INK_of_references, _PALE = "0.3", "0.6"
_LOOK_of_references: dict[str, Any] = {"marker": "x", "s": 24, "linewidths": 1.1, "zorder": 3.5}
REFERENCE_KEY: dict[str, Any] = {
    "marker": "x",
    "label": "no cascade",
    "color": _INK_of_references,
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
_LINE_of_references, _BESIDE = (
    7.5,
    5.0,
)  # points between lines of text, and between a cross and its name
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
        look = _LOOK_of_references | (
            {"color": _PALE, "zorder": 3.4} if i else {"color": _INK_of_references}
        )
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
        size = (
            72 * max(text_size(line, _FONT)[0] for line in lines),
            len(lines) * _LINE_of_references,
        )
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
            found += [_Box(*ends, y + sign * k * _LINE_of_references, height) for sign in (1, -1)]
    free = [
        box
        for box in found
        if box.left >= 0
        and box.right <= room[0]
        and height / 2 <= box.middle <= room[1]  # an axis would strike it through
        and not any(map(box.covers, taken))
    ]

    def spoilt(box: _Box) -> float:
        return box.n_covered(crowd) + ((box.middle - y) / _LINE_of_references) ** 2 / 2

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


_PAIRS = (("cost", "accuracy"), ("cost", "coverage"), ("coverage", "accuracy"))
_AXES = {
    "cost": "mean cost of a row",
    "accuracy": "accuracy of the labels given",
    "coverage": "coverage",
}
_UNINFORMATIVE = "0.62"  # edge of a point whose labels are no better than the commonest class
_SIDE_BY_SIDE = 6.0  # width in inches from which three panels stand side by side
_LEAST = 2.0  # least height of a panel in inches
_MANY = 600  # points above which markers are small
_LEGEND: dict[str, Any] = {
    "fontsize": 7,
    "title_fontsize": 7,
    "handletextpad": 0.3,
    "columnspacing": 1.2,
}


@dataclass(frozen=True, slots=True, eq=False)
class FrontSeries:
    """Scored, expected or seen figures of every point of a front.

    Attributes
    ----------
    name : str
        Kind of the figures: "scored", "expected" or "seen".
    n_rows : float
        Number of rows behind the figures, or their total weight.
    coverage, accuracy, cost : ndarray of shape (n_points,)
    informative : ndarray of bool, shape (n_points,), or None
        Whether labels are better than the commonest class, beyond chance; None if all are.
    references : tuple of ReferenceMark
        What there is without a cascade, on the same rows.
    """

    name: str
    n_rows: float
    coverage: FloatArray
    accuracy: FloatArray
    cost: FloatArray
    informative: BoolArray | None = None
    references: tuple[ReferenceMark, ...] = ()

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name in _AXES:
            object.__setattr__(self, name, locked_copy(getattr(self, name), np.float64))
        known = np.ones(len(self.cost)) if self.informative is None else self.informative
        object.__setattr__(self, "informative", locked_copy(known, np.bool_))

    @property
    def title(self) -> str:
        """Kind of the figures and number of rows behind them."""
        if self.name == "expected":
            return f"expected on new rows, from {counted(self.n_rows, 'scored row')}"
        return f"{self.name} on {counted(self.n_rows, 'row')}"

    @classmethod
    def from_points(
        cls,
        name: str,
        n_rows: float,
        points: Sequence[Any],
        informative: Sequence[bool] | None = None,
        references: tuple[ReferenceMark, ...] = (),
    ) -> Self:
        """Build the series from objects with the attributes coverage, accuracy and cost."""
        columns = {one: np.array([getattr(point, one) for point in points]) for one in _AXES}
        known = None if informative is None else np.array(informative)
        return cls(name, n_rows, **columns, informative=known, references=references)


@dataclass(frozen=True, slots=True, eq=False)
class FrontPicture:
    """Contents of a picture of a front.

    Attributes
    ----------
    series : tuple of FrontSeries
        Scored figures of the points, seen figures, or both.
    n_stages : ndarray of shape (n_points,)
    total_cost : float
        Cost of all features.
    marked : int or None
        Position of the point to mark.
    metric : str
        The metric that the accuracy of scored figures is; that of seen figures is plain.
    expected : Expected or None
        Expected figures of the marked point, to draw beside the scored ones of the first series.
    currency : str or None
        Unit of costs, such as "€".
    """

    series: tuple[FrontSeries, ...]
    n_stages: IntArray
    total_cost: float
    marked: int | None = None
    metric: str = "accuracy"
    expected: Expected | None = None
    currency: str | None = None

    def __post_init__(self) -> None:
        """Copy and lock the numbers of stages; expected figures need a marked point."""
        object.__setattr__(self, "n_stages", locked_copy(self.n_stages, np.int64))
        object.__setattr__(self, "currency", check_currency(self.currency) or None)
        if self.expected is not None and self.marked is None:
            raise refused("expected", "be None if no point is marked", self.expected)

    @property
    def is_plain(self) -> bool:
        """Whether every accuracy in it is the share of correct labels."""
        return self.metric == "accuracy" or {one.name for one in self.series} == {"seen"}

    @property
    def has_uninformative(self) -> bool:
        """Whether labels of any point are no better than the commonest class."""
        return not all(np.all(one.informative) for one in self.series)

    @property
    def has_references(self) -> bool:
        """Whether any series has references."""
        return any(one.references for one in self.series)

    @property
    def coverage_range(self) -> tuple[float, float]:
        """Lowest and highest coverage of all series, moved apart if they are equal."""
        every = np.concatenate([one.coverage for one in self.series])
        least, most = float(every.min()), float(every.max())
        return (least, most) if most > least else (least - 0.01, most + 0.01)


def draw_front(
    picture: FrontPicture, kind: str = "2d", width: float = COLUMN, ax: Axes | None = None
) -> Figure:
    """Draw a front: colour shows coverage, and markers show the number of stages.

    Markers of seen figures are hollow. Points that are not informative are hollow and grey.
    Crosses show what there is without a cascade. A line joins the marked point to its expected
    figures.

    Parameters
    ----------
    picture : FrontPicture
    kind : str
        "2d" draws cost against accuracy, "3d" adds coverage as an axis, and "pairs" draws a panel
        for each pair of objectives.
    width : float
        Width of a new figure in inches.
    ax : Axes, optional
        Existing axes to draw into; "3d" needs axes with that projection, "pairs" accepts none.
    """
    check_choice("kind", kind, tuple(KINDS))
    if ax is None:
        return KINDS[kind](picture, check_width(width))
    if kind == "pairs":
        raise ParameterError(
            Parameter("ax"), ' must be left out for kind "pairs", which has three panels.', value=ax
        )
    return _draw_into(check_axes(ax, "3d" if kind == "3d" else "rectilinear"), picture)


def _draw_into(ax: Any, picture: FrontPicture) -> Figure:
    """Draw into axes, with the colour scale beside them and the legend inside."""
    if ax.name == "3d":
        _fill_space(ax, picture)
    else:
        _scatter(ax, picture, *_PAIRS[0])
    add_scale(ax.figure, ax, "coverage", picture.coverage_range, aspect=30)
    ax.legend(handles=_keys(picture), title=_title(picture), framealpha=0.85, **_LEGEND)
    return figure_of(ax)


def _draw_plane(picture: FrontPicture, width: float) -> Figure:
    figure = new_figure(
        width, 0.35 + max(0.72 * min(width, 7.0), _LEAST) + _legend_height(picture, width)
    )
    figure.set_layout_engine("constrained")
    panel = figure.subplots()
    _scatter(panel, picture, *_PAIRS[0])
    _finish(figure, [panel], picture, width)
    return figure


def _draw_pairs(picture: FrontPicture, width: float) -> Figure:
    beside = width >= _SIDE_BY_SIDE
    height = 0.34 * width if beside else 3 * max(0.62 * width, _LEAST)
    figure = new_figure(width, 0.35 + height + _legend_height(picture, width))
    figure.set_layout_engine("constrained")
    panels = figure.subplots(*((1, 3) if beside else (3, 1)), squeeze=False).ravel()
    for panel, (across, up) in zip(panels, _PAIRS, strict=True):
        _scatter(panel, picture, across, up)
    _finish(figure, panels, picture, width)
    return figure


def _draw_space(picture: FrontPicture, width: float) -> Figure:
    height = 0.8 * min(width, 7.0)
    below = _legend_height(picture, width) + 0.1
    figure = new_figure(width, height + below)
    from matplotlib import rc_context

    share = height / (height + below)
    with rc_context({"grid.color": "0.9", "grid.linewidth": 0.5}):
        panel: Any = figure.add_axes((0.04, 1 - share, 0.8, share), projection="3d")
    _fill_space(panel, picture)
    scale = figure.add_axes((0.815, 1 - 0.8 * share, 0.025, 0.55 * share))
    _finish(figure, [panel], picture, width, scale)
    return figure


def _fill_space(panel: Any, picture: FrontPicture) -> None:
    """Draw the points in three dimensions, each on a stem."""
    _name_objectives(panel, picture)
    marks = [mark.accuracy for one in picture.series for mark in one.references]
    marks += reach_of(picture.expected, ["accuracy"])[0]
    floor = min([*marks, *(one.accuracy.min() for one in picture.series)])
    for one in picture.series if len(picture.n_stages) <= _MANY else ():
        # One line draws all stems: NaN after each stem interrupts it.
        nothing, ground = np.full((2, len(one.cost)), [[np.nan], [floor]])
        ends = (one.cost, one.cost), (one.coverage, one.coverage), (ground, one.accuracy)
        stems = (np.column_stack([*pair, nothing]).ravel() for pair in ends)
        panel.plot(*stems, color="0.75", linewidth=0.4, zorder=1)
    _scatter(panel, picture, "cost", "coverage", "accuracy")
    panel.set_zlim(bottom=floor)


def _name_objectives(panel: Any, picture: FrontPicture) -> None:
    """Label the axes of cost, coverage and accuracy, and set the view."""
    panel.computed_zorder = False  # stems stand behind the points
    panel.set_box_aspect((1, 1, 0.8), zoom=0.94)
    panel.set_xlabel(_axis(picture, "cost"), fontsize=7, labelpad=-6)
    panel.set_ylabel(_AXES["coverage"], fontsize=7, labelpad=-6)
    panel.zaxis.set_rotate_label(False)
    accuracy = "accuracy" if picture.is_plain else metric_brief(picture.metric)
    panel.set_zlabel(accuracy, fontsize=7, labelpad=-5, rotation=90)
    panel.tick_params(labelsize=6, pad=-3)
    for name in "xyz":
        panel.locator_params(name, nbins=5)
    panel.view_init(elev=22, azim=-128)


KINDS: dict[str, Callable[[FrontPicture, float], Figure]] = {
    "2d": _draw_plane,
    "3d": _draw_space,
    "pairs": _draw_pairs,
}


def _scatter(panel: Any, picture: FrontPicture, *objectives: str) -> None:
    """Draw all points of all series in one panel, over two or three objectives."""
    least, most = picture.coverage_range
    size = 9 if len(picture.n_stages) > _MANY else 20
    for one in picture.series:
        colours = _colours(one.coverage, least, most)
        places = [getattr(one, name) for name in objectives]
        for k in np.unique(picture.n_stages):
            which = picture.n_stages == k
            here, colour = [column[which] for column in places], colours[which]
            look: dict[str, Any] = {"s": size, "marker": _marker(k), "linewidths": 0.4, "zorder": 3}
            look |= {"color": colour, "edgecolors": DARK}
            if one.name == "seen":
                look |= {"facecolors": "none", "edgecolors": colour, "linewidths": 0.9}
            if len(objectives) == 3:
                look |= {"depthshade": False}
            _scatter_informative(panel, here, look, np.asarray(one.informative)[which])
        if picture.marked is not None:
            at = [[column[picture.marked]] for column in places]
            ring = {"s": 110, "facecolors": "none", "edgecolors": "black", "linewidths": 1.1}
            panel.scatter(*at, marker="o", zorder=4, **ring)
    if picture.expected is not None:
        scored = [getattr(picture.series[0], name)[picture.marked] for name in objectives]
        draw_expected(panel, scored, picture.expected, objectives)
    draw_references(panel, picture.series, objectives, reach_of(picture.expected, objectives))
    if len(objectives) == 2:
        panel.set_xlabel(_axis(picture, objectives[0]), fontsize=8)
        panel.set_ylabel(_axis(picture, objectives[1]), fontsize=8)
        soften(panel)


def _scatter_informative(
    panel: Any, here: list[FloatArray], look: dict[str, Any], informative: BoolArray
) -> None:
    """Draw points of one look; those that are not informative are hollow and grey, and behind."""
    for known in (False, True):
        which = informative == known
        if not which.any():
            continue
        own = {name: look[name][which] for name in ("color", "edgecolors") if _is_list(look[name])}
        if not known:
            own = {
                "facecolors": "none",
                "edgecolors": _UNINFORMATIVE,
                "linewidths": 0.7,
                "zorder": 2,
            }
        plain = {name: value for name, value in look.items() if known or name != "color"}
        panel.scatter(*(column[which] for column in here), **(plain | own))


def _is_list(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _axis(picture: FrontPicture, objective: str) -> str:
    """Label of the axis of an objective."""
    if objective == "cost" and picture.currency:
        return f"{_AXES[objective]}, {picture.currency}"
    if objective != "accuracy" or picture.is_plain:
        return _AXES[objective]
    if len(picture.series) == 1:
        return metric_name(picture.metric)
    return f"scored {metric_brief(picture.metric)}, seen accuracy"


def _finish(
    figure: Figure, panels: Any, picture: FrontPicture, width: float, scale: Any = None
) -> None:
    """Add a scale of coverage at the right and a legend of the markers below."""
    look = {"aspect": 30} if scale is None else {"cax": scale}
    add_scale(figure, panels, "coverage", picture.coverage_range, **look)
    place = "outside lower center" if scale is None else "lower center"
    columns = _legend_columns(width)
    look = {"title": _title(picture), "loc": place, "ncols": columns, "frameon": False}
    figure.legend(handles=_keys(picture), **_LEGEND, **look)


def _title(picture: FrontPicture) -> str | None:
    """Title of the legend: the rows behind the points, if there is one series."""
    return picture.series[0].title if len(picture.series) == 1 else None


def _keys(picture: FrontPicture) -> list[Any]:
    from matplotlib.lines import Line2D

    def key(marker: str, label: str, **look: Any) -> Any:
        return Line2D([], [], linestyle="none", marker=marker, label=label, **look)

    grey: dict[str, Any] = {"color": "0.45", "markeredgecolor": DARK, "markeredgewidth": 0.4}
    keys = [
        key(_marker(k), counted(k, "stage"), markersize=4.5, **grey)
        for k in np.unique(picture.n_stages)
    ]
    for one in picture.series if len(picture.series) > 1 else ():
        hollow = {"markerfacecolor": "none"} if one.name == "seen" else {}
        keys.append(key("o", one.title, markersize=4.5, **(grey | hollow)))
    if picture.has_uninformative:
        hollow = {"markerfacecolor": "none", "markeredgecolor": _UNINFORMATIVE}
        keys.append(key("o", "not informative", markersize=4.5, markeredgewidth=0.9, **hollow))
    if picture.has_references:
        keys.append(key(**REFERENCE_KEY))
    if picture.marked is not None:
        ring = {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 1.1}
        keys.append(key("o", f"design {picture.marked}", markersize=9, **ring))
    if picture.expected is not None:
        keys.append(key(**EXPECTED_KEY))
    return keys


def _legend_columns(width: float) -> int:
    return max(2, int(width // 1.12))


def _legend_height(picture: FrontPicture, width: float) -> float:
    return 0.16 * (1 + -(-len(_keys(picture)) // _legend_columns(width)))


def _colours(coverage: FloatArray, least: float, most: float) -> Any:
    from matplotlib import colormaps

    return colormaps[COLOURS]((coverage - least) / (most - least))


def _marker(n_stages: int) -> str:
    """Marker for a number of stages; the number itself if there are no shapes left."""
    return MARKERS[n_stages - 1] if n_stages <= len(MARKERS) else f"${n_stages}$"
