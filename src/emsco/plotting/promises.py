"""Draw the promises that a monitor watches over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.typing import FloatArray
from emsco.errors import ParameterError
from emsco.plotting.figures import (
    COLUMN,
    DARK,
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

_FEW = 25  # looks up to which each gets a marker
_ALARM = "#9c3d00"


@dataclass(frozen=True, slots=True, eq=False)
class PromiseTrack:
    """A promise over time; all arrays have one value per look.

    Attributes
    ----------
    title : str
        The promise in words.
    limit : float
    rows : ndarray
        Rows seen by then.
    figure, low, high : ndarray
        The figure on all rows so far, and its interval.
    alarm : int or None
        Rows seen when the alarm came.
    stretch : tuple of (float, float) or None
        The rows before the stretch that raised the alarm, and its figure.
    """

    title: str
    limit: float
    rows: FloatArray
    figure: FloatArray
    low: FloatArray
    high: FloatArray
    alarm: int | None = None
    stretch: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name in ("rows", "figure", "low", "high"):
            object.__setattr__(self, name, locked_copy(getattr(self, name), np.float64))


def draw_monitor(
    tracks: Sequence[PromiseTrack], width: float = COLUMN, ax: Axes | None = None
) -> Figure:
    """Draw each promise in its own panel: figure, interval, promised limit and alarm.

    A short thick line is the figure of the rows that raised the alarm.

    Parameters
    ----------
    tracks : sequence of PromiseTrack
        Result of `Monitor.tracks`.
    width : float
        Width of a new figure in inches.
    ax : Axes, optional
        Existing axes to draw one promise into.
    """
    check_width(width)
    if not tracks:
        raise ParameterError("tracks must be of at least one promise, got none.")
    if ax is None:
        figure, panels = stacked_panels(width, 0.5 + 1.45 * len(tracks), [1] * len(tracks))
    elif len(tracks) > 1:
        raise ParameterError(
            "ax must be left out for several promises, got axes; draw them one by one, as in "
            "tracks[:1]."
        )
    else:
        panels = [check_axes(ax)]
        figure = figure_of(ax)
    for panel, track in zip(panels, tracks, strict=True):
        # Without rows so far, only the limit is drawn.
        few: dict[str, Any] = {"marker": "o", "markersize": 2.5} if len(track.rows) <= _FEW else {}
        panel.fill_between(track.rows, track.low, track.high, color="0.85", linewidth=0)
        panel.plot(track.rows, track.figure, linewidth=1.2, **STYLES[0], **few)
        panel.axhline(track.limit, color=DARK, linestyle=":", linewidth=1.0)
        title = track.title
        if track.alarm is not None:
            panel.axvline(track.alarm, color=_ALARM, linestyle="--", linewidth=1.0)
            title += f"; alarm at row {track.alarm:,}"
            if track.stretch is not None:
                since, seen = track.stretch
                panel.plot([since, track.alarm], [seen, seen], color=_ALARM, linewidth=1.6)
        panel.set_title(title, fontsize=7.5, loc="left", pad=3, parse_math=False)
        panel.xaxis.set_major_formatter("{x:,.0f}")
        soften(panel)
    panels[-1].set_xlabel("rows", fontsize=8)
    return figure
