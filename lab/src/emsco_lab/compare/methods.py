"""The methods of a comparison, and how each answers questions on one split.

A rival is fitted at every setting of its grid on five folds. Rows out of fold choose the setting,
and how sure it must be to label enough rows; then it is fitted once more, on all rows. EMSCO
chooses from its fronts, which are scored out of fold as well. A method with nothing better
answers with the commonest class, for nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from emsco import Cascade, EMSCOClassifier, ErrorCosts, FeatureCosts
from emsco.errors import EMSCOWarning, ParameterError
from emsco_lab import rivals
from emsco_lab.compare.trials import (
    LOWEST_TOTAL,
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    LabelledRows,
    Offer,
    Question,
    Seen,
    TrialRows,
    cheapest,
    losses,
    places_of,
    seen_of,
)
from emsco_lab.rivals import CostedClassifier

EMSCO = "emsco"
CHAINS = "emsco_chains"  # EMSCO without branches, for a table of its own
NOTHING = "nothing"  # what every method falls back on
RIVALS = {  # the class in `emsco_lab.rivals`, and the label in tables and pictures
    "cost_aware_boosting": ("CostAwareBoosting", "CEGB"),
    "catboost": ("PenalisedCatBoost", "CatBoost"),
    "optimal_trees": ("OptimalTrees", "optimal trees"),
    "fixed_subset": ("FixedSubset", "fixed subset"),
    "threshold_cascade": ("ThresholdCascade", "threshold cascade"),
    "dime": ("DIME", "DIME"),
    "greedy_miser": ("GreedyMiser", "Greedy Miser"),
    "cstc": ("CSTC", "CSTC"),
    "cact_lasso": ("CaCTLasso", "CaCT LASSO"),
    "cost_ordered": ("CostOrdered", "CO-T"),
}
METHODS = (EMSCO, *RIVALS)
_LABELS = {
    EMSCO: "EMSCO",
    CHAINS: "EMSCO, chains alone",
    NOTHING: "nothing bought",
    **{method: label for method, (_, label) in RIVALS.items()},
}
_FOLDS = 5
_THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
_ROUNDING = 1e-6  # of a row
_CHANCE = 3.0  # standard errors by which the coverage of one fold may fall short

T = TypeVar("T")


def label_of(method: str) -> str:
    """Return the name of a method in tables and drawings."""
    return _LABELS[method]


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return each method once; refuse unknown ones, with a near miss if there is one."""
    known = {name: one for one in (*METHODS, CHAINS) for name in (label_of(one).lower(), one)}
    for method in methods:
        if method not in known.values():
            near = get_close_matches(str(method).lower(), known, n=1)
            hint = f" Did you mean {known[near[0]]!r}?" if near else ""
            raise ParameterError(
                f"method must be one of {', '.join(METHODS)}, got {method!r}.{hint}"
            )
    if not methods:
        raise ParameterError("methods must name a method or more, got none.")
    return tuple(dict.fromkeys(methods))


def check_installed(methods: Sequence[str]) -> None:
    """Refuse methods whose packages are not installed."""
    for method in methods:
        if method in RIVALS:
            getattr(rivals, RIVALS[method][0]).check_installed()


def new_rival(method: str, costs: FeatureCosts, **parameters: Any) -> CostedClassifier:
    """Make a rival."""
    rival: CostedClassifier = getattr(rivals, RIVALS[method][0])(costs, **parameters)
    return rival


def spread(items: Sequence[T], max_items: int) -> list[T]:
    """Pick at most `max_items` items, evenly from the first to the last.

    Examples
    --------
    >>> spread("abcdefg", 3)
    ['a', 'd', 'g']
    """
    places = np.linspace(0, len(items) - 1, min(max_items, len(items)))
    return [items[round(place)] for place in places.tolist()]


