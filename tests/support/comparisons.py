"""A small data set, a rival of few lines and hand-made answers, for tests of comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from emsco_lab import MethodComparison
from emsco_lab.compare import Baseline
from emsco_lab.datasets import Dataset
from emsco_lab.rivals import CostedClassifier
from emsco_lab.trials import ANYTHING, LOWEST_TOTAL, QUESTIONS, Answers, Offer, Seen

from emsco._base.objectives import Objectives
from emsco.costs import FeatureCosts
from emsco.stats.error_costs import ErrorCosts


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
        self.used_ = np.arange(len(self.costs_.names)) < self.n_used
        self.middle_ = np.median(rows[:, self.used_].sum(axis=1))

    def _judge(self, rows):
        high = rows[:, self.used_].sum(axis=1) - self.middle_
        chance = 1 / (1 + np.exp(-high))
        cost = np.full(len(rows), self.costs_.costs @ self.used_)
        return np.column_stack([1 - chance, chance]), cost


def made_answers(accuracy, *, cost=0.5, coverage=1.0, promised=None, log_loss=0.4):
    """Answers to all questions, whose cost is a share of the budget; everything costs 10.

    `accuracy` is a number, or gives one for each question; `coverage` is a share of that asked for.
    """
    offers = []
    for question in QUESTIONS:
        kept = accuracy(question) if callable(accuracy) else accuracy
        spent = 10 * cost * question.budget
        offers.append(
            Offer(
                question,
                "made up",
                Objectives(question.coverage, kept if promised is None else promised, spent),
                Seen(coverage * question.coverage, kept, spent, log_loss),
            )
        )
    return Answers(tuple(offers), "", 1.5)


def made_comparison(answers, n_test=100, commonest=0.6):
    """A comparison of hand-made answers, by method and split."""
    splits = {split for by_split in answers.values() for split in by_split}
    # The first class is the commonest.
    seen = Seen(1.0, commonest, 0.0, 0.7, (0.0, 1 - commonest), (0.0, 0.0))
    offer = Offer(ANYTHING, "'a' for everyone", Objectives(1.0, commonest, 0.0), seen)
    shares = np.array([commonest, 1 - commonest])
    priced = replace(offer, rule=LOWEST_TOTAL, promised_total=10 * (1 - commonest))
    baseline = Baseline((offer, priced), (n_test * shares).round().astype(int), shares)
    return MethodComparison(
        name="made up",
        answers=answers,
        total_cost=10.0,
        n_rows=(3 * n_test, n_test),
        n_effective=float(n_test),
        classes=("a", "b"),
        baselines=dict.fromkeys(splits, baseline),
        error_costs=ErrorCosts.from_parameters(10.0, 0.0),
    )


NOISE = 0.004 * np.sin(np.arange(10))
NOISE -= NOISE.mean()


def over_splits(accuracy, noise=NOISE, **figures):
    """Answers on as many splits as there is noise; `accuracy` is a number or by question."""
    given = accuracy if callable(accuracy) else lambda _: accuracy
    return {
        split: made_answers(lambda question, e=e: given(question) + e, **figures)
        for split, e in enumerate(noise)
    }


def two_methods(emsco, cstc, **figures):
    """A comparison of EMSCO and CSTC, on which noise falls in opposite orders."""
    return made_comparison(
        {"emsco": over_splits(emsco), "cstc": over_splits(cstc, NOISE[::-1], **figures)}
    )
