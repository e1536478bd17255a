"""What notebooks show of a front."""

from __future__ import annotations

from collections.abc import Sequence

from emsco.cascade import Evaluation
from emsco.front.point import ParetoPoint
from emsco.notebook import Dot, fragment, listed, note, scatter, table

__all__ = ["front_html"]

_FIRST_LINES, _MOST_NAMES = 8, 12
_TESTED = ("test coverage", "test accuracy", "test cost")


def front_html(
    points: Sequence[ParetoPoint], tests: Sequence[Evaluation] | None, proven: bool
) -> str:
    """The first points as a table, tests in columns of their own; all of them as a picture."""
    lines = [
        (
            str(i),
            *_figures(point),
            *(_figures(tests[i]) if tests else ()),
            listed(point.design.features(0), _MOST_NAMES),
            str(point.n_stages),
        )
        for i, point in enumerate(points[:_FIRST_LINES])
    ]
    tested = _TESTED if tests else ()
    headings = ("#", "coverage", "accuracy", "cost", *tested, "buys first", "stages")
    more = len(points) - len(lines)
    rest = note(f"{more:,} more; to_pandas() has all.") if more > 0 else ""
    dots = [Dot(p.cost, p.accuracy, p.coverage, _says(i, p)) for i, p in enumerate(points)]
    on_tests = f", tests on {tests[0].n_rows:,.10g}" if tests else ""
    proof = "; proven" if proven else ""
    return fragment(
        f"Front of {len(points):,} designs: held-out figures on {points[0].n_rows:,.10g} rows"
        f"{on_tests}{proof}",
        f"<div>{table(headings, lines, ('buys first',))}{rest}</div>",
        scatter(dots, "cost", "accuracy", "coverage"),
    )


def _figures(result: ParetoPoint | Evaluation) -> tuple[str, str, str]:
    return f"{result.coverage:.1%}", f"{result.accuracy:.1%}", f"{result.cost:.4g}"


def _says(i: int, point: ParetoPoint) -> str:
    coverage, accuracy, cost = _figures(point)
    return f"{i}: cost {cost}, accuracy {accuracy}, coverage {coverage}"
