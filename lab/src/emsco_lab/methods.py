"""The methods of a comparison, and how each answers questions on one split.

A rival is fitted at every setting of its grid on five folds. Rows out of fold choose the setting,
and how sure it must be to label enough rows; then it is fitted once more, on all rows. EMSCO
chooses from its fronts, which are scored out of fold as well. A method with nothing better
may answer with the commonest class, for nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from emsco._base.checks import refused
from emsco._base.objectives import Objectives
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade import Cascade, Decisions
from emsco.costs import FeatureCosts
from emsco.errors import DataError, EMSCOWarning
from emsco.estimator import EMSCOClassifier
from emsco_lab import rivals
from emsco_lab.rivals import CostedClassifier
from emsco_lab.trials import (
    ANYTHING,
    LOWEST_TOTAL,
    LabelledRows,
    Offer,
    Prices,
    Question,
    Seen,
    TrialRows,
)

EMSCO = "emsco"
CHAINS = "emsco_chains"  # EMSCO without branches, for a column outside the ranks
COMMONEST, NOTHING = "commonest", "nothing"  # lines of tables for what needs no method
RIVALS = {  # the class in `emsco_lab.rivals`, and the label in tables and pictures
    "cost_aware_boosting": ("CostAwareBoosting", "CEGB"),
    "catboost": ("PenalisedCatBoost", "CatBoost"),
    "optimal_trees": ("OptimalTrees", "optimal trees"),
    "fixed_subset": ("FixedSubset", "fixed subset"),
    "threshold_cascade": ("ThresholdCascade", "threshold cascade"),
    "aaco": ("AACO", "AACO"),
    "dime": ("DIME", "DIME"),
    "greedy_miser": ("GreedyMiser", "Greedy Miser"),
    "astc": ("ASTC", "ASTC"),
    "cstc": ("CSTC", "CSTC"),
    "cact_lasso": ("CaCTLasso", "CaCT LASSO"),
    "cost_ordered": ("CostOrdered", "CO-T"),
}
METHODS = (EMSCO, *RIVALS)
_OTHER_LABELS = {
    EMSCO: "EMSCO",
    CHAINS: "EMSCO, chains alone",
    COMMONEST: "commonest class",
    NOTHING: "nothing bought",
}
_MAX_FEATURES = {"aaco": 40}  # of data that a rival is tried on: with 50, an hour is not enough
_FOLDS = 5
_THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
_ROUNDING = 1e-9
_CHANCE = 3.0  # standard errors by which the coverage of one fold may fall short

T = TypeVar("T")
Fold = tuple[IntArray, IntArray]  # rows to fit on, and rows to decide


def label_of(method: str) -> str:
    """Name of a method in tables and drawings."""
    return RIVALS[method][1] if method in RIVALS else _OTHER_LABELS[method]


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return each method once; a label or a near miss is refused with the name that was meant."""
    if not methods:
        raise refused("methods", "name one method or more", methods, got="none")
    for method in methods:
        if method not in METHODS:
            listed = ", ".join(f'"{one}"' for one in METHODS)
            known = {_folded(text): one for one in METHODS for text in (label_of(one), one)}
            near = get_close_matches(_folded(str(method)), known, n=1)
            hint = f'did you mean "{known[near[0]]}"?' if near else ""
            raise refused("methods", f"be one of {listed}", method, hint=hint)
    return tuple(dict.fromkeys(methods))


def check_installed(methods: Sequence[str]) -> None:
    """Refuse methods whose packages are not installed."""
    for method in methods:
        if method in RIVALS:
            getattr(rivals, RIVALS[method][0]).check_installed()


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def new_rival(method: str, costs: FeatureCosts, **parameters: Any) -> CostedClassifier:
    """Make a rival.

    Raises
    ------
    DataError
        If there are more features than the rival can deal with in hours.
    """
    class_name, label = RIVALS[method]
    n_features = len(costs.names)
    if n_features > (max_features := _MAX_FEATURES.get(method, n_features)):
        raise DataError(
            f"data must have at most {max_features} features for {label}, got {n_features}; it "
            "would take hours."
        )
    rival: CostedClassifier = getattr(rivals, class_name)(costs, **parameters)
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
    """A setting of a rival in words.

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
    correct, confidence, cost : ndarray of shape (n_rows,)
    accepted, right, loss : ndarray of shape (n_rows,)
        Whether a row gets a label, and the correct one, if labels and rejections are those of least
        expected cost, and what that costs; 0 everywhere if errors have no price.
    """

    setting: dict[str, Any]
    differs: dict[str, Any]
    correct: BoolArray
    confidence: FloatArray
    cost: FloatArray
    accepted: BoolArray
    right: BoolArray
    loss: FloatArray


