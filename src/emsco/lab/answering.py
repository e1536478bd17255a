"""How methods answer questions: each chooses on folds of the fitted rows, and is tested on others.

A rival is fitted at every setting of its grid on five folds. Rows out of fold choose the setting,
and how sure it must be to label enough rows; then it is fitted once more, on all rows. EMSCO
chooses from its fronts, which are scored out of fold as well. Whoever has nothing better may answer
with the commonest class, for nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from emsco._base.objectives import Objectives
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade import Cascade
from emsco.costs import FeatureCosts
from emsco.errors import EMSCOWarning
from emsco.estimator import EMSCOClassifier
from emsco.front import ParetoPoint
from emsco.lab.methods import spread
from emsco.lab.questions import Offer, Question, Seen
from emsco.lab.rivals.base import CostedClassifier

_FOLDS = 5
_THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
_ROUNDING = 1e-9
_CHANCE = 3.0  # standard errors by which the coverage of one fold may fall short


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows with labels, and weights if they have some."""

    X: Any
    y: AnyArray
    weights: FloatArray | None = None

    def take(self, which: IntArray) -> LabelledRows:
        """Some of the rows, by position."""
        rows = self.X[which] if isinstance(self.X, np.ndarray) else self.X.take(which)
        return LabelledRows(
            rows, self.y[which], None if self.weights is None else self.weights[which]
        )

    @property
    def counts(self) -> FloatArray:
        """Weight of each row."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def commonest(self) -> tuple[Any, float]:
        """The commonest class, and its share of the rows."""
        classes, labels = np.unique(self.y, return_inverse=True)
        shares = np.bincount(labels, self.counts)
        return classes[shares.argmax()], float(shares.max() / shares.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The rows and costs of one trial: rows to fit and choose on, and rows to test on."""

    fitted: LabelledRows
    test: LabelledRows
    costs: FeatureCosts
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A setting of a rival, out of fold.

    Attributes
    ----------
    setting, differs : dict
        Parameters to fit with, and those of the stage of the fit.
    correct, confidence, cost : ndarray of shape (n_rows,)
    """

    setting: dict[str, Any]
    differs: dict[str, Any]
    correct: BoolArray
    confidence: FloatArray
    cost: FloatArray

    @property
    def words(self) -> str:
        """The setting in words."""
        values = {**self.setting, **self.differs}
        return ", ".join(f"{name} {_short(value)}" for name, value in values.items())


def answer_with_rival(
    rival: CostedClassifier, trial: Trial, questions: Sequence[Question], most: int
) -> list[Offer]:
    """Tune a rival on folds, and test what it offers; at most `most` settings are tried."""
    settings = spread(_settings(rival, trial), most)
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, which the choice on folds judges
        menu = [one for setting in settings for one in _out_of_fold(rival, setting, trial)]
        return _Refits(rival, trial).offers(menu, questions)


def _settings(rival: CostedClassifier, trial: Trial) -> list[dict[str, Any]]:
    """The grid of a rival, or thresholds if it has no other knob."""
    grid = rival.contest_grid(trial.costs, len(trial.fitted.y))
    if grid != [{}]:
        return grid
    least = 1 / len(np.unique(trial.fitted.y))
    return [{"min_confidence": one} for one in _THRESHOLDS if one > least]


def _out_of_fold(
    rival: CostedClassifier, setting: dict[str, Any], trial: Trial
) -> list[_Candidate]:
    """Decide every row by a rival that was fitted without it, at each stage of its fits."""
    rows = trial.fitted
    n_rows = len(rows.y)
    found: dict[str, _Candidate] = {}
    for train, rest in _folds(rows.y, trial.seed):
        for differs, stage in _fit(rival, setting, rows.take(train)).staged():
            empty = (np.zeros(n_rows, np.bool_), np.zeros(n_rows), np.zeros(n_rows))
            one = found.setdefault(repr(differs), _Candidate(setting, differs, *empty))
            decisions = stage.decide(rows.take(rest).X)
            one.correct[rest] = decisions.guesses == rows.y[rest]
            one.confidence[rest], one.cost[rest] = decisions.confidence, decisions.cost
    return list(found.values())


def _folds(y: AnyArray, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Positions to fit on and to decide, five times."""
    _, labels = np.unique(y, return_inverse=True)
    yield from StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(labels, labels)


