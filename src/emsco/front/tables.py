"""Tables of a front: text for a terminal, HTML for a notebook, columns for data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emsco._base.objectives import metric_brief, metric_name
from emsco._base.text import counted, in_short, listed, objective_lines, shorten
from emsco.cascade import Evaluation
from emsco.data.frames import Columns
from emsco.front.point import ParetoPoint
from emsco.pictures.notebook import Dot, fragment, note, scatter, table

__all__ = ["front_columns", "front_html", "front_text"]

_OBJECTIVES = ("coverage", "accuracy", "cost")
_TEXT_LINES = 10
_HTML_LINES, _MOST_NAMES = 8, 12


def front_text(points: Sequence[ParetoPoint], proven: bool) -> str:
    """List the first points, one line each."""
    proof = ", proven" if proven else ""
    n_rows = f"{points[0].n_rows:.10g}"
    lines = [f"ParetoFront of {len(points)} points on {n_rows} scored rows{proof}"]
    heading = metric_brief(points[0].metric)
    lines.append(f"  #  coverage {heading:>9}       cost  design")
    for i, point in enumerate(points[:_TEXT_LINES]):
        objectives = f"{point.coverage:8.3f}  {point.accuracy:8.3f}  {point.cost:9.6g}"
        lines.append(f"{i:>3}  {objectives}  {shorten(point.design.arrows(), 60)}")
    if len(points) > _TEXT_LINES:
        lines.append(f"     … and {len(points) - _TEXT_LINES} more; to_pandas() has all")
    return "\n".join(lines)


def front_columns(
    points: Sequence[ParetoPoint], seen: Sequence[Evaluation] | None, features: Sequence[str]
) -> Columns:
    """Collect one row per point: scored and seen figures, and the stage that buys each feature."""
    columns: dict[str, Any] = {
        _title(name, points): [getattr(point, name) for point in points]
        for name in (*_OBJECTIVES, "n_stages", "n_tied")
    }
    if seen is not None:
        for name in _OBJECTIVES:
            columns[f"seen {name}"] = [getattr(one, name) for one in seen]
    for i, name in enumerate(features):
        columns[f"stage of {name}"] = [int(point.design.stages[i]) + 1 for point in points]
    return columns


def front_html(
    points: Sequence[ParetoPoint], seen: Sequence[Evaluation] | None, proven: bool
) -> str:
    """Show the first points as a table, scored beside seen figures, and all as a picture."""
    first = points[:_HTML_LINES]
    seen_lines = objective_lines(seen[:_HTML_LINES]) if seen else [()] * len(first)
    lines = [
        (str(i), *own, *other, listed(point.design.features(0), _MOST_NAMES), str(point.n_stages))
        for i, (point, own, other) in enumerate(
            zip(first, objective_lines(first), seen_lines, strict=True)
        )
    ]
    seen_headings = tuple(f"seen {name}" for name in _OBJECTIVES) if seen else ()
    own_headings = [_title(name, points) for name in _OBJECTIVES]
    headings = ("#", *own_headings, *seen_headings, "buys first", "stages")
    more = len(points) - len(lines)
    rest = note(f"{more:,} more; to_pandas() has all.") if more > 0 else ""
    metric = own_headings[1]
    dots = [
        Dot(point.cost, point.accuracy, point.coverage, f"{i}: {in_short(point, metric)}")
        for i, point in enumerate(points)
    ]
    on_tests = f", seen on {seen[0].n_rows:,.10g}" if seen else ""
    proof = "; proven" if proven else ""
    return fragment(
        f"Front of {counted(len(points), 'design')}: "
        f"scored on {counted(points[0].n_rows, 'row')}"
        f"{on_tests}{proof}",
        f"<div>{table(headings, lines, ('buys first',))}{rest}</div>",
        scatter(dots, "cost", metric, "coverage"),
    )


def _title(name: str, points: Sequence[ParetoPoint]) -> str:
    """Heading of a scored figure; the accuracy goes by the name of its metric."""
    return metric_name(points[0].metric) if name == "accuracy" else name