class _Tested(NamedTuple):
    """A fitted rival on the test rows."""

    decisions: Decisions
    probabilities: FloatArray
    classes: AnyArray


def answer_with_rival(
    rival: CostedClassifier,
    trial: TrialRows,
    questions: Sequence[Question],
    max_settings: int,
    prices: Prices | None = None,
) -> list[Offer]:
    """Tune a rival on folds, and test what it offers; at most `max_settings` settings are tried.

    With prices of errors, the last offer is the setting of the lowest total, with labels and
    rejections of least expected cost.
    """
    grid = rival.comparison_grid(trial.costs, len(trial.fitted.y))
    if grid == [{}]:  # no knob: thresholds are its settings
        chance = 1 / len(np.unique(trial.fitted.y))
        grid = [{"min_confidence": one} for one in _THRESHOLDS if one > chance]
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, which the choice on folds judges
        rows, test = trial.fitted, trial.test
        _, labels = np.unique(rows.y, return_inverse=True)
        five = StratifiedKFold(_FOLDS, shuffle=True, random_state=trial.seed)
        folds = list(five.split(labels, labels))
        menu = [
            one
            for setting in spread(grid, max_settings)
            for one in _out_of_fold(rival, setting, rows, folds, prices)
        ]
        counts = rows.counts / rows.counts.sum()
        rejecting = {
            coverage: [_rejecting(one, counts, folds, coverage) for one in menu]
            for coverage in dict.fromkeys(question.coverage for question in questions)
        }
        # Many questions choose the same setting: it is fitted once, and tested at all its stages.
        fitted: dict[str, dict[str, _Tested]] = {}

        def tested(one: _Candidate) -> _Tested:
            if repr(one.setting) not in fitted:
                fitted[repr(one.setting)] = {
                    repr(differs): _Tested(
                        stage.decide(test.X), stage.predict_proba(test.X), stage.classes_
                    )
                    for differs, stage in _fit(rival, one.setting, rows).staged()
                }
            return fitted[repr(one.setting)][repr(one.differs)]

        offers = []
        for question in questions:
            promised = [figures for figures, _ in rejecting[question.coverage]]
            merits = [one.accuracy for one in promised]
            best = _best_within(promised, merits, question, trial)
            if best is None:
                offers.append(_commonest(trial, question, prices))
                continue
            decisions, probabilities, classes = tested(menu[best])
            accepted = decisions.confidence >= rejecting[question.coverage][best][1]
            seen = Seen.from_rows(
                np.asarray(decisions.guesses == test.y),
                accepted,
                decisions.cost,
                _chances(probabilities, classes, test.y),
                test.weights,
                trial.members,
                None if prices is None else prices.losses_of(decisions.guesses, accepted, test.y),
            )
            words = setting_words({**menu[best].setting, **menu[best].differs})
            offers.append(Offer(question, words, promised[best], seen))
        if prices is not None:
            totals = [float(counts @ (one.cost + one.loss)) for one in menu]
            nothing = _nothing(trial, prices)
            lowest = min(range(len(menu)), key=totals.__getitem__)
            if nothing.promised_total is not None and nothing.promised_total <= totals[lowest]:
                return [*offers, nothing]
            offers.append(
                _lowest_total(trial, prices, menu[lowest], totals[lowest], tested(menu[lowest]))
            )
    return offers


def _lowest_total(
    trial: TrialRows, prices: Prices, one: _Candidate, total: float, tested: _Tested
) -> Offer:
    """Offer a setting of a rival, with labels and rejections of least expected cost."""
    test = trial.test
    given, accepted = prices.cheapest(tested.probabilities, tested.classes)
    seen = Seen.from_rows(
        prices.right(given, accepted, test.y),
        accepted,
        tested.decisions.cost,
        _chances(tested.probabilities, tested.classes, test.y),
        test.weights,
        trial.members,
        prices.losses(given, accepted, test.y),
    )
    counts = trial.fitted.counts / trial.fitted.counts.sum()
    labelled = 1.0 if one.accepted.all() else float(counts @ one.accepted)  # sums round
    correct = float(counts @ one.right) / (labelled or 1.0)
    promised = Objectives(min(1.0, labelled), min(1.0, correct), float(counts @ one.cost))
    words = setting_words({**one.setting, **one.differs})
    return Offer(ANYTHING, words, promised, seen, LOWEST_TOTAL, total)


