"""EMSCO and its rivals on one data set: all methods answer the same questions on random splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from emsco import ErrorCosts
from emsco.errors import DataError, EMSCOError
from emsco_lab._tools import LARGEST_SEED, Report, Results, check_whole
from emsco_lab.compare.methods import (
    CHAINS,
    EMSCO,
    METHODS,
    NOTHING,
    answer_with_emsco,
    answer_with_nothing,
    answer_with_rival,
    check_methods,
    new_rival,
)
from emsco_lab.compare.trials import (
    LOWEST_TOTAL,
    QUESTIONS,
    SPLITS_PER_SEED,
    CostedRows,
    FloatArray,
    IntArray,
    Offer,
    Question,
)

SPLITS = 3
MAX_SETTINGS, QUICK_SETTINGS = 48, 6  # of a rival's grid
ALPHA = 0.05  # a p-value below is called beyond chance
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
_MIN_ROWS = 5  # to fit on, of every class
_DIGITS = 9  # beyond these digits, figures differ by rounding alone
# Limits are broken clearly, not by the chance of a few rows, from here on.
_SHORT = 0.03  # coverage below the one asked for
_DEAR = 1.25  # cost, in budgets


@dataclass(frozen=True, slots=True)
class Answers:
    """What a method offers on one split.

    Attributes
    ----------
    offers : sequence of Offer
        One for each question; none if the method could not run.
    note : str
        Why there are no offers.
    seconds : float
        Processor time.
    """

    offers: Sequence[Offer]
    note: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Answers of all methods on random splits of one data set.

    Attributes
    ----------
    name : str
        Name of the data, for headings.
    answers : dict of str to dict of int to Answers
        By method and split; those of `NOTHING` are what every method falls back on.
    tested : dict of int to ndarray
        Positions of the test rows of each split.
    total_cost : float
        Cost of everything.
    prices : ErrorCosts or None
        What errors and rejections cost; then the one question is the lowest total.
    max_settings : int
        Largest number of settings tried of a rival's grid.
    complete : bool
        Whether all jobs were done.
    """

    name: str
    answers: Mapping[str, Mapping[int, Answers]]
    tested: Mapping[int, IntArray]
    total_cost: float
    prices: ErrorCosts | None = None
    max_settings: int = MAX_SETTINGS
    complete: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def splits(self) -> list[int]:
        """Splits that every method has tried."""
        return [
            split for split in self.tested if all(split in one for one in self.answers.values())
        ]

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Methods that gave no answer on one of these splits, and why."""
        return {
            method: by_split[split].note
            for method, by_split in self.answers.items()
            for split in reversed(self.splits)
            if not by_split[split].offers
        }

    @cached_property
    def methods(self) -> list[str]:
        """Methods to compare."""
        there = [one for one in self.answers if one not in (NOTHING, *self.left_out)]
        return there if self.splits else []

    @cached_property
    def questions(self) -> list[Question]:
        """Questions that all methods answer."""
        return [offer.question for offer in self._offers(NOTHING, self.splits[0])]

    def _offers(self, method: str, split: int) -> Sequence[Offer]:
        return self.answers[method][split].offers

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A line for each question and method: means over splits, rank, and EMSCO's lead on it.

        The merit, by which methods are ranked, is the accuracy or minus the total; costs are shares
        of everything. The lead is paired over test rows; all leads at one coverage are tested
        together. Buying nothing has no rank.
        """
        return pd.DataFrame(self._lines()).pipe(_tested)

    def _lines(self) -> Iterator[dict[str, Any]]:
        rows = np.concatenate([self.tested[split] for split in self.splits])
        for place, question in enumerate(self.questions):
            for method in (*self.methods, NOTHING):
                offers = [self._offers(method, split)[place] for split in self.splits]
                seen = [offer.seen for offer in offers]
                lead = np.nan, np.nan, np.nan
                if EMSCO in self.methods and method not in (EMSCO, NOTHING):
                    own = [self._offers(EMSCO, split)[place].seen for split in self.splits]
                    gains = [mine.merits - one.merits for mine, one in zip(own, seen, strict=True)]
                    lead = paired(np.concatenate(gains), rows)
                cost = float(np.mean([one.cost for one in seen])) / self.total_cost
                covered = float(np.mean([one.coverage for one in seen]))
                yield {
                    "coverage": question.coverage,
                    "budget": question.budget,
                    "method": method,
                    "merit": round(float(np.mean([one.merits.mean() for one in seen])), _DIGITS),
                    "promised": float(np.mean([offer.promised for offer in offers])),
                    "accuracy": float(np.mean([one.accuracy for one in seen])),
                    "covered": covered,
                    "cost": cost,
                    "breaks": covered < question.coverage - _SHORT
                    or cost > _DEAR * question.budget,
                    **dict(zip(("lead", "error", "p_value"), lead, strict=True)),
                }

    @cached_property
    def mean_ranks(self) -> pd.DataFrame:
        """Mean rank of each method over the budgets of each coverage."""
        ranked = self.cells[self.cells.method != NOTHING]
        return ranked.pivot_table("rank", "method", "coverage", sort=False)


