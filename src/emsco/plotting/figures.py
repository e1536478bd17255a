"""Sizes, styles, checks and file output that all plots share."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import check_number
from emsco._base.documents import PathLike
from emsco._base.text import shorten
from emsco.errors import FileError, ParameterError, not_installed

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

COLUMN = 3.4  # inches of a column in a paper with two columns
NARROWEST, _WIDEST = 2.6, 40.0
_DPI = 200.0
_TITLE, _LINE = 0.24, 0.14  # inches of a title of one line, and of each further line
_EDGE = 0.06  # inches from a title to the edge
_LETTERS = 15  # of a title, per inch
_STEPS = 20  # a scale of coverage begins and ends at a multiple of 1 / 20
_LONGEST_UNIT = 12  # characters of a currency
_ENDINGS = (".png", ".svg", ".pdf")
COLOURS = "viridis"  # dark to light, so readers with colour blindness can use it
DARK = "0.15"
MARKERS = "os^DvP<X>*hpd8"
# All dashes differ, so lines can be told apart in grey.
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0b3c6f", "linestyle": "-"},
    {"color": "#d55e00", "linestyle": "--"},
    {"color": "#009e73", "linestyle": "-."},
    {"color": "#7a7a7a", "linestyle": ":"},
    {"color": "#cc79a7", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": "#56b4e9", "linestyle": (0, (8, 2))},
    {"color": "#6b1f1f", "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#8a6d00", "linestyle": (0, (1, 3))},
    {"color": "#5b3a8c", "linestyle": (0, (6, 1, 1, 1, 1, 1, 1, 1))},
    {"color": "#00707a", "linestyle": (0, (2, 1))},
    {"color": "#e69f00", "linestyle": (0, (4, 3))},
)


def line_look(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of a line by its number, from 0.

    Dashes repeat after a while; together with the markers, many lines differ even in grey.

    Examples
    --------
    >>> len({(str(line_look(i)["linestyle"]), line_look(i)["marker"]) for i in range(100)})
    100
    """
    marks = {"marker": MARKERS[number % len(MARKERS)], "markersize": 3.5, "markevery": 0.12}
    return STYLES[number % len(STYLES)] | marks


def check_matplotlib() -> None:
    """Raise an error that says how to install matplotlib, if it is missing."""
    try:
        import matplotlib.figure  # noqa: F401 - only to see whether it is installed
    except ImportError:
        raise not_installed("matplotlib", "'emsco[plot]'") from None


def check_width(width: float) -> float:
    """Check the width of a figure in inches and return it."""
    return check_number("width", width, NARROWEST, _WIDEST)


def new_figure(width: float, height: float, layout: Any = "constrained") -> Figure:
    """Make an empty figure of a size in inches, without pyplot and its windows."""
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout=layout)


def check_axes(ax: Any, name: str = "rectilinear") -> Any:
    """Check axes to draw into; `name` is the projection they need, "rectilinear" or "3d"."""
    check_matplotlib()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise ParameterError(
            f"ax must be axes of matplotlib, as plt.subplots() gives them one by one, got {ax!r}."
        )
    if ax.name != name:
        raise ParameterError(f"ax must have the projection {name!r}, got {ax.name!r}.")
    return ax


def figure_of(ax: Any) -> Figure:
    """Return the figure or subfigure that axes belong to."""
    figure: Figure = ax.figure
    return figure


def write_figure(figure: Figure, path: PathLike) -> Path:
    """Write a figure as PNG, SVG or PDF; the ending of the file name decides."""
    place = check_picture(path)
    try:
        # Where a surface has holes, matplotlib also projects what happens to lie in memory there.
        with np.errstate(over="ignore", invalid="ignore"):
            figure.savefig(place, dpi=_DPI)
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"path must be a file, got {str(path)!r} ({why}).") from None
    return place


def check_picture(path: PathLike, name: str = "path") -> Path:
    """Check that a file name ends as a picture does; errors call it `name`."""
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        endings = ", ".join(_ENDINGS)
        raise ParameterError(f"{name} must be a file that ends in {endings}, got {str(path)!r}.")
    return place