def _nothing(trial: TrialRows, prices: Prices) -> Offer:
    """Offer the label, or the rejection, that costs least for everyone, for nothing."""
    rows, test = trial.fitted, trial.test
    classes, labels = np.unique(rows.y, return_inverse=True)
    shares = np.bincount(labels, rows.counts) / rows.counts.sum()
    everyone = np.broadcast_to(shares, (len(test.y), len(shares)))
    given, accepted = prices.cheapest(everyone, classes)
    seen = Seen.from_rows(
        prices.right(given, accepted, test.y),
        accepted,
        np.zeros(len(test.y)),
        _chances(everyone, classes, test.y),
        test.weights,
        trial.members,
        prices.losses(given, accepted, test.y),
    )
    on_fitted = np.full(len(rows.y), given[0]), np.full(len(rows.y), accepted[0])
    counts = rows.counts / rows.counts.sum()
    total = float(counts @ prices.losses(*on_fitted, rows.y))
    correct = min(1.0, float(counts @ prices.right(*on_fitted, rows.y)))
    promised = Objectives(float(accepted[0]), correct, 0.0)
    label = f"{prices.classes.tolist()[given[0]]!r} for everyone"
    words = label if accepted[0] else "no label for anyone"
    return Offer(ANYTHING, words, promised, seen, LOWEST_TOTAL, total)


def _out_of_fold(
    rival: CostedClassifier,
    setting: dict[str, Any],
    rows: LabelledRows,
    folds: Sequence[Fold],
    prices: Prices | None,
) -> list[_Candidate]:
    """Decide every row by a rival that was fitted without it, at each stage of its fits."""
    n_rows = len(rows.y)
    candidates: dict[str, _Candidate] = {}
    for train, rest in folds:
        # One fit may contain others, such as those with fewer trees: each is a candidate.
        for differs, stage in _fit(rival, setting, rows.take(train)).staged():
            candidate = candidates.setdefault(
                repr(differs),
                _Candidate(
                    setting,
                    differs,
                    correct=np.zeros(n_rows, np.bool_),
                    confidence=np.zeros(n_rows),
                    cost=np.zeros(n_rows),
                    accepted=np.zeros(n_rows, np.bool_),
                    right=np.zeros(n_rows, np.bool_),
                    loss=np.zeros(n_rows),
                ),
            )
            decisions = stage.decide(rows.take(rest).X)
            if prices is not None:
                probabilities = stage.predict_proba(rows.take(rest).X)
                given, accepted = prices.cheapest(probabilities, stage.classes_)
                candidate.accepted[rest] = accepted
                candidate.right[rest] = prices.right(given, accepted, rows.y[rest])
                candidate.loss[rest] = prices.losses(given, accepted, rows.y[rest])
            candidate.correct[rest] = decisions.guesses == rows.y[rest]
            candidate.confidence[rest] = decisions.confidence
            candidate.cost[rest] = decisions.cost
    return list(candidates.values())


def _fit(rival: CostedClassifier, setting: dict[str, Any], rows: LabelledRows) -> CostedClassifier:
    made: CostedClassifier = clone(rival).set_params(**setting)
    return made.fit(rows.X, rows.y, rows.weights)


def _rejecting(
    one: _Candidate, counts: FloatArray, folds: Sequence[Fold], coverage: float
) -> tuple[Objectives, float]:
    """Reject the least sure rows out of fold: figures, and the threshold of confidence.

    Enough rows are labelled of all, and of every fold but for chance. Many rows may share a
    confidence, and the models of folds disagree a little about it: a cut that some of them put
    above these rows and others below would label all of them or none on new rows.
    """
    cost = float(counts @ one.cost)
    if coverage >= 1:
        return Objectives(1.0, min(1.0, float(counts @ one.correct)), cost), -np.inf
    threshold = _cut(one.confidence, counts, coverage)
    for _, rows in folds:
        chance = _CHANCE * math.sqrt(coverage * (1 - coverage) / len(rows))
        threshold = min(threshold, _cut(one.confidence[rows], counts[rows], coverage - chance))
    accepted = counts * (one.confidence >= threshold)
    share = float(accepted.sum())
    correct = min(1.0, float(accepted @ one.correct) / share)  # rounding may exceed 1
    return Objectives(min(1.0, share), correct, cost), threshold


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
    promised: Sequence[Objectives], merits: Sequence[float], question: Question, trial: TrialRows
) -> int | None:
    """Position of the most meritorious one within the limits; of equal ones the cheapest.

    None if that promises no more than the commonest class, which costs nothing.
    """
    within = [
        (merit, -one.cost, -position)  # the position, so that ties do not depend on the sort
        for position, (one, merit) in enumerate(zip(promised, merits, strict=True))
        if question.allows(one, trial.costs.total)
    ]
    if not within:
        return None
    best = -max(within)[2]
    _, share = trial.fitted.commonest()
    return best if promised[best].accuracy > share else None