def _tested(cells: pd.DataFrame) -> pd.DataFrame:
    """Add ranks, p-values corrected by Holm's method, and verdicts."""
    ranked = cells[cells.method != NOTHING].groupby(["coverage", "budget"])
    cells["rank"] = ranked["merit"].rank(ascending=False)
    for _, p_values in cells.p_value.dropna().groupby(cells.coverage):
        cells.loc[p_values.index, "p_value"] = holm(p_values)
    sure = cells.p_value < ALPHA
    cells["verdict"] = np.select(
        [cells.p_value.isna(), sure & (cells.lead > 0), sure], ["", AHEAD, BEHIND], LEVEL
    )
    return cells


def holm(p_values: pd.Series[float]) -> pd.Series[float]:
    """Correct p-values of many tests by Holm's step-down method."""
    steps = p_values.sort_values() * np.arange(len(p_values), 0, -1)
    return steps.cummax().clip(upper=1).reindex(p_values.index)


def paired(gains: FloatArray, rows: IntArray) -> tuple[float, float, float]:
    """Return the mean of gains on test rows, its standard error and the two-sided p-value.

    A row that several splits have tested counts as often, but gives one piece of evidence.

    Examples
    --------
    >>> [round(figure, 3) for figure in paired(np.array([1.0, 0, 0, 1]), np.array([0, 1, 2, 0]))]
    [0.5, 0.306, 0.244]
    """
    gains = gains.round(_DIGITS)
    mean = gains.mean()
    beyond = np.bincount(np.unique(rows, return_inverse=True)[1], gains - mean)
    error = float(np.sqrt((beyond**2).sum()) / len(gains))
    if not error:
        return float(mean), 0.0, float(mean == 0)
    return float(mean), error, float(2 * stats.t.sf(abs(mean) / error, len(beyond) - 1))


