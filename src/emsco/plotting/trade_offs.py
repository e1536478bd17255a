"""Draw a front: cost against accuracy, in three dimensions, or by pairs of objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_choice
from emsco._base.objectives import Expected, Objectives, metric_brief, metric_name
from emsco._base.text import counted, shorten
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.errors import ParameterError
from emsco.plotting.canvas import text_size
from emsco.plotting.figures import (
    COLOURS,
    COLUMN,
    DARK,
    MARKERS,
    add_scale,
    check_axes,
    check_currency,
    check_matplotlib,
    check_width,
    figure_of,
    new_figure,
    soften,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("2d", "3d", "pairs")
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
_CROSSES = "x+1234"  # markers of references, in order
_LONGEST = 34  # letters of the name of a reference
# On either side, an axis reaches for a reference by at most so many times the range of the points.
_REACH = 2.0
_EXPECTED: dict[str, Any] = {
    "marker": "D",
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.9,
    "markersize": 4,
    "linestyle": "none",
}


@dataclass(frozen=True, slots=True)
class ReferenceMark(Objectives):
    """Coverage, accuracy and cost without a cascade, and their name.

    The accuracy is by the metric of the figures it stands beside.

    Attributes
    ----------
    title : str
        The reference in a few words, such as "everything".
    """

    title: str


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
    mark_title : str
        Name of the marked point; by default its position.
    n_designs : int or None
        Number of designs of the front, if not all of them are drawn.
    """

    series: tuple[FrontSeries, ...]
    n_stages: IntArray
    total_cost: float
    marked: int | None = None
    metric: str = "accuracy"
    expected: Expected | None = None
    currency: str | None = None
    mark_title: str = ""
    n_designs: int | None = None

    def __post_init__(self) -> None:
        """Copy and lock the numbers of stages; expected figures need a marked point."""
        object.__setattr__(self, "n_stages", locked_copy(self.n_stages, np.int64))
        object.__setattr__(self, "currency", check_currency(self.currency) or None)
        if self.expected is not None and self.marked is None:
            raise ParameterError(
                f"expected must be None if no point is marked, got {self.expected!r}."
            )

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
    def labels_all(self) -> bool:
        """Whether every point labels every row, so that colour has nothing to tell."""
        return all(np.all(one.coverage == 1) for one in self.series)

    @property
    def coverage_range(self) -> tuple[float, float]:
        """Lowest and highest coverage of all series, moved apart if they are equal."""
        every = np.concatenate([one.coverage for one in self.series])
        low, high = float(every.min()), float(every.max())
        return (low, high) if high > low else (low - 0.01, high + 0.01)