def _chances(said: FloatArray, classes: AnyArray, y: AnyArray) -> FloatArray:
    """Predicted chance of each row's true class; 0 for a class that was not fitted."""
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    chances: FloatArray = said[np.arange(len(y)), place] * (classes[place] == y)
    return chances


def _commonest(trial: TrialRows, question: Question, prices: Prices | None) -> Offer:
    """Offer the commonest class for nothing."""
    label, share = trial.fitted.commonest()
    y = trial.test.y
    losses = None
    if prices is not None:
        losses = prices.losses_of(np.full(len(y), label), np.ones(len(y), dtype=np.bool_), y)
    seen = Seen.from_constant(label, y, share, trial.test.weights, trial.members, losses)
    return Offer(question, "", Objectives(1.0, share, 0.0), seen)


def answer_with_nothing(trial: TrialRows, prices: Prices | None = None) -> tuple[Offer, ...]:
    """Offer the commonest class and, with prices of errors, what costs least for everyone."""
    commonest = _commonest(trial, ANYTHING, prices)
    return (commonest,) if prices is None else (commonest, _nothing(trial, prices))


def answer_with_emsco(
    trial: TrialRows,
    questions: Sequence[Question],
    prices: Prices | None = None,
    **settings: Any,
) -> tuple[list[Offer], str]:
    """Fit EMSCO, and test what its fronts offer; also words about its stage models.

    One search looks for designs that answer everyone, and another, if a question allows it, for
    designs that may reject rows.
    Of both fronts, each question takes the design that the rule "accurate" prefers. With prices of
    errors, a third search looks for the lowest total, and what it deploys is the last offer.
    """
    priced = [] if prices is None else [_priced_offer(trial, prices, **settings)]
    everyone = _fitted(trial, always_answer=True, **settings)
    fits, choice = [everyone], everyone.model_choice_
    if any(question.coverage < 1 for question in questions):
        if choice is not None:
            settings["estimator"] = choice.family  # the same rows would choose it again
        fits.append(_fitted(trial, **settings))
    menu = [  # to buy nothing is what every method falls back on
        (fit.front_, place)
        for fit in fits
        for place, point in enumerate(fit.front_)
        if not point.design.buys_nothing
    ]
    points = [front[place] for front, place in menu]
    merits = [point.steadied_accuracy for point in points]
    offers = []
    for question in questions:
        best = _best_within(points, merits, question, trial)
        if best is None:
            offers.append(_commonest(trial, question, prices))
            continue
        front, place = menu[best]
        seen = _seen(front.cascade(place), trial, prices)
        # Users are told to expect the accuracy corrected for selection.
        _, expected = points[best].promised
        promised = replace(points[best].objectives, accuracy=expected.accuracy)
        offers.append(Offer(question, str(front[place].design), promised, seen))
    return [*offers, *priced], "" if choice is None else str(choice)


def _priced_offer(trial: TrialRows, prices: Prices, **settings: Any) -> Offer:
    """Search for the lowest total, and offer what is deployed."""
    rejections = dict(zip(prices.classes.tolist(), prices.lines[:, -1].tolist(), strict=True))
    fit = _fitted(
        trial,
        error_cost=prices.lines[:, :-1],
        reject_cost=rejections if prices.may_reject else None,
        **settings,
    )
    point, money, seen = fit.point_, fit.front_.money, _seen(fit.cascade_, trial, prices)
    _, promised = point.promised
    total = None if money is None else point.total_with(money).value
    return Offer(ANYTHING, str(point.design), promised, seen, LOWEST_TOTAL, total)


def _seen(cascade: Cascade, trial: TrialRows, prices: Prices | None) -> Seen:
    """Test a cascade."""
    rows = trial.test
    decisions = cascade.decide(rows.X)
    return Seen.from_rows(
        np.asarray(decisions.guesses == rows.y),
        decisions.accepted,
        decisions.cost,
        _chances(cascade.predict_proba(rows.X), cascade.classes, rows.y),
        rows.weights,
        trial.members,
        None if prices is None else prices.losses_of(decisions.guesses, decisions.accepted, rows.y),
    )


def _fitted(trial: TrialRows, **settings: Any) -> EMSCOClassifier:
    made = EMSCOClassifier(
        trial.costs, gaps="impute", random_state=trial.seed, n_jobs=1, **settings
    )
    rows = trial.fitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        return made.fit(rows.X, rows.y, rows.weights)