def compare_methods(
    data: CostedRows,
    name: str = "your data",
    methods: Sequence[str] = METHODS,
    splits: int = SPLITS,
    *,
    max_settings: int = MAX_SETTINGS,
    questions: Sequence[Question] = QUESTIONS,
    error_cost: Any = None,
    reject_cost: Any = None,
    seed: int = 0,
    path: Path | None = None,
    n_jobs: int | None = -1,
    report: Report | None = None,
    run: bool = True,
) -> MethodComparison:
    """Let every method answer the same questions on the same splits.

    Parameters
    ----------
    data : CostedRows
    name : str
        Name of the data, for headings.
    methods : sequence of str
        "emsco" and rivals; see `METHODS`.
    splits : int
        Random splits.
    max_settings : int
        Largest number of settings to try of a rival's grid.
    questions : sequence of Question
    error_cost, reject_cost : float, mapping or array-like, optional
        As for `EMSCOClassifier`. Then every method offers the lowest mean total of a row that it
        finds, and no other question is asked.
    seed : int
    path : Path, optional
        File of results; those that it already has are not computed again.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.
    run : bool
        False compares what `path` has.

    Ctrl-C stops early: complete results are kept, and `complete` is False.
    """
    methods = check_methods(methods)
    check_whole("splits", splits, 1, SPLITS_PER_SEED)
    check_whole("seed", seed, 0, LARGEST_SEED // SPLITS_PER_SEED - 1)
    labels = np.unique(data.rows.y).tolist()
    prices = None
    if error_cost is not None or reject_cost is not None:
        prices = ErrorCosts.from_parameters(error_cost, reject_cost, labels, may_reject=False)
        questions = [LOWEST_TOTAL]
    numbers = range(splits)
    parts = {split: data.divide(split, seed) for split in numbers}
    fitted = data.rows.y[parts[0][0]]
    for label in labels:
        if (n_rows := int((fitted == label).sum())) < _MIN_ROWS:
            raise DataError(
                f"every class must have {_MIN_ROWS} rows or more to fit on, "
                f"got {n_rows} of {label!r}."
            )
    about = {
        **_digests(data),
        "error costs": None if prices is None else str(prices),
        "questions": [[one.coverage, one.budget] for one in questions],
        "seed": seed,
        "settings tried": max_settings,
    }
    results = Results(path, about)
    if run:  # a method without an answer is asked again: a library may have been installed since
        results.known = {job: one for job, one in results.known.items() if one["offers"]}
    jobs = [(split, method) for split in numbers for method in methods]
    work = partial(
        answer, data=data, questions=questions, max_settings=max_settings, prices=prices, seed=seed
    )
    complete = results.finish(jobs if run else [], work, n_jobs, report)
    answers: dict[str, dict[int, Answers]] = {method: {} for method in methods}
    for split, method in jobs:
        if one := results.known.get((split, method)):
            offers = [Offer.from_dict(offer) for offer in one["offers"]]
            answers[method][split] = Answers(offers, one["note"], one["seconds"])
    answers[NOTHING] = {
        split: Answers(answer_with_nothing(data.trial(split, seed), questions, prices))
        for split in numbers
    }
    return MethodComparison(
        name,
        answers,
        {split: test for split, (_, test) in parts.items()},
        data.costs.total,
        prices,
        max_settings,
        complete,
        about,
    )


def answer(
    split: int,
    method: str,
    data: CostedRows,
    questions: Sequence[Question],
    max_settings: int,
    prices: ErrorCosts | None,
    seed: int,
) -> dict[str, Any]:
    """Let one method answer all questions on one split; return plain values.

    If it refuses the data or fails in an unforeseen way, that is its result, and others go on.
    """
    started, note, offers = process_time(), "", list[Offer]()
    try:
        trial = data.trial(split, seed)
        if method in (EMSCO, CHAINS):
            settings = {"branches": 1} if method == CHAINS else {}
            offers = answer_with_emsco(trial, questions, prices, **settings)
        else:
            rival = new_rival(method, trial.costs, random_state=trial.seed, gaps="impute")
            offers = answer_with_rival(rival, trial, questions, max_settings, prices)
    except EMSCOError as error:
        note = str(error)
    except Exception as error:
        note = f"it failed with {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return {
        "offers": [offer.to_dict() for offer in offers],
        "note": note,
        "seconds": round(process_time() - started, 3),
    }


def _digests(data: CostedRows) -> dict[str, str]:
    """Identify rows, labels and costs."""
    table = pd.DataFrame(data.rows.X).assign(**{"": data.rows.y})
    values = pd.util.hash_pandas_object(table, index=False).to_numpy()
    costs = data.costs
    by_row = tuple(costs.prices)
    priced = costs.columns, costs.costs.tolist(), costs.fees, costs.delays.tolist(), by_row
    return {
        name: hashlib.sha256(repr(facts).encode()).hexdigest()
        for name, facts in {"rows": (values.tolist(), [*table], ""), "costs": priced}.items()
    }