def _fit(rival: CostedClassifier, setting: dict[str, Any], rows: LabelledRows) -> CostedClassifier:
    made: CostedClassifier = clone(rival).set_params(**setting)
    return made.fit(rows.X, rows.y, rows.weights)


class _Refits:
    """Rivals fitted on all rows, each setting once."""

    def __init__(self, rival: CostedClassifier, trial: Trial) -> None:
        self._rival = rival
        self._trial = trial
        self._folds = [rest for _, rest in _folds(trial.fitted.y, trial.seed)]
        self._known: dict[str, dict[str, tuple[BoolArray, FloatArray, FloatArray, FloatArray]]] = {}

    def offers(self, menu: Sequence[_Candidate], questions: Sequence[Question]) -> list[Offer]:
        """Choose a candidate for each question, and test it."""
        rows, total = self._trial.fitted, self._trial.costs.total
        counts = rows.counts / rows.counts.sum()
        cost = np.array([counts @ one.cost for one in menu])
        found: dict[float, list[tuple[Objectives, float]]] = {}
        for coverage in dict.fromkeys(question.coverage for question in questions):
            found[coverage] = [
                _rejecting(one, counts, self._folds, coverage, float(mean))
                for one, mean in zip(menu, cost, strict=True)
            ]
        offers = []
        for question in questions:
            promised = [one for one, _ in found[question.coverage]]
            merits = [one.accuracy for one in promised]
            best = _best_within(promised, merits, question, total)
            _, share = rows.commonest()
            if best is None or promised[best].accuracy <= share:
                offers.append(_constant(self._trial, question))
                continue
            seen = self._seen(menu[best], found[question.coverage][best][1])
            offers.append(Offer(question, menu[best].words, promised[best], seen))
        return offers

    def _seen(self, one: _Candidate, least: float) -> Seen:
        """Test a candidate that rejects rows below a confidence."""
        key = repr(one.setting)
        if key not in self._known:
            whole = _fit(self._rival, one.setting, self._trial.fitted)
            self._known[key] = {
                repr(differs): _on_rows(stage, self._trial.test)
                for differs, stage in whole.staged()
            }
        correct, confidence, cost, chances = self._known[key][repr(one.differs)]
        return Seen.from_rows(correct, confidence >= least, cost, chances, self._trial.test.weights)


def _rejecting(
    one: _Candidate,
    counts: FloatArray,
    folds: Sequence[IntArray],
    coverage: float,
    cost: float,
) -> tuple[Objectives, float]:
    """Reject the least sure rows out of fold: figures, and the least confidence.

    Enough rows are labelled of all, and of every fold but for chance. Many rows may share a
    confidence, and the models of folds disagree a little about it: a cut that some of them put
    above these rows and others below would label all of them or none on new rows.
    """
    if coverage >= 1:
        return Objectives(1.0, min(1.0, float(counts @ one.correct)), cost), -np.inf
    least = _cut(one.confidence, counts, coverage)
    for rows in folds:
        chance = _CHANCE * math.sqrt(coverage * (1 - coverage) / len(rows))
        least = min(least, _cut(one.confidence[rows], counts[rows], coverage - chance))
    accepted = counts * (one.confidence >= least)
    share = float(accepted.sum())
    correct = min(1.0, float(accepted @ one.correct) / share)  # rounding may exceed 1
    return Objectives(min(1.0, share), correct, cost), least


def _cut(confidence: FloatArray, counts: FloatArray, coverage: float) -> float:
    """The confidence half-way between the last row to label and the surest one to reject."""
    order = np.argsort(-confidence, kind="stable")
    reached = np.cumsum(counts[order])
    enough = coverage * reached[-1] - _ROUNDING
    sure = confidence[order]
    last = sure[min(int(np.searchsorted(reached, enough)), len(order) - 1)]
    below = sure[sure < last]
    return float((last + below[0]) / 2) if len(below) else -np.inf