def draw_front(
    picture: FrontPicture, kind: str = "2d", width: float = COLUMN, ax: Axes | None = None
) -> Figure:
    """Draw a front: colour shows coverage, and markers show the number of stages.

    If all points have coverage 1, there is no scale of colours. Markers of seen figures are hollow.
    Points that are not informative are hollow and grey. Crosses show what there is without a
    cascade. One of either far from the other points stands at the edge; a cross has an arrow and
    its figure there. A line joins the marked point to its expected figures.

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
    check_choice("kind", kind, KINDS)
    check_matplotlib()
    look = {"handles": _keys(picture), "title": _title(picture), **_LEGEND}
    if ax is not None:
        if kind == "pairs":
            raise ParameterError(
                'ax must be left out for kind "pairs", which has three panels, got axes.'
            )
        panel = check_axes(ax, "3d" if kind == "3d" else "rectilinear")
        if kind == "3d":
            _fill_space(panel, picture)
        else:
            _scatter(panel, picture, *_PAIRS[0])
        _add_coverage_scale(panel.figure, panel, picture, aspect=30)
        _plain(panel.legend(framealpha=0.85, **look))
        return figure_of(panel)

    # The legend stands below the panels, in as many columns as there is room for.
    width = check_width(width)
    longest = max(text_size(key.get_label(), _LEGEND["fontsize"])[0] for key in look["handles"])
    columns = max(1, int(width / (longest + 0.2)))
    n_lines = -(-len(look["handles"]) // columns) + len((look["title"] or "").split("\n"))
    below = 0.16 * n_lines
    look |= {"ncols": columns, "frameon": False}
    if kind == "3d":
        height, below = 0.8 * min(width, 7.0), below + 0.1
        figure = new_figure(width, height + below, layout=None)
        from matplotlib import rc_context

        share = height / (height + below)
        with rc_context({"grid.color": "0.9", "grid.linewidth": 0.5}):
            panels: Any = [figure.add_axes((0.04, 1 - share, 0.8, share), projection="3d")]
        _fill_space(panels[0], picture)
        if not picture.labels_all:
            scale = figure.add_axes((0.815, 1 - 0.8 * share, 0.025, 0.55 * share))
            _add_coverage_scale(figure, panels, picture, cax=scale)
        _plain(figure.legend(loc="lower center", **look))
        return figure
    beside = kind == "pairs" and width >= _SIDE_BY_SIDE
    if kind == "2d":
        height = max(0.72 * min(width, 7.0), _LEAST)
    else:
        height = 0.34 * width if beside else 3 * max(0.62 * width, _LEAST)
    pairs = _PAIRS if kind == "pairs" else _PAIRS[:1]
    figure = new_figure(width, 0.35 + height + below)
    shape = (1, len(pairs)) if beside else (len(pairs), 1)
    panels = figure.subplots(*shape, squeeze=False).ravel()
    for panel, (across, up) in zip(panels, pairs, strict=True):
        _scatter(panel, picture, across, up)
    _add_coverage_scale(figure, panels, picture, aspect=30)
    _plain(figure.legend(loc="outside lower center", **look))
    return figure


def _add_coverage_scale(figure: Any, panels: Any, picture: FrontPicture, **look: Any) -> None:
    """Add the colour bar of coverage, unless all points have coverage 1."""
    if not picture.labels_all:
        add_scale(figure, panels, "coverage", picture.coverage_range, **look)


def _fill_space(panel: Any, picture: FrontPicture) -> None:
    """Draw the points in three dimensions, each on a stem."""
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
    marks = [mark.accuracy for one in picture.series for mark in one.references]
    if picture.expected is not None:
        marks.append(picture.expected.accuracy.low)
    floor = min([*marks, *(one.accuracy.min() for one in picture.series)])
    for one in picture.series if len(picture.n_stages) <= _MANY else ():
        # One line draws all stems: NaN after each stem interrupts it.
        nothing, ground = np.full((2, len(one.cost)), [[np.nan], [floor]])
        ends = (one.cost, one.cost), (one.coverage, one.coverage), (ground, one.accuracy)
        stems = (np.column_stack([*pair, nothing]).ravel() for pair in ends)
        panel.plot(*stems, color="0.75", linewidth=0.4, zorder=1)
    _scatter(panel, picture, "cost", "coverage", "accuracy")
    panel.set_zlim(bottom=floor)


def _scatter(panel: Any, picture: FrontPicture, *objectives: str) -> None:
    """Draw all points of all series in one panel, over two or three objectives."""
    from matplotlib import colormaps

    low, high = picture.coverage_range
    size = 9 if len(picture.n_stages) > _MANY else 20
    for one in picture.series:
        colours = colormaps[COLOURS]((one.coverage - low) / (high - low))
        places = [getattr(one, name) for name in objectives]
        if len(objectives) == 2 and picture.has_references:
            limits = [_ends(picture, name) for name in objectives]
            places = [np.clip(place, *ends) for place, ends in zip(places, limits, strict=True)]
        for k, is_informative in product(np.unique(picture.n_stages), (False, True)):
            which = (picture.n_stages == k) & (one.informative == is_informative)
            if not which.any():
                continue
            look: dict[str, Any] = {"facecolors": colours[which], "edgecolors": DARK}
            look |= {"linewidths": 0.4, "zorder": 3}
            if one.name == "seen":
                look |= {"facecolors": "none", "edgecolors": colours[which], "linewidths": 0.9}
            if not is_informative:
                look |= {"facecolors": "none", "edgecolors": _UNINFORMATIVE}
                look |= {"linewidths": 0.7, "zorder": 2}
            if len(objectives) == 3:
                look["depthshade"] = False
            panel.scatter(*(column[which] for column in places), s=size, marker=_marker(k), **look)
        if picture.marked is not None:
            at = [[column[picture.marked]] for column in places]
            ring = {"s": 110, "facecolors": "none", "edgecolors": "black", "linewidths": 1.1}
            panel.scatter(*at, marker="o", zorder=4, **ring)
    if picture.expected is not None:
        # Expected figures, a line from the scored ones, and an interval of the last objective.
        scored = [getattr(picture.series[0], name)[picture.marked] for name in objectives]
        *ground, up = (getattr(picture.expected, name) for name in objectives)
        at = [estimate.value for estimate in ground]
        line = {"color": "black", "linewidth": 0.6, "zorder": 2.9}  # behind the points
        panel.plot(*zip(scored, [*at, up.value], strict=True), **line)
        ends = {"color": "black", "linewidth": 0.7, "marker": "_", "markersize": 4, "zorder": 4.1}
        panel.plot(*((value, value) for value in at), (up.low, up.high), **ends)
        panel.plot(*([value] for value in at), [up.value], **_EXPECTED, zorder=4.2)
    if picture.has_references:
        _draw_references(panel, picture, objectives)
    if len(objectives) == 2:
        panel.margins(0.06)
        panel.set_xlabel(_axis(picture, objectives[0]), fontsize=8)
        panel.set_ylabel(_axis(picture, objectives[1]), fontsize=8)
        soften(panel)


def _draw_references(panel: Any, picture: FrontPicture, objectives: Sequence[str]) -> None:
    """Draw what there is without a cascade, over two or three objectives.

    In two dimensions, the points keep at least a fifth of each axis. A reference farther out
    stands at the edge, with an arrow and its figure.
    """
    is_flat = len(objectives) == 2
    ends = [_ends(picture, name) for name in objectives]
    if is_flat:
        panel.set(xlim=ends[0], ylim=ends[1])
    for i, one in enumerate(picture.series):
        look: dict[str, Any] = {"s": 24, "linewidths": 1.1, "zorder": 3.5, "color": "0.3"}
        look |= {"zorder": 3.4, "color": "0.6"} if i else {}
        for mark, marker in zip(one.references, cycle(_CROSSES), strict=False):
            values = [getattr(mark, name) for name in objectives]
            if not is_flat:
                panel.scatter(*([v] for v in values), marker=marker, depthshade=False, **look)
                continue
            at = [
                float(np.clip(value, *limits)) for value, limits in zip(values, ends, strict=True)
            ]
            panel.scatter(*([v] for v in at), marker=marker, clip_on=False, **look)
            if at != values and not i:
                _point_out(panel, mark.title, values, at, objectives)


def _ends(picture: FrontPicture, objective: str) -> tuple[float, float]:
    """Limits of an axis: informative points, expected figures, and all others near enough."""
    shown, others = [], []
    for one in picture.series:
        values, is_informative = getattr(one, objective), np.asarray(one.informative)
        shown.append(values[is_informative])
        others.append(values[~is_informative])
    if not any(map(len, shown)):
        shown, others = others, []
    if picture.expected is not None:
        expected = getattr(picture.expected, objective)
        shown.append([expected.low, expected.high])
    points = np.concatenate(shown)
    others += [[getattr(mark, objective)] for one in picture.series for mark in one.references]
    candidates = np.concatenate(others)
    low, high = float(points.min()), float(points.max())
    reach = _REACH * (high - low) if high > low else np.inf
    near = candidates[(candidates >= low - reach) & (candidates <= high + reach)]
    low, high = min([low, *near]), max([high, *near])
    edge = 0.06 * (high - low) or 0.05 * (abs(high) or 1.0)
    return low - edge, high + edge


def _point_out(
    panel: Any,
    title: str,
    values: Sequence[float],
    at: Sequence[float],
    objectives: Sequence[str],
) -> None:
    """Write a name, an arrow and a figure beside a reference that is drawn at the edge."""
    words = [shorten(title, _LONGEST)]
    arrows = (("←", "→"), ("↓", "↑"))
    for value, place, (less, more), name in zip(values, at, arrows, objectives, strict=True):
        if value != place:
            figure = f"{value:.4g}" if name == "cost" else f"{value:.1%}"
            words.append(f"{less if value < place else more} {figure}")
    # The text stands towards the middle; several may be at one place, so each has its own line.
    is_left = at[0] > sum(panel.get_xlim()) / 2
    is_above = at[1] < sum(panel.get_ylim()) / 2
    line = 7 * len(panel.texts)
    panel.annotate(
        " ".join(words),
        at,
        xytext=(-5 if is_left else 5, line if is_above else -line),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="bottom" if is_above else "top",
        fontsize=6,
        color=DARK,
        zorder=5,
        parse_math=False,
    )


def _axis(picture: FrontPicture, objective: str) -> str:
    """Label of the axis of an objective."""
    if objective == "cost" and picture.currency:
        return f"{_AXES[objective]}, {picture.currency}"
    if objective != "accuracy" or picture.is_plain:
        return _AXES[objective]
    if len(picture.series) == 1:
        return metric_name(picture.metric)
    return f"scored {metric_brief(picture.metric)}, seen accuracy"


def _plain(legend: Any) -> None:
    """Show the names in a legend as they are: a "$" does not start a formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _title(picture: FrontPicture) -> str | None:
    """Title of the legend: which designs are drawn, and the rows behind them."""
    lines, n_shown = [], len(picture.n_stages)
    if picture.labels_all:
        lines.append("every row gets a label")
    if picture.n_designs is not None and n_shown < picture.n_designs:
        lines.append(f"{n_shown:,} designs that differ beyond noise, of {picture.n_designs:,}")
    if len(picture.series) == 1:
        lines.append(picture.series[0].title)
    return "\n".join(lines) or None


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
    named = next((one.references for one in picture.series if one.references), ())
    for mark, marker in zip(named, cycle(_CROSSES), strict=False):
        title = shorten(mark.title, _LONGEST)
        keys.append(key(marker, title, color="0.3", markersize=4.5))
    if picture.marked is not None:
        ring = {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 1.1}
        title = picture.mark_title or f"design {picture.marked}"
        keys.append(key("o", title, markersize=9, **ring))
    if picture.expected is not None:
        keys.append(Line2D([], [], label="expected", **_EXPECTED))
    return keys


def _marker(n_stages: int) -> str:
    """Marker for a number of stages; the number itself if there are no shapes left."""
    return MARKERS[n_stages - 1] if n_stages <= len(MARKERS) else f"${n_stages}$"