def save_figure(figure: Figure, path: PathLike) -> tuple[Path, Path]:
    """Write a figure as PNG and as SVG; `path` has no ending."""
    png, svg = (write_figure(figure, f"{os.fspath(path)}{end}") for end in (".png", ".svg"))
    return png, svg


def entitle(figure: Figure, title: str, finding: str = "") -> None:
    """Put a title above a whole figure, on the left, and after it what the figure finds.

    A figure without a layout grows for it.
    """
    width, height = map(float, figure.get_size_inches())
    letters = int(_LETTERS * width)
    name = shorten(title, letters)
    lines = wrap(f"{name}: {finding}", letters) if finding else [name]
    text = "\n".join(lines)
    look: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "ha": "left", "va": "top"}
    more = height + _TITLE + _LINE * (len(lines) - 1)
    if figure.get_layout_engine() is None:
        for axes in figure.axes:
            x, y, across, up = axes.get_position().bounds
            share = height / more
            axes.set_position((x, y * share, across, up * share))
        figure.text(_EDGE / width, 1 - _EDGE / more, text, color=DARK, parse_math=False, **look)
    else:
        figure.suptitle(text, x=_EDGE / width, color=DARK, parse_math=False, **look)
    figure.set_size_inches(width, more)


def add_scale(
    figure: Any,
    panels: Any,
    label: str,
    ends: tuple[float, float],
    colours: str = COLOURS,
    **look: Any,
) -> ScalarMappable:
    """Add a colour bar beside the panels and return the map from values to colours.

    `look` is passed on to matplotlib's `colorbar`.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(*ends), colours)
    place = {} if "cax" in look else {"ax": panels, "pad": 0.02}
    bar = figure.colorbar(scale, **place, **look)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7, width=0.6, length=2.5)
    bar.outline.set_linewidth(0.6)
    return scale


def coverage_ends(coverages: Sequence[float]) -> tuple[float, float]:
    """Round the range of some coverages outwards, so that it is never empty.

    Examples
    --------
    >>> coverage_ends([0.93, 0.99]), coverage_ends([1.0, 1.0])
    ((0.9, 1.0), (0.95, 1.0))
    """
    drawn = coverages or [1.0]
    high = min(1.0, math.ceil(_STEPS * max(drawn)) / _STEPS)
    low = math.floor(_STEPS * min(drawn)) / _STEPS
    return min(low, high - 1 / _STEPS), high


def stacked_panels(
    width: float, height: float, height_ratios: Sequence[float] = (1,)
) -> tuple[Figure, list[Any]]:
    """Make a figure of panels that stand one below the other and share their horizontal axis."""
    figure = new_figure(width, height)
    ratios = list(height_ratios)
    panels = figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)
    return figure, list(panels[:, 0])


def soften(panel: Any, size: float = 7) -> None:
    """Give a panel small ticks, a light grid, and lines only at the left and at the bottom."""
    panel.tick_params(labelsize=size, width=0.6, length=2.5)
    panel.grid(visible=True, color="0.9", linewidth=0.5)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        panel.spines[side].set_linewidth(0.6)


def name_marks(figure: Figure, panels: Sequence[Any], columns: int, **look: Any) -> None:
    """Add a legend of the markers of the first panel below all panels."""
    handles, labels = panels[0].get_legend_handles_labels()
    look = {"loc": "outside lower center", "frameon": False, "fontsize": 7} | look
    figure.legend(handles, labels, ncols=columns, **look)


def check_currency(currency: str | None) -> str:
    """Return the unit of costs without blanks around it, "" for None.

    Raises
    ------
    ParameterError
        Unless it is a short text that can stand beside a number.
    """
    if currency is None:
        return ""
    is_text = isinstance(currency, str) and currency.isprintable()
    if not is_text or not 0 < len(currency.strip()) <= _LONGEST_UNIT:
        raise ParameterError(
            f"currency must be a text of 1 to {_LONGEST_UNIT} characters, such as '€' or "
            f"'minutes', got {currency!r}."
        )
    return currency.strip()


def unit_of(currency: str) -> str:
    """Return what stands after a cost.

    Examples
    --------
    >>> f"cost 12{unit_of('€')}", f"cost 12{unit_of('')}"
    ('cost 12 €', 'cost 12')
    """
    return f" {currency}" if currency else ""
