"""Tables of a front: text for a terminal, HTML for a notebook, columns for data frames."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.objectives import Objectives, metric_brief, metric_name
from emsco._base.text import aligned, counted, in_short, listed, objective_lines, shorten, whole
from emsco.data.frames import Columns
from emsco.designs.thresholds import in_words
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference
from emsco.plotting.notebook import Dot, fragment, note, scatter, table

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

NO_BETTER = "≈"  # marks a design that tells no more than the commonest class
_OBJECTIVES = ("coverage", "accuracy", "cost")
_TEXT_LINES = 10
_HTML_LINES, _MOST_NAMES = 8, 12


def no_better(references: Sequence[Reference]) -> str:
    """Explain the mark of designs that are not informative."""
    than = f"always answering {references[0].label!r}" if references else "the commonest class"
    return f"{NO_BETTER} no better than {than}, or only by chance"


def front_text(front: ParetoFront) -> str:
    """List points of the shortlist, evenly over costs, one line each, and the references below."""
    points, shortlist = front.points, front.shortlist()
    proof = ", proven" if front.proven else ""
    scored = f"scored on {points[0].rows_in_words}"
    lines = [f"ParetoFront of {counted(len(points), 'point')}, {scored}{proof}"]
    if len(shortlist) < len(points):
        lines[0] += f"; {len(shortlist):,} differ beyond noise"
    heading = metric_brief(front.metric)
    has_expected = all(points[i].expected for i in shortlist)
    expect = "  expected" if has_expected else ""
    delay = "      delay" if front.costs.has_delays else ""
    total = "      total" if front.money is not None else ""
    lines.append(f"  #  coverage {heading:>9}{expect}       cost{delay}{total}  design")
    shown = _spread(shortlist, _TEXT_LINES, front.deployed)
    for i in shown:
        mark = " " if points[i].is_informative else NO_BETTER
        mark = "▶" if i == front.deployed else mark
        room = 60 - len(expect) - len(delay) - len(total)
        design = shorten(points[i].design.arrows(), room)
        more = f"  {points[i].mean_delay:9.4g}" if delay else ""
        if front.money is not None:
            more += f"  {points[i].total_with(front.money).value:9.4g}"
        lines.append(f"{i:>3}{mark} {_figures(points[i], has_expected)}{more}  {design}")
    if len(points) > len(shown):
        lines.append(f"     … and {len(points) - len(shown):,} more; to_pandas() has all")
    for one in front.references:
        more = f"  {one.delay(front.costs):9.4g}" if delay else ""
        if front.money is not None:
            more += f"  {one.total_with(front.money).value:9.4g}"
        figures = _figures(one.scored_by(front.metric), has_expected)
        lines.append(f"     {figures}{more}  {shorten(one.title, 50)}")
    if not all(points[i].is_informative for i in shown):
        lines.append(no_better(front.references))
    return "\n".join(lines)


def _spread(shortlist: list[int], n_lines: int, deployed: int | None) -> list[int]:
    """Some positions of a shortlist, evenly, and that of the deployed point."""
    places = np.linspace(0, len(shortlist) - 1, min(len(shortlist), n_lines))
    shown = {shortlist[int(place)] for place in places}
    return sorted(shown if deployed is None else {*shown, deployed})


def _figures(figures: Objectives, has_expected: bool) -> str:
    expected = figures.expected if isinstance(figures, ParetoPoint) else None
    accuracy = f"{expected.accuracy.value:10.3f}" if expected else " " * 10
    more = accuracy if has_expected else ""
    return f"{figures.coverage:8.3f}  {figures.accuracy:8.3f}{more}  {figures.cost:9.6g}"


def front_columns(front: ParetoFront) -> Columns:
    """Collect one row per point: scored and seen figures, and the stage that buys each feature.

    If the search was for the lowest total, columns have what errors and rejections cost, and the
    total. If a design has thresholds of its own, a column has them as text, as in "0.9 → 0.75". If
    one branches, a column has the designs as text, and the stage is the first that buys a feature.
    """
    points, seen = front.points, front.seen
    has_delays = front.costs.has_delays
    columns: dict[str, Any] = {
        metric_name(front.metric) if name == "accuracy" else name: [
            getattr(point, name) for point in points
        ]
        for name in (*_OBJECTIVES, "n_stages", "n_tied")
    }
    if has_delays:
        columns["mean delay"] = [point.mean_delay for point in points]
        columns["worst delay"] = [point.worst_delay for point in points]
    money = front.money
    if money is not None:
        # Without results by class, as after Ctrl-C, nobody knows.
        losses = [
            math.nan if one.by_class is None else money.losses(one.by_class) for one in points
        ]
        columns["error cost"] = losses
        columns["total"] = [point.cost + lost for point, lost in zip(points, losses, strict=True)]
    expected = [point.expected for point in points if point.expected is not None]
    if len(expected) == len(points):
        has_total = all(one.total is not None for one in expected)
        for name in (*_OBJECTIVES, "total") if has_total else _OBJECTIVES:
            estimates = [getattr(one, name) for one in expected]
            columns[f"expected {name}"] = [one.value for one in estimates]
            columns[f"expected {name} low"] = [one.low for one in estimates]
            columns[f"expected {name} high"] = [one.high for one in estimates]
    if seen is not None:
        for name in _OBJECTIVES:
            columns[f"seen {name}"] = [getattr(one, name) for one in seen]
        if money is not None:
            columns["seen total"] = [one.cost + money.mean(one.by_class) for one in seen]
        if has_delays:
            columns["seen mean delay"] = [one.mean_delay for one in seen]
    by_class = [point.by_class for point in points if point.by_class is not None]
    if by_class:
        recalls = [one.recall.tolist() for one in by_class]
        for j, label in enumerate(by_class[0].labels):
            columns[f"recall of {label}"] = [recall[j] for recall in recalls]
            if len(expected) == len(points) and all(one.recall for one in expected):
                columns[f"expected recall of {label}"] = [one.recall[j].value for one in expected]
        columns["informative"] = [point.is_informative for point in points]
        columns["shortlisted"] = [point.shortlisted for point in points]
    if any(point.design.thresholds for point in points):
        thresholds = (point.design.thresholds_or(front.min_confidence) for point in points)
        columns["thresholds"] = [in_words(*one) for one in thresholds]
    if not all(point.design.is_chain for point in points):
        columns["design"] = [point.design.arrows() for point in points]
    first_stages = [point.design.stages.tolist() for point in points]
    for i, name in enumerate(front.costs.names):
        columns[f"stage of {name}"] = [stages[i] + 1 for stages in first_stages]
    return columns


def front_html(front: ParetoFront) -> str:
    """Show the shortlist and the references as a table, and the shortlist as a picture."""
    points, seen, metric = front.points, front.seen, metric_name(front.metric)
    shortlist = front.shortlist()
    shown, notes = _spread(shortlist, _HTML_LINES, front.deployed), []
    columns = _html_columns(front, shown)
    lines = list(zip(*columns.values(), strict=True))
    dots = front_dots(front, front.deployed)
    if len(shortlist) < len(points):
        notes.append(f"{len(shortlist):,} of {len(points):,} designs differ beyond noise.")
    if len(points) > len(shown):
        notes.append(f"{len(points) - len(shown):,} more; to_pandas() has all.")
    if not all(points[i].is_informative for i in shown):
        notes.append(f"{no_better(front.references)}.")
    on_tests = f", seen on {whole(seen[0].n_rows)}" if seen else ""
    proof = "; proven" if front.proven else ""
    return fragment(
        f"Front of {counted(len(points), 'design')}: scored on {points[0].rows_in_words}"
        f"{on_tests}{proof}",
        f"<div>{table(tuple(columns), lines, ('buys first',))}{''.join(map(note, notes))}</div>",
        scatter(dots, "cost", metric, "coverage"),
    )


def front_dots(
    front: ParetoFront, number: int | None, within: Collection[int] | None = None
) -> list[Dot]:
    """Return dots of the shortlist, of the design `number` with a ring, and crosses of references.

    Designs that are not `within` some limits are faint.
    """
    metric, dots = metric_name(front.metric), []
    near = {*range(len(front))} if within is None else {*within}
    for i, point in enumerate(front.points):
        if i != number and (point.rejects_everyone or not point.shortlisted):
            continue
        look = "" if i in near else "faint"
        if i == number:
            look = "ring"
        says = f"{i}: {in_short(point, metric)}"
        dots.append(Dot(point.cost, point.accuracy, point.coverage, says, look))
    for one in front.references:
        figures = one.scored_by(front.metric)
        says = f"{one.title}: {in_short(figures, metric)}"
        dots.append(Dot(figures.cost, figures.accuracy, figures.coverage, says, "cross"))
    return dots


def _html_columns(front: ParetoFront, shown: Sequence[int]) -> dict[str, Sequence[str]]:
    """Cells of some points, and of the references below them, by heading."""
    points, references = [front.points[i] for i in shown], front.references
    blanks, metric = [""] * len(references), metric_name(front.metric)
    marks = ["" if point.is_informative else f" {NO_BETTER}" for point in points]
    numbers = [f"▶ {i}" if i == front.deployed else f"{i}" for i in shown]
    columns: dict[str, Sequence[str]] = {
        "#": [f"{number}{mark}" for number, mark in zip(numbers, marks, strict=True)] + blanks
    }
    scored = objective_lines([*points, *(one.scored_by(front.metric) for one in references)])
    columns |= zip(("coverage", metric, "cost"), zip(*scored, strict=True), strict=True)
    if front.costs.has_delays:
        columns["mean delay"] = delay_cells(front, shown, front.references)
    if front.money is not None:
        totals = [point.total_with(front.money).value for point in points]
        totals += [one.total_with(front.money).value for one in references]
        columns["total"] = aligned(totals)
    expected = [str(point.expected.accuracy) for point in points if point.expected]
    if len(expected) == len(points):
        columns[f"expected {metric}"] = expected + blanks
    if front.seen:
        on_tests = objective_lines([*(front.seen[i] for i in shown), *front.seen_references])
        on_tests += [("", "", "")] * (len(scored) - len(on_tests))
        for name, cells in zip(_OBJECTIVES, zip(*on_tests, strict=True), strict=True):
            columns[f"seen {name}"] = cells
    columns["buys first"] = [
        one.design.arrows()
        if one.design.buys_nothing
        else f"{listed(one.design.buys[0], _MOST_NAMES)} "
        f"{one.design.threshold_in_words(0)}".rstrip()
        for one in points
    ] + [one.title for one in references]
    columns["stages"] = [str(point.n_stages) for point in points] + blanks
    return columns


def delay_cells(
    front: ParetoFront, shown: Sequence[int], references: Sequence[Reference]
) -> list[str]:
    """Mean delay of some points, and of the references below them, as text."""
    points = [front.points[i].mean_delay for i in shown]
    return aligned([*points, *(one.delay(front.costs) for one in references)])
