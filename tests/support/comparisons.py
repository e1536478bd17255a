"""A small data set, a rival of few lines and hand-made answers, for tests of comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco import FeatureCosts
from emsco_lab.compare import NOTHING, QUESTIONS, MethodComparison, Offer, Seen
from emsco_lab.compare.comparison import Answers
from emsco_lab.datasets import Dataset
from emsco_lab.rivals import CostedClassifier


def small_set(name: str = "pima", _seed: int = 0) -> Dataset:
    """160 rows × 5 features of two noisy classes, under the name of a set of the paper."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, size=160).astype(np.uint8)
    X = rng.normal(size=(160, 5)) + y[:, None] * np.array([1.5, 1.0, 0.5, 0.2, 0.0])
    costs = FeatureCosts.from_array([5.0, 2.0, 1.0, 1.0, 3.0], list("abcde"))
    return Dataset(name, X, y, costs, 0.75, "made up")


@dataclass(eq=False, repr=False, kw_only=True)
class FirstColumns(CostedClassifier):
    """Adds up the first columns; always answers."""

    n_used: int = 1

    @classmethod
    def grid(cls, costs, n_rows):  # noqa: ARG003
        return [{"n_used": n} for n in range(1, len(costs.names) + 1)]

    def _fit(self, rows, labels, weights):  # noqa: ARG002
        used = np.arange(len(self.costs_.names)) < self.n_used
        self.middle_ = np.median(rows[:, used].sum(axis=1))
        return used

    def _judge(self, rows):
        high = rows[:, self.used_].sum(axis=1) - self.middle_
        chance = 1 / (1 + np.exp(-high))
        return np.column_stack([1 - chance, chance]), self.used_, 1


def made_answers(
    accuracy, n_test=100, *, shift=0, cost=0.5, coverage=1.0, promised=None, setting="made up"
):
    """Answers to all questions; everything costs 10.

    `accuracy` is a number, or gives one for each question. The first rows are correct, beginning
    after `shift`; a share of the rows is labelled, and a share of each budget spent.
    """
    offers = []
    for question in QUESTIONS:
        kept = accuracy(question) if callable(accuracy) else accuracy
        accepted = np.arange(n_test) < round(coverage * question.coverage * n_test)
        correct = np.arange(n_test) < round(kept * accepted.sum())
        rows = np.roll(correct, shift), np.roll(accepted, shift)
        seen = Seen(*rows, 10 * cost * question.budget)
        offers.append(Offer(question, setting, kept if promised is None else promised, seen))
    return Answers(offers, "", 1.5)


def made_comparison(answers, n_test=100, commonest=0.6, splits=(0,), **settings):
    """A comparison of hand-made answers, by method; all splits test other rows."""
    nothing = made_answers(commonest, n_test, cost=0)
    return MethodComparison(
        name="made up",
        answers={
            method: dict.fromkeys(splits, one)
            for method, one in {**answers, NOTHING: nothing}.items()
        },
        tested={split: np.arange(n_test) + n_test * split for split in splits},
        total_cost=10.0,
        **settings,
    )
