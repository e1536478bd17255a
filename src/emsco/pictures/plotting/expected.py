"""Draw what to expect of the marked point of a front: a diamond, joined to the scored figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emsco.trust.expected import Expected

__all__ = ["EXPECTED_KEY", "draw_expected", "reach_of"]

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
