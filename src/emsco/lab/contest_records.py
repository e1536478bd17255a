"""Results of a contest on one data set: what every method promised and kept, split by split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from emsco._base.typing import FloatArray
from emsco.lab.contests import FULL, TEST_SHARE, Answers, ContestJob, CostedRows
from emsco.lab.questions import BUDGETS, Offer, Question, Seen
from emsco.stats.tests import margin

SHARED = TEST_SHARE / (1 - TEST_SHARE)  # test rows per fitted row
TESTED = tuple(budget for budget in BUDGETS if budget < 1)  # buying everything is only shown
LEAST_SPLITS = 5  # margins of fewer splits are too wide to tell anything


@dataclass(frozen=True, slots=True)
class Task:
    """Questions of one coverage at all budgets.

    Attributes
    ----------
    key : str
        Name in JSON.
    coverage : float
    title : str
        Heading of tables and panels.
    """

    key: str
    coverage: float
    title: str

    @property
    def questions(self) -> tuple[Question, ...]:
        """One question for each tested budget."""
        return tuple(Question(self.coverage, budget) for budget in TESTED)


EVERYONE = Task("everyone", 1.0, "Every row must be answered")
MOST = Task("most", 0.9, "At least 90 % of the rows must be answered")
TASKS = (EVERYONE, MOST)


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """A method's answers to one question; every array has shape (n_splits,).

    Attributes
    ----------
    question : Question
    accuracy, coverage, cost : ndarray
        Kept on the test rows; the cost as a share of the cost of everything.
    promised, promised_cost : ndarray
        Accuracy and cost on the rows that chose.
    log_loss, money : ndarray
        Mean log loss of labelled test rows; mean cost of a test row, its errors and rejections.
    """

    question: Question
    accuracy: FloatArray
    coverage: FloatArray
    cost: FloatArray
    promised: FloatArray
    promised_cost: FloatArray
    log_loss: FloatArray
    money: FloatArray

    @classmethod
    def from_offers(
        cls,
        question: Question,
        offers: Iterable[Offer],
        total_cost: float,
        error_cost: float,
        reject_cost: float = 0.0,
    ) -> Standing:
        """Collect the offers of all splits."""
        table = [
            (
                one.seen.accuracy,
                one.seen.coverage,
                one.seen.cost / total_cost,
                one.promised.accuracy,
                one.promised.cost / total_cost,
                one.seen.log_loss,
                one.seen.money(error_cost, reject_cost),
            )
            for one in offers
        ]
        return cls(question, *np.array(table, dtype=np.float64).T)

    @property
    def mean(self) -> float:
        """Mean accuracy kept."""
        return float(self.accuracy.mean())

    @property
    def margin(self) -> float:
        """95 % margin of error of that mean; 0 for a single split."""
        return float(margin(self.accuracy[:, None], SHARED)[0])

    @property
    def overspent(self) -> float:
        """Mean share of the cost of everything beyond the budget; 0 where it was kept."""
        return float(np.maximum(0.0, self.cost - self.question.budget).mean())

    @property
    def short(self) -> float:
        """Mean coverage below the one asked for; 0 where it was kept."""
        return float(np.maximum(0.0, self.question.coverage - self.coverage).mean())

    def to_dict(self) -> dict[str, Any]:
        """Means over splits as plain values, for JSON."""
        means = {
            "accuracy": self.accuracy,
            "promised_accuracy": self.promised,
            "coverage": self.coverage,
            "cost_share": self.cost,
            "promised_cost_share": self.promised_cost,
            "log_loss": self.log_loss,
            "money": self.money,
        }
        return {
            **{name: float(values.mean()) for name, values in means.items()},
            "margin": self.margin,
            "overspent": self.overspent,
            "coverage_short": self.short,
            "accuracy_by_split": self.accuracy.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Contest:
    """Results of all methods on random splits of one data set.

    Attributes
    ----------
    name : str
        Name of the data, for headings.
    answers : dict of str to dict of int to Answers
        By method and split.
    total_cost : float
        Cost of everything.
    n_rows : tuple of int
        Fitted and test rows of a split.
    n_effective : float
        Kish's effective number of test rows, the mean over splits; without weights, all of them.
    commonest : dict of int to float
        Accuracy of the commonest class on the test rows, by split.
    error_cost : float
        Cost of an error, where results are shown in money.
    reject_cost : float
        Cost of a rejection there.
    of : dict
        Digests and settings that identify the contest.
    complete : bool
        Whether all jobs were done.
    quick : bool
        Whether methods were tuned less thoroughly than usual.
    """

    name: str
    answers: Mapping[str, Mapping[int, Answers]]
    total_cost: float
    n_rows: tuple[int, int]
    n_effective: float
    commonest: Mapping[int, float]
    error_cost: float
    of: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    quick: bool = False
    reject_cost: float = 0.0

    @classmethod
    def from_answers(
        cls,
        name: str,
        data: CostedRows,
        found: Mapping[ContestJob, Answers],
        error_cost: float | None = None,
        of: Mapping[str, Any] | None = None,
        complete: bool = True,
        reject_cost: float | None = None,
    ) -> Contest:
        """Collect the answers of jobs on the same data.

        By default an error costs as much as everything, and a rejection nothing.
        """
        answers: dict[str, dict[int, Answers]] = {}
        for job, one in sorted(found.items(), key=lambda item: item[0].split):
            answers.setdefault(job.method, {})[job.split] = one
        commonest, sizes, n_rows = {}, [], (0, 0)
        for split, seed in dict.fromkeys((job.split, job.seed) for job in found):
            trial = data.trial(split, seed)
            label, share = trial.fitted.commonest()
            rows = trial.test
            commonest[split] = Seen.from_constant(label, rows.y, share, rows.weights).accuracy
            sizes.append(rows.counts.sum() ** 2 / (rows.counts**2).sum())
            n_rows = len(trial.fitted.y), len(rows.y)
        total = data.costs.total
        return cls(
            name,
            answers,
            total,
            n_rows,
            float(np.mean(sizes)),
            commonest,
            total if error_cost is None else error_cost,
            of or {},
            complete,
            any(job.most < FULL.most or job.generations < FULL.generations for job in found),
            reject_cost or 0.0,
        )

    @cached_property
    def splits(self) -> tuple[int, ...]:
        """Splits that all `methods` have answered."""
        return self._common[1]

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods to compare, in the order of `answers`."""
        return self._common[0]

    @cached_property
    def _common(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Methods and their splits in common; who has the most splits counts first."""
        ran = {
            method: {split for split, one in answers.items() if one.offers}
            for method, answers in self.answers.items()
        }
        kept: set[str] = set()
        common: set[int] = set()
        for method in sorted(ran, key=lambda one: -len(ran[one])):
            shared = common & ran[method] if kept else ran[method]
            if shared:
                common = shared
                kept.add(method)
        return tuple(one for one in self.answers if one in kept), tuple(sorted(common))

    @property
    def left_out(self) -> dict[str, str]:
        """Reasons for the methods that could not run, or not on the splits of the others."""
        found = {}
        for method, answers in self.answers.items():
            if method not in self.methods:
                why = [one.note for one in answers.values() if not one.offers]
                found[method] = why[0] if why else "it has no split in common with the others."
        return found

    @property
    def missing(self) -> dict[str, tuple[int, str]]:
        """Number of splits that a compared method could not answer, and why."""
        found = {}
        for method in self.methods:
            why = [one.note for one in self.answers[method].values() if not one.offers]
            if why:
                found[method] = len(why), why[0]
        return found

    @property
    def commonest_accuracy(self) -> float:
        """Mean accuracy of the commonest class on the test rows."""
        splits = self.splits or tuple(self.commonest)
        return float(np.mean([self.commonest[split] for split in splits]))

    def seconds(self, method: str) -> float:
        """Mean processor time of a method on a split."""
        return float(np.mean([one.seconds for one in self.answers[method].values()]))

    @cached_property
    def standings(self) -> dict[tuple[str, Question], Standing]:
        """The standing of every method in every question."""
        found: dict[tuple[str, Question], Standing] = {}
        for method in self.methods:
            by_split = [self._offers(method, split) for split in self.splits]
            for question in by_split[0]:
                offers = [one[question] for one in by_split]
                found[method, question] = Standing.from_offers(
                    question, offers, self.total_cost, self.error_cost, self.reject_cost
                )
        return found

    def _offers(self, method: str, split: int) -> dict[Question, Offer]:
        return {one.question: one for one in self.answers[method][split].offers}

    def standing(self, method: str, coverage: float, budget: float) -> Standing:
        """The standing of a method in one question."""
        return self.standings[method, Question(coverage, budget)]

    @cached_property
    def volumes(self) -> dict[str, FloatArray]:
        """Hypervolume of each method's offers on the test rows of every split.

        A point is coverage, accuracy and the share of the cost saved; the reference is 0 in all.
        """
        from moocore import hypervolume

        found = {}
        for method in self.methods:
            by_split = []
            for split in self.splits:
                seen = [one.seen for one in self.answers[method][split].offers]
                points = [[s.coverage, s.accuracy, 1 - s.cost / self.total_cost] for s in seen]
                inside = np.maximum(0.0, np.array(points))
                by_split.append(float(hypervolume(inside, ref=[0.0] * 3, maximise=True)))
            found[method] = np.array(by_split)
        return found
