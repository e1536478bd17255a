"""What averaging models does to expected figures: an average is less sure than its parts.

Designs are scored with the model of one split at a time, and deployed with the average of all.
Where models disagree, their average is less sure than most of them. So fewer rows leave at an early
stage, which costs more, and more rows are rejected. How many more only new rows can tell; but each
row has trained several models, and on it these can be compared with their own average. That needs
neither new rows nor labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from emsco._base.objectives import NORMAL, Estimate
from emsco._base.typing import FloatArray
from emsco.cascade import Cascade
from emsco.data.splits import Split
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.models.stage_models import averaged, parts_of

_MAX_DESIGNS, _MAX_FOLDS, _MAX_ROWS = 12, 5, 400  # compared; rows are those of a fold
# Models know the rows that trained them, and agree more about them than about new ones. On new rows
# of boosted trees, the loss was this many times as large all in all, and varied much from fit to
# fit (lab/REPORT.md). So its standard error is taken to be as large as the loss itself.
_ON_NEW_ROWS = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class SeenFold:
    """Some rows that a split scores, and the models that were trained on all of them.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
    trained : list of int
        Numbers of the splits whose models these are.
    """

    rows: FloatArray
    trained: list[int]


def allow_for_averaging(front: ParetoFront, folds: Sequence[SeenFold]) -> ParetoFront:
    """Return a front whose expected figures allow for models that are averaged.

    Rows that are rejected on top are of all classes and get no label, so the recall of each class
    falls by the same share as the coverage. The accuracy of the labels stays.

    The loss is measured on a few designs. That of the others follows from what they have to lose:
    coverage times rejection, since rows near a threshold are most where about half are rejected,
    and the standard error of the mean cost.

    Parameters
    ----------
    front : ParetoFront
        With the average of all splits' models.
    folds : sequence of SeenFold
    """
    able = [i for i, point in enumerate(front.points) if any(_to_lose(point))]
    if not folds or not able or front.models is None:
        return front
    by_coverage = sorted(able, key=lambda i: (front[i].coverage, i))
    places = np.linspace(0, len(by_coverage) - 1, min(_MAX_DESIGNS, len(by_coverage)))
    lost, to_lose = np.zeros(2), np.zeros(2)
    for place in places.astype(int).tolist():
        number = by_coverage[place]
        models, cascade = parts_of(front.models.of_points[number]), front.cascade(number)
        to_lose += _to_lose(front[number])
        for fold in folds:
            parts = [models[j] for j in fold.trained]
            average = _coverage_and_cost(replace(cascade, models=averaged(parts)), fold.rows)
            singles = [_coverage_and_cost(replace(cascade, models=one), fold.rows) for one in parts]
            lost += (np.mean(singles, axis=0) - average) / len(folds)
    rate = _ON_NEW_ROWS * lost / np.where(to_lose > 0, to_lose, 1.0)
    coverage, cost = max(0.0, rate[0]), max(0.0, -rate[1])
    return replace(front, points=tuple(_allowed(point, coverage, cost) for point in front.points))


def seen_folds(rows: FloatArray, splits: Sequence[Split]) -> list[SeenFold]:
    """Take a few rows that splits score, if several models were trained on all of them."""
    has_trained = np.zeros((len(splits), rows.shape[0]), dtype=np.bool_)
    for j, (train, _) in enumerate(splits):
        has_trained[j, train] = True
    folds = []
    for _, scored in splits[:_MAX_FOLDS]:
        seen = scored[:_MAX_ROWS]
        trained = np.flatnonzero(has_trained[:, seen].all(axis=1)).tolist()
        if len(trained) > 1:
            folds.append(SeenFold(rows[seen], trained))
    return folds


def _to_lose(point: ParetoPoint) -> tuple[float, float]:
    """Coverage times rejection, and the standard error of the cost; 0 without expected figures."""
    if point.expected is None:
        return 0.0, 0.0
    return point.coverage * (1 - point.coverage), point.expected.cost.error


def _coverage_and_cost(cascade: Cascade, rows: FloatArray) -> FloatArray:
    decisions = cascade.decide_rows(rows)
    return np.array([decisions.accepted.mean(), decisions.cost.mean()])


def _allowed(point: ParetoPoint, coverage: float, cost: float) -> ParetoPoint:
    """Move the expected figures of a point by what it loses, and widen their intervals."""
    if point.expected is None:
        return point
    rejected, error = _to_lose(point)
    share_lost = coverage * (1 - point.coverage)
    total = point.expected.total
    if total is not None and point.money is not None:
        correct, wrong, rejection = point.money.mean_costs(point.by_class)
        answer = point.accuracy * correct + (1 - point.accuracy) * wrong
        total = _moved(total, cost * error + coverage * rejected * (rejection - answer), np.inf)
    expected = replace(
        point.expected,
        total=total,
        coverage=_moved(point.expected.coverage, -coverage * rejected, 1.0),
        cost=_moved(point.expected.cost, cost * error, np.inf),
        recall=tuple(_moved(one, -share_lost * one.value, 1.0) for one in point.expected.recall),
    )
    return point.with_figures(expected=expected)


def _moved(estimate: Estimate, by: float, largest: float) -> Estimate:
    value = min(max(0.0, estimate.value + by), largest)
    doubt = NORMAL * abs(by)
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    return Estimate(
        value, max(0.0, value - hypot(below, doubt)), min(value + hypot(above, doubt), largest)
    )
