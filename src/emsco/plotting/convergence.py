"""Draw the progress of a search over its generations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import locked_copy
from emsco._base.objectives import metric_name
from emsco._base.typing import FloatArray
from emsco.errors import DataError
from emsco.plotting.figures import (
    COLUMN,
    STYLES,
    check_axes,
    check_width,
    figure_of,
    soften,
    stacked_panels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST = 3  # generations of a curve; a proof records only its beginning and end
_JUMP = 8  # times the value before: a last step that would flatten all others
_FEW = 25  # generations up to which each gets a marker
_LEGEND: dict[str, Any] = {
    "fontsize": 6.5,
    "frameon": False,
    "borderpad": 0,
    "borderaxespad": 0,
    "handlelength": 2.4,
    "columnspacing": 1.0,
}


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """State of a search after each generation; all arrays have the shape (n_generations,).

    Attributes
    ----------
    generation : ndarray
    best_coverage, best_accuracy, best_cost : ndarray
        Objectives of the best design.
    n_front : ndarray
        Distinct non-dominated designs.
    n_designs : ndarray
        Distinct designs scored so far.
    n_subsets : ndarray
        Distinct feature subsets that these designs have bought after some stage.
    seconds : ndarray
        Time since the search began.
    metric : str
        The metric that `best_accuracy` is.
    """

    generation: FloatArray
    best_coverage: FloatArray
    best_accuracy: FloatArray
    best_cost: FloatArray
    n_front: FloatArray
    n_designs: FloatArray
    n_subsets: FloatArray
    seconds: FloatArray
    metric: str = "accuracy"

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name in self.columns():
            object.__setattr__(self, name, locked_copy(getattr(self, name), np.float64))
        shapes = {getattr(self, name).shape for name in self.columns()}
        if len(shapes) > 1 or shapes == {(0,)}:
            raise DataError(
                f"columns of a history must have a value for every generation, got shapes {shapes}."
            )

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Names of the columns of a history."""
        return tuple(field.name for field in fields(cls) if field.name != "metric")

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrayLike], metric: str = "accuracy") -> Self:
        """Build the record from columns named as its attributes, such as those of history.csv."""
        if missing := [name for name in cls.columns() if name not in columns]:
            raise DataError(f"a history must have the column {missing[0]!r}, got {list(columns)}.")
        arrays = {name: np.asarray(columns[name]) for name in cls.columns()}
        return cls(**arrays, metric=metric)


def draw_convergence(record: Convergence, width: float = COLUMN, ax: Axes | None = None) -> Figure:
    """Draw the objectives of the best design, the size of the front, and counts of designs.

    A search that proves its front has no generations to draw.

    Parameters
    ----------
    record : Convergence
    width : float
        Width of a new figure in inches.
    ax : Axes, optional
        Existing axes to draw into; they show coverage and accuracy only.
    """
    check_width(width)
    if (n_generations := len(record.generation)) < _LEAST:
        raise DataError(
            f"a history must have at least {_LEAST} generations to draw how its search converged, "
            f"got {n_generations}: exact search settles all designs in one step. Draw its front "
            "instead, or search by evolution."
        )
    shares = {"coverage": record.best_coverage, metric_name(record.metric): record.best_accuracy}
    if ax is not None:
        panel = check_axes(ax)
        _draw_panel(panel, record, "best design", shares)
        _name_generations(panel, record)
        return figure_of(panel)
    figure, panels = stacked_panels(width, 3.2 + 0.35 * width, (4, 3, 3, 4))
    first, costs, sizes, counts = panels
    _draw_panel(first, record, "best design", shares)
    _draw_panel(costs, record, "its mean cost", {"": record.best_cost})
    _draw_panel(sizes, record, "designs on the front", {"": record.n_front})
    scored = {"designs": record.n_designs, "subsets": record.n_subsets}
    _draw_panel(counts, record, "scored so far", scored)
    for panel, lines in ((sizes, [record.n_front]), (counts, list(scored.values()))):
        # A proof counts all designs at once, in its last step, which would flatten all others.
        if any(one.min() > 0 and one[-1] >= _JUMP * one[:-1].max() for one in lines):
            panel.set_yscale("log")
        else:
            panel.set_ylim(bottom=0)
        panel.yaxis.set_major_formatter("{x:,.0f}")
    _name_generations(counts, record)
    return figure


def _draw_panel(
    panel: Any, record: Convergence, title: str, lines: Mapping[str, FloatArray]
) -> None:
    """Draw named lines over the generations."""
    from matplotlib.ticker import MaxNLocator

    dots: dict[str, Any] = {"marker": "o", "markersize": 2.5}
    few = dots if len(record.generation) <= _FEW else {}
    for (name, values), style in zip(lines.items(), STYLES, strict=False):
        label = name or None
        panel.plot(record.generation, values, label=label, linewidth=1.2, **style, **few)
    panel.set_title(title, fontsize=7.5, loc="left", pad=3)
    soften(panel)
    if len(lines) > 1:
        panel.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1.03), **_LEGEND)
    panel.yaxis.set_major_locator(MaxNLocator(4))


def _name_generations(panel: Any, record: Convergence) -> None:
    panel.set_xlabel(f"generation ({record.seconds[-1]:.3g} s in all)", fontsize=8)
