"""Tables of a front: text for a terminal, HTML for a notebook, columns for data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emsco._base.objectives import Objectives, metric_brief, metric_name
from emsco._base.text import aligned, counted, in_short, listed, objective_lines, shorten, whole
from emsco.data.frames import Columns
from emsco.designs.thresholds import thresholds_in_words
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
    """List the first points of the shortlist, one line each, and the references below."""
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
    lines.append(f"  #  coverage {heading:>9}{expect}       cost{delay}  design")
    shown = shortlist[:_TEXT_LINES]
    for i in shown:
        mark = " " if points[i].is_informative else NO_BETTER
        design = shorten(points[i].design.arrows(), 60 - len(expect) - len(delay))
        waits = f"  {points[i].mean_delay:9.4g}" if delay else ""
        lines.append(f"{i:>3}{mark} {_figures(points[i], has_expected)}{waits}  {design}")
    if len(points) > len(shown):
        lines.append(f"     … and {len(points) - len(shown)} more; to_pandas() has all")
    lines += [
        f"     {_figures(one.scored_by(front.metric), has_expected)}"
        f"{f'  {one.delay(front.costs):9.4g}' if delay else ''}  {shorten(one.title, 50)}"
        for one in front.references
    ]
    if not all(points[i].is_informative for i in shown):
        lines.append(no_better(front.references))
    return "\n".join(lines)


def front_columns(front: ParetoFront) -> Columns:
    """Collect one row per point: scored and seen figures, and the stage that buys each feature.

    If a design has thresholds of its own, a column has them as text, as in "0.9 → 0.75".
    """
    points, seen = front.points, front.seen
    columns: dict[str, Any] = {
        _title(name, front): [getattr(point, name) for point in points]
        for name in (*_OBJECTIVES, "n_stages", "n_tied")
    }
    has_delays = front.costs.has_delays
    if has_delays:
        columns["mean delay"] = [point.mean_delay for point in points]
        columns["worst delay"] = [point.worst_delay for point in points]
    columns |= _expected(points)
    if seen is not None:
        for name in _OBJECTIVES:
            columns[f"seen {name}"] = [getattr(one, name) for one in seen]
        if has_delays:
            columns["seen mean delay"] = [one.mean_delay for one in seen]
    if points[0].by_class is not None:
        columns |= _assessed(points)
    if any(point.design.thresholds for point in points):
        least = (point.design.thresholds_or(front.min_confidence) for point in points)
        columns["thresholds"] = [*map(thresholds_in_words, least)]
    for i, name in enumerate(front.costs.names):
        columns[f"stage of {name}"] = [int(point.design.stages[i]) + 1 for point in points]
    return columns


def _expected(points: Sequence[ParetoPoint]) -> dict[str, Any]:
    """Collect expected figures and the limits of their intervals, if all points have them."""
    found = [point.expected for point in points if point.expected is not None]
    if len(found) < len(points):
        return {}
    columns = {}
    for name in _OBJECTIVES:
        estimates = [getattr(one, name) for one in found]
        columns[f"expected {name}"] = [one.value for one in estimates]
        columns[f"expected {name} low"] = [one.low for one in estimates]
        columns[f"expected {name} high"] = [one.high for one in estimates]
    return columns


def _assessed(points: Sequence[ParetoPoint]) -> dict[str, Any]:
    """Collect the recall of each class on scored rows, and what the assessment says."""
    by_class = [point.by_class for point in points if point.by_class is not None]
    recalls = [one.recall.tolist() for one in by_class]
    return {
        **{
            f"recall of {label}": [recall[j] for recall in recalls]
            for j, label in enumerate(by_class[0].labels)
        },
        "informative": [point.is_informative for point in points],
        "shortlisted": [point.shortlisted for point in points],
    }


def front_html(front: ParetoFront) -> str:
    """Show the shortlist and the references as a table, and all points as a picture."""
    points, seen = front.points, front.seen
    shown = front.shortlist()[:_HTML_LINES]
    lines = _html_lines(front, shown)
    seen_headings = tuple(f"seen {name}" for name in _OBJECTIVES) if seen else ()
    own_headings = [_title(name, front) for name in _OBJECTIVES]
    metric = own_headings[1]
    expected = (f"expected {metric}",) if all(points[i].expected for i in shown) else ()
    own_headings += ["mean delay"] if front.costs.has_delays else []
    headings = ("#", *own_headings, *expected, *seen_headings, "buys first", "stages")
    dots = [
        Dot(point.cost, point.accuracy, point.coverage, f"{i}: {in_short(point, metric)}")
        for i, point in enumerate(points)
    ]
    on_tests = f", seen on {whole(seen[0].n_rows)}" if seen else ""
    proof = "; proven" if front.proven else ""
    return fragment(
        f"Front of {counted(len(points), 'design')}: "
        f"scored on {points[0].rows_in_words}"
        f"{on_tests}{proof}",
        f"<div>{table(headings, lines, ('buys first',))}{_html_notes(front, shown)}</div>",
        scatter(dots, "cost", metric, "coverage"),
    )


def _html_lines(front: ParetoFront, shown: Sequence[int]) -> list[tuple[str, ...]]:
    """Cells of some points, and of the references below them."""
    points, references = [front.points[i] for i in shown], front.references
    own: list[tuple[str, ...]] = [
        *objective_lines([*points, *(one.scored_by(front.metric) for one in references)])
    ]
    if front.costs.has_delays:
        waits = delay_cells(front, shown)
        own = [(*figures, one) for figures, one in zip(own, waits, strict=True)]
    if all(point.expected for point in points):
        more = [str(point.expected.accuracy) for point in points if point.expected]
        pairs = zip(own, [*more, *[""] * len(references)], strict=True)
        own = [(*figures, expected) for figures, expected in pairs]
    seen: list[tuple[str, ...]] = [()] * len(own)
    if front.seen:
        on_tests = objective_lines([*(front.seen[i] for i in shown), *front.seen_references])
        seen = [*on_tests, *[("", "", "")] * (len(own) - len(on_tests))]
    ends = [
        (f"{i}{'' if point.is_informative else f' {NO_BETTER}'}", _buys(point), str(point.n_stages))
        for i, point in zip(shown, points, strict=True)
    ] + [("", one.title, "") for one in references]
    return [
        (name, *figures, *others, buys, n_stages)
        for (name, buys, n_stages), figures, others in zip(ends, own, seen, strict=True)
    ]


def delay_cells(front: ParetoFront, shown: Sequence[int]) -> list[str]:
    """Mean delay of some points, and of the references below them, as text."""
    points = [front.points[i].mean_delay for i in shown]
    return aligned([*points, *(one.delay(front.costs) for one in front.references)])


def _html_notes(front: ParetoFront, shown: Sequence[int]) -> str:
    n_all, n_shortlisted = len(front.points), len(front.shortlist())
    notes = []
    if n_shortlisted < n_all:
        notes.append(f"{n_shortlisted:,} of {n_all:,} designs differ beyond noise.")
    if n_all > len(shown):
        notes.append(f"{n_all - len(shown):,} more; to_pandas() has all.")
    if not all(front.points[i].is_informative for i in shown):
        notes.append(f"{no_better(front.references)}.")
    return "".join(map(note, notes))


def _buys(point: ParetoPoint) -> str:
    buys = listed(point.design.features(0), _MOST_NAMES)
    return f"{buys} {point.design.threshold_in_words(0)}".rstrip()


def _figures(found: Objectives, has_expected: bool) -> str:
    expected = found.expected if isinstance(found, ParetoPoint) else None
    accuracy = f"{expected.accuracy.value:10.3f}" if expected else " " * 10
    more = accuracy if has_expected else ""
    return f"{found.coverage:8.3f}  {found.accuracy:8.3f}{more}  {found.cost:9.6g}"


def _title(name: str, front: ParetoFront) -> str:
    """Heading of a scored figure; the accuracy goes by the name of its metric."""
    return metric_name(front.metric) if name == "accuracy" else name
