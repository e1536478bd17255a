"""What all pictures share: sizes, looks that hold in grey, text that is never cut, files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emsco._base.checks import check_number, refused
from emsco._base.documents import PathLike
from emsco.errors import FileError, Parameter, not_installed

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "COLUMN",
    "DARK",
    "LINE",
    "MARKERS",
    "NARROWEST",
    "STYLES",
    "add_scale",
    "check_axes",
    "check_matplotlib",
    "check_width",
    "coverage_ends",
    "figure_of",
    "line_look",
    "name_marks",
    "new_figure",
    "save_figure",
    "soften",
    "text_size",
    "wrap_items",
    "write_figure",
]

COLUMN = 3.4  # inches: the column of a paper with two of them
NARROWEST, _WIDEST = 2.6, 40.0
_DPI, _SAFE = 200.0, 1.05
_STEPS = 20  # of coverage, at which a scale may begin and end
_ENDINGS = (".png", ".svg", ".pdf")
COLOURS = "viridis"  # from dark to light, for the colour-blind, too
DARK = "0.15"
LINE = 1.18  # height of a line of text, as a multiple of its size
MARKERS = "os^DvP<X>*hpd8"
# Each with dashes of its own, and the first six from dark to light: they differ in grey too.
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
    """Colour, dashes and marker of one line of many, from 0; all differ in grey.

    Dashes alone would begin again after some; markers stand a part of the panel apart.

    Examples
    --------
    >>> len({(str(line_look(i)["linestyle"]), line_look(i)["marker"]) for i in range(100)})
    100
    """
    marks = {"marker": MARKERS[number % len(MARKERS)], "markersize": 3.5, "markevery": 0.12}
    return STYLES[number % len(STYLES)] | marks


def check_matplotlib() -> None:
    """Say what to install where there is no matplotlib."""
    try:
        import matplotlib.figure  # noqa: F401 - only to see whether it is there
    except ImportError:
        raise not_installed("matplotlib", "'emsco[plot]'") from None


def check_width(width: float) -> float:
    """The width of a picture, in inches."""
    return check_number("width", width, NARROWEST, _WIDEST)


def new_figure(width: float, height: float) -> Figure:
    """An empty picture, in inches, that no window and no state of pyplot knows."""
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def check_axes(ax: Any, name: str = "rectilinear") -> Any:
    """Axes of one's own to draw into: plain ones, or those of matplotlib's "3d"."""
    check_matplotlib()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise refused("ax", "be axes of matplotlib, as plt.subplots() gives them one by one", ax)
    if ax.name != name:
        raise refused("ax", f"have the projection {name!r}", ax, got=repr(ax.name))
    return ax


def figure_of(ax: Any) -> Figure:
    """The figure, or part of one, that axes belong to."""
    figure: Figure = ax.figure
    return figure


def write_figure(figure: Figure, path: PathLike) -> Path:
    """Write the figure to a file whose ending says how: PNG, SVG or PDF."""
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS:
        endings = ", ".join(_ENDINGS)
        raise refused("path", f"be a file that ends in {endings}", path, got=repr(str(path)))
    try:
        figure.savefig(place, dpi=_DPI)
    except OSError as error:
        why = error.strerror or error
        raise FileError(Parameter("path"), f" must be a file, got {str(path)!r} ({why}).") from None
    return place


def save_figure(figure: Figure, path: PathLike) -> tuple[Path, Path]:
    """Write the figure as PNG and as SVG; `path` is without an ending."""
    png, svg = (write_figure(figure, f"{os.fspath(path)}{end}") for end in (".png", ".svg"))
    return png, svg


def add_scale(
    figure: Any,
    panels: Any,
    label: str,
    ends: tuple[float, float],
    colours: str = COLOURS,
    **look: Any,
) -> ScalarMappable:
    """A bar beside the panels that says which of the colours means how much.

    Returns what maps values to colours; `look` is passed on to matplotlib's `colorbar`.
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
    """The range of the coverages that are drawn, in round numbers and never empty.

    Examples
    --------
    >>> coverage_ends([0.93, 0.99]), coverage_ends([1.0, 1.0])
    ((0.9, 1.0), (0.95, 1.0))
    """
    drawn = coverages or [1.0]
    high = min(1.0, math.ceil(_STEPS * max(drawn)) / _STEPS)
    low = math.floor(_STEPS * min(drawn)) / _STEPS
    return min(low, high - 1 / _STEPS), high


def soften(panel: Any, size: float = 7) -> None:
    """Small ticks, a light grid below the data, and no frame where nothing ends."""
    panel.tick_params(labelsize=size, width=0.6, length=2.5)
    panel.grid(visible=True, color="0.9", linewidth=0.5)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        panel.spines[side].set_linewidth(0.6)


def text_size(text: str, size: float, weight: str = "normal") -> tuple[float, float]:
    """Width and height of text in inches, as it will be drawn at any resolution.

    Letters are moved to whole pixels, so that a coarse picture has wider lines than a fine one.
    """
    lines = text.split("\n")
    width = max(_line_width(line, size, weight) for line in lines)
    return width, len(lines) * LINE * size / 72


@lru_cache(maxsize=4096)
def _line_width(line: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties

    font = FontProperties(size=size, weight=weight)
    width, _, _ = _renderer().get_text_width_height_descent(line, font, ismath=False)
    return float(_SAFE * width / _DPI)


@lru_cache(maxsize=1)
def _renderer() -> Any:
    check_matplotlib()
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, _DPI)


def wrap_items(
    items: Iterable[str], width: float, size: float, weight: str = "normal", between: str = ", "
) -> list[str]:
    """Items side by side on lines of at most `width` inches; only one wider than that is cut.

    Such an item goes on in the next line: nothing is ever left out.
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
        *whole, line = _broken(item, width, size, weight)
        lines += whole
    return [*lines, line] if line else lines


def _ended(items: Sequence[str], mark: str) -> list[str]:
    return [f"{item}{mark}" for item in items[:-1]] + list(items[-1:])


def _broken(item: str, width: float, size: float, weight: str) -> list[str]:
    """One item on as many lines as it needs: at blanks; a word at its marks, else anywhere."""
    lines = []
    while item and text_size(item, size, weight)[0] > width:
        fits = 1
        while fits < len(item) and text_size(item[: fits + 1], size, weight)[0] <= width:
            fits += 1
        blank = item.rfind(" ", 1, fits + 1)  # one after the last letter that fits is as good
        marks = [i + 1 for i, letter in enumerate(item[:fits]) if letter in "_-/.,"]
        end = blank if blank > 0 else marks[-1] if marks and marks[-1] > fits // 3 else fits
        lines.append(item[:end].rstrip())
        item = item[end:].lstrip()
    return [*lines, item] if item else lines


def name_marks(figure: Figure, panels: Sequence[Any], columns: int) -> None:
    """Names of markers, below."""
    handles, labels = panels[0].get_legend_handles_labels()
    place = "outside lower center"
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, fontsize=7)