def setting_words(setting: dict[str, Any]) -> str:
    """Put a setting of a rival into words.

    Examples
    --------
    >>> setting_words({"depth": 3, "penalty": 1 / 3})
    'depth 3, penalty 0.3333'
    """
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in setting.items()
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A setting of a rival, out of fold.

    Attributes
    ----------
    setting, differs : dict
        Parameters to fit with, and those of the stage of the fit.
    correct, confidence, cost, loss : ndarray of shape (n_rows,)
        The loss is that of the labels and rejections of least expected cost; 0 everywhere if
        errors have no cost.
    """

    setting: dict[str, Any]
    differs: dict[str, Any]
    correct: BoolArray
    confidence: FloatArray
    cost: FloatArray
    loss: FloatArray


class _Promise(NamedTuple):
    """A candidate out of fold, where rows below a confidence are rejected."""

    coverage: float
    accuracy: float
    cost: float
    threshold: float


def answer_with_rival(
    rival: CostedClassifier,
    trial: TrialRows,
    questions: Sequence[Question],
    max_settings: int,
    prices: ErrorCosts | None = None,
) -> list[Offer]:
    """Tune a rival on folds, and test what it offers; at most `max_settings` settings are tried.

    With costs of errors, the one offer is the setting of the lowest total, with labels and
    rejections of least expected cost; no other question is answered.
    """
    rows, test = trial.fitted, trial.test
    grid = rival.comparison_grid(trial.costs, len(rows.y))
    if grid == [{}]:  # no knob: thresholds are its settings
        chance = 1 / len(np.unique(rows.y))
        grid = [{"min_confidence": one} for one in _THRESHOLDS if one > chance]
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, which the choice on folds judges
        five = StratifiedKFold(_FOLDS, shuffle=True, random_state=trial.seed)
        labels = np.unique(rows.y, return_inverse=True)[1]
        folds = list(five.split(labels, labels))
        menu = [
            one
            for setting in spread(grid, max_settings)
            for one in _out_of_fold(rival, setting, rows, folds, prices)
        ]

        # Many questions choose the same setting: it is fitted once, and tested at all its stages.
        @cache
        def stages(setting: str) -> dict[str, CostedClassifier]:
            parameters = next(one.setting for one in menu if repr(one.setting) == setting)
            return {
                repr(differs): stage for differs, stage in _fit(rival, parameters, rows).staged()
            }

        def fitted(one: _Candidate) -> CostedClassifier:
            return stages(repr(one.setting))[repr(one.differs)]

        def words(one: _Candidate) -> str:
            return setting_words({**one.setting, **one.differs})

        if prices is not None:
            totals = [float((one.cost + one.loss).mean()) for one in menu]
            lowest = min(range(len(menu)), key=totals.__getitem__)
            (nothing,) = answer_with_nothing(trial, questions, prices)
            if nothing.promised <= totals[lowest]:
                return [nothing]
            stage = fitted(menu[lowest])
            given = cheapest(prices, stage.predict_proba(test.X), stage.classes_)
            seen = seen_of(prices, given, stage.decide(test.X).cost, test.y)
            return [Offer(LOWEST_TOTAL, words(menu[lowest]), totals[lowest], seen)]
        promised = {
            coverage: [_rejecting(one, folds, coverage) for one in menu]
            for coverage in {question.coverage for question in questions}
        }
        offers = []
        for question in questions:
            points = promised[question.coverage]
            best = _best_within(points, [one.accuracy for one in points], question, trial)
            if best is None:
                offers += answer_with_nothing(trial, [question])
                continue
            decisions = fitted(menu[best]).decide(test.X)
            accepted = decisions.confidence >= points[best].threshold
            seen = _seen(decisions, accepted, test.y)
            offers.append(Offer(question, words(menu[best]), points[best].accuracy, seen))
    return offers


def _seen(decisions: Any, accepted: BoolArray, y: AnyArray) -> Seen:
    """Test decisions, of EMSCO or of a rival."""
    correct = np.asarray(decisions.guesses == y) & accepted
    return Seen(correct, accepted, float(decisions.cost.mean()))


def _out_of_fold(
    rival: CostedClassifier,
    setting: dict[str, Any],
    rows: LabelledRows,
    folds: Sequence[tuple[IntArray, IntArray]],
    prices: ErrorCosts | None,
) -> list[_Candidate]:
    """Decide every row by a rival that was fitted without it, at each stage of its fits."""
    n_rows = len(rows.y)
    candidates: dict[str, _Candidate] = {}
    for train, rest in folds:
        held_out = rows.take(rest)
        # One fit may contain others, such as those with fewer trees: each is a candidate.
        for differs, stage in _fit(rival, setting, rows.take(train)).staged():
            numbers = (np.zeros(n_rows) for _ in range(3))
            candidate = candidates.setdefault(
                repr(differs), _Candidate(setting, differs, np.zeros(n_rows, np.bool_), *numbers)
            )
            decisions = stage.decide(held_out.X)
            candidate.correct[rest] = decisions.guesses == held_out.y
            candidate.confidence[rest] = decisions.confidence
            candidate.cost[rest] = decisions.cost
            if prices is not None:
                given = cheapest(prices, stage.predict_proba(held_out.X), stage.classes_)
                candidate.loss[rest] = losses(prices, given, held_out.y)
    return list(candidates.values())


def _fit(rival: CostedClassifier, setting: dict[str, Any], rows: LabelledRows) -> CostedClassifier:
    made: CostedClassifier = clone(rival).set_params(**setting)
    return made.fit(rows.X, rows.y)


def _rejecting(
    one: _Candidate, folds: Sequence[tuple[IntArray, IntArray]], coverage: float
) -> _Promise:
    """Reject the least sure rows out of fold.

    Enough rows are labelled of all, and of every fold but for chance. Many rows may share a
    confidence, and the models of folds disagree a little about it: a cut that some of them put
    above these rows and others below would label all of them or none on new rows.
    """
    threshold = -np.inf
    if coverage < 1:
        threshold = _cut(one.confidence, coverage)
        for _, rows in folds:
            chance = _CHANCE * math.sqrt(coverage * (1 - coverage) / len(rows))
            threshold = min(threshold, _cut(one.confidence[rows], coverage - chance))
    accepted = one.confidence >= threshold
    correct = float(one.correct[accepted].mean())
    return _Promise(float(accepted.mean()), correct, float(one.cost.mean()), threshold)


def _cut(confidence: FloatArray, coverage: float) -> float:
    """Return the confidence half-way between the last row to label and the surest to reject."""
    sure = np.sort(confidence)[::-1]
    last = sure[max(0, math.ceil(coverage * len(sure) - _ROUNDING) - 1)]
    below = sure[sure < last]
    return float((last + below[0]) / 2) if len(below) else -np.inf


def _best_within(
    points: Sequence[Any], merits: Sequence[float], question: Question, trial: TrialRows
) -> int | None:
    """Return the place of the most meritorious point within the limits; of equals the cheapest.

    None if that promises no more than the commonest class, which costs nothing.
    """
    within = [
        (merit, -one.cost, -place)  # the place, so that ties do not depend on the sort
        for place, (one, merit) in enumerate(zip(points, merits, strict=True))
        if question.allows(one.coverage, one.cost, trial.costs.total)
    ]
    if not within:
        return None
    best = -max(within)[2]
    return best if points[best].accuracy > trial.fitted.commonest()[1] else None


def answer_with_nothing(
    trial: TrialRows, questions: Sequence[Question], prices: ErrorCosts | None = None
) -> list[Offer]:
    """Offer the commonest class for nothing or, with costs of errors, what costs least."""
    y = trial.test.y
    if prices is None:
        label, share = trial.fitted.commonest()
        seen = Seen(np.asarray(y == label), np.ones(len(y), np.bool_), 0.0)
        return [Offer(question, "", share, seen) for question in questions]
    classes, counts = np.unique(trial.fitted.y, return_counts=True)
    shares = np.broadcast_to(counts / counts.sum(), (len(y), len(counts)))
    given = cheapest(prices, shares, classes)
    everyone = np.full(len(trial.fitted.y), given[0])
    promised = float(losses(prices, everyone, trial.fitted.y).mean())
    labels = (*(f"{label!r} for everyone" for label in prices.labels), "no label for anyone")
    seen = seen_of(prices, given, np.zeros(len(y)), y)
    return [Offer(LOWEST_TOTAL, labels[given[0]], promised, seen)]


def answer_with_emsco(
    trial: TrialRows,
    questions: Sequence[Question],
    prices: ErrorCosts | None = None,
    **settings: Any,
) -> list[Offer]:
    """Fit EMSCO, and test what its fronts offer.

    One search looks for designs that answer everyone, and another, if a question allows it, for
    designs that may reject rows. Of both fronts, each question takes the design that the rule
    "accurate" prefers. With costs of errors, the one offer is the design that a search for the
    lowest total deploys.
    """
    test = trial.test
    if prices is not None:
        rejections = dict(zip(prices.labels, prices.costs[:, -1].tolist(), strict=True))
        fit = _fitted(
            trial,
            error_cost=prices.costs[:, :-1],
            reject_cost=rejections if prices.may_reject else None,
            **settings,
        )
        decisions = fit.cascade_.decide(test.X)
        given = places_of(prices, decisions.guesses)
        given[~decisions.accepted] = len(prices.labels)
        promised, point = fit.point_.total_with(prices).value, fit.point_
        seen = seen_of(prices, given, decisions.cost, test.y)
        return [Offer(LOWEST_TOTAL, str(point.design), promised, seen)]
    fits = [_fitted(trial, always_answer=True, **settings)]
    if any(question.coverage < 1 for question in questions):
        if choice := fits[0].model_choice_:
            settings["estimator"] = choice.family  # the same rows would choose it again
        fits.append(_fitted(trial, **settings))
    menu = [  # to buy nothing is what every method falls back on
        (fit.front_, place, point)
        for fit in fits
        for place, point in enumerate(fit.front_)
        if not point.design.buys_nothing
    ]
    points = [point for _, _, point in menu]
    merits = [point.steadied_accuracy for point in points]

    @cache
    def tested(number: int) -> Seen:
        front, place, _ = menu[number]
        cascade: Cascade = front.cascade(place)
        decisions = cascade.decide(test.X)
        return _seen(decisions, decisions.accepted, test.y)

    offers = []
    for question in questions:
        best = _best_within(points, merits, question, trial)
        if best is None:
            offers += answer_with_nothing(trial, [question])
            continue
        # Users are told to expect the accuracy corrected for selection.
        point = points[best]
        promised = point.accuracy if point.expected is None else point.expected.accuracy.value
        offers.append(Offer(question, str(point.design), promised, tested(best)))
    return offers


def _fitted(trial: TrialRows, **settings: Any) -> EMSCOClassifier:
    made = EMSCOClassifier(
        trial.costs, gaps="impute", random_state=trial.seed, n_jobs=1, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        return made.fit(trial.fitted.X, trial.fitted.y)
