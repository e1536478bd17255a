"""What notebooks show of a front."""

from __future__ import annotations

from collections.abc import Sequence

from emsco._base.text import counted, in_short, listed, objective_lines
from emsco.cascade import Evaluation
from emsco.front.point import ParetoPoint
from emsco.pictures.notebook import Dot, fragment, note, scatter, table

__all__ = ["front_html"]

_FIRST_LINES, _MOST_NAMES = 8, 12
_SEEN = ("seen coverage", "seen accuracy", "seen cost")


def front_html(
    points: Sequence[ParetoPoint], seen: Sequence[Evaluation] | None, proven: bool
) -> str:
    """The first points as a table, seen in columns of their own; all of them as a picture."""
    first = points[:_FIRST_LINES]
    tried = objective_lines(seen[:_FIRST_LINES]) if seen else [()] * len(first)
    lines = [
        (str(i), *own, *more, listed(point.design.features(0), _MOST_NAMES), str(point.n_stages))
        for i, (point, own, more) in enumerate(
            zip(first, objective_lines(first), tried, strict=True)
        )
    ]
    tested = _SEEN if seen else ()
    headings = ("#", "coverage", "accuracy", "cost", *tested, "buys first", "stages")
    more = len(points) - len(lines)
    rest = note(f"{more:,} more; to_pandas() has all.") if more > 0 else ""
    dots = [
        Dot(point.cost, point.accuracy, point.coverage, f"{i}: {in_short(point)}")
        for i, point in enumerate(points)
    ]
    on_tests = f", seen on {seen[0].n_rows:,.10g}" if seen else ""
    proof = "; proven" if proven else ""
    return fragment(
        f"Front of {counted(len(points), 'design')}: "
        f"scored on {counted(points[0].n_rows, 'row')}"
        f"{on_tests}{proof}",
        f"<div>{table(headings, lines, ('buys first',))}{rest}</div>",
        scatter(dots, "cost", "accuracy", "coverage"),
    )