def _best_within(
    promised: Sequence[Objectives],
    merits: Sequence[float],
    question: Question,
    total_cost: float,
) -> int | None:
    """Position of the most meritorious one within the limits; of equal ones the cheapest."""
    within = [
        (merit, -one.cost, -position)
        for position, (one, merit) in enumerate(zip(promised, merits, strict=True))
        if question.allows(one, total_cost)
    ]
    return -max(within)[2] if within else None


def _on_rows(
    fitted: Any, rows: LabelledRows
) -> tuple[BoolArray, FloatArray, FloatArray, FloatArray]:
    """Whether each guess is correct, its confidence and cost, and the chance of the true class."""
    decisions = fitted.decide(rows.X)
    return (
        np.asarray(decisions.guesses == rows.y),
        decisions.confidence,
        decisions.cost,
        _chances(fitted.predict_proba(rows.X), fitted.classes_, rows.y),
    )


def _chances(said: FloatArray, classes: AnyArray, y: AnyArray) -> FloatArray:
    """Predicted chance of each row's true class; 0 for a class that was not fitted."""
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    found: FloatArray = said[np.arange(len(y)), place] * (classes[place] == y)
    return found


def _constant(trial: Trial, question: Question) -> Offer:
    """Offer the commonest class for nothing."""
    label, share = trial.fitted.commonest()
    seen = Seen.from_constant(label, trial.test.y, share, trial.test.weights)
    return Offer(question, "", Objectives(1.0, share, 0.0), seen)


def answer_with_emsco(
    trial: Trial, questions: Sequence[Question], **settings: Any
) -> tuple[list[Offer], str]:
    """Fit EMSCO, and test what its fronts offer; also words about its stage models.

    One search looks for designs that answer everyone, and another, if a question allows it, for
    designs that may reject rows.
    Of both fronts, each question takes the design that the rule "accurate" prefers.
    """
    everyone = _fitted(trial, always_answer=True, **settings)
    fits, choice = [everyone], everyone.model_choice_
    if any(question.coverage < 1 for question in questions):
        if choice is not None:
            settings["estimator"] = choice.family  # the same rows would choose it again
        fits.append(_fitted(trial, **settings))
    menu = [(fit.front_, place) for fit in fits for place in range(len(fit.front_))]
    points = [front[place] for front, place in menu]
    merits = [point.steadied_accuracy for point in points]
    _, share = trial.fitted.commonest()
    offers = []
    for question in questions:
        best = _best_within(points, merits, question, trial.costs.total)
        if best is None or points[best].accuracy <= share:
            offers.append(_constant(trial, question))
            continue
        front, place = menu[best]
        seen = _seen(front.cascade(place), trial.test)
        offers.append(Offer(question, str(front[place].design), _promised(points[best]), seen))
    return offers, "" if choice is None else str(choice)


def _promised(point: ParetoPoint) -> Objectives:
    """What users are told to expect: the accuracy without the luck of the choice."""
    _, figures = point.promised
    return replace(point.objectives, accuracy=figures.accuracy)


def _fitted(trial: Trial, **settings: Any) -> EMSCOClassifier:
    made = EMSCOClassifier(
        trial.costs, gaps="impute", random_state=trial.seed, n_jobs=1, **settings
    )
    rows = trial.fitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        return made.fit(rows.X, rows.y, rows.weights)


def _seen(cascade: Cascade, rows: LabelledRows) -> Seen:
    """Test a cascade, which rejects rows by its own thresholds."""
    decisions = cascade.decide(rows.X)
    return Seen.from_rows(
        np.asarray(decisions.guesses == rows.y),
        decisions.accepted,
        decisions.cost,
        _chances(cascade.predict_proba(rows.X), cascade.classes, rows.y),
        rows.weights,
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
