"""A slow twin of the exact search: every design one by one, rows as sets, costs as fractions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from emsco.costs import CostUnits, FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace
from emsco.fitting import Workbench
from emsco.models.recipe import StageRecipe
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Counts
from emsco.search.subsets import Subsets

FREE_AND_EXPENSIVE = (0, 3, 1, 0, 7, 2)
ALIKE = (1, 1, 1, 1, 1, 1)
# Sums of these are equal as fractions where their floats differ by rounding.
BROKEN = tuple(Fraction(*cost) for cost in ((1, 3), (2, 3), (1, 7), (1, 3), (0, 1), (3, 7)))


def pack(rows):
    """Bits of rows, 64 to a word: shape (n_subsets, n_words)."""
    n_words = max(1, -(-rows.shape[1] // 64))
    padded = np.zeros((len(rows), 64 * n_words), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def every_design(n_features, max_stages, allow_exclusion=False, first=None):
    """Return all compressed chromosomes, the simplest first."""
    genes = range(-1 if allow_exclusion else 0, max_stages)
    every = product(genes, repeat=n_features)
    return sorted(
        (
            d
            for d in every
            if max(d) >= 0 and set(range(max(d))) <= set(d) and (first is None or d[first] == 0)
        ),
        key=simplicity,
    )


def simplicity(design):
    return max(design), tuple(design)


def dominates(one, other):
    """Whether (accepted, correct, spent) is nowhere worse than another, and somewhere better."""
    # Nothing accepted counts as an accuracy of 0, which 0 out of 1 is too.
    mine, theirs = one[1] * max(other[0], 1), other[1] * max(one[0], 1)
    return one[0] >= other[0] and mine >= theirs and one[2] <= other[2] and one != other


def front_of(scored):
    """Objectives that no others dominate, each with its designs in the order given."""
    ties = {}
    for vector, design in scored:
        ties.setdefault(vector, []).append(design)
    front = {}
    # What dominates a vector costs no more, then accepts no less, then gets no fewer right: it
    # comes before it, and is on the front or after one that is and dominates both.
    for vector in sorted(ties, key=lambda v: (v[2], -v[0], -v[1])):
        if not any(dominates(other, vector) for other in front):
            front[vector] = ties[vector]
    return front


@dataclass(frozen=True)
class Instance:
    """Rows that each subset accepts, and gets right, as booleans; exact costs.

    Optional: the cost of a stage, a weight for every 64 rows, the rows with a gap in each feature,
    the largest costs of all rows and of one, what else a space of designs has, and fees: the cost
    of each and the features that share it.
    """

    accepts: np.ndarray
    correct: np.ndarray
    costs: tuple
    max_stages: int
    evaluation: int | Fraction = 0
    word_weights: tuple = ()
    missing: np.ndarray | None = None
    most_spent: float = np.inf
    most_paid: float = np.inf
    allow_exclusion: bool = False
    first: int | None = None
    fees: tuple = ()

    @classmethod
    def random(cls, n_features, max_stages, n_rows, density, costs=FREE_AND_EXPENSIVE, seed=0):
        rng = np.random.default_rng(seed)
        accepts, right = rng.random((2, 2**n_features, n_rows)) < np.reshape(
            [density, 0.7], (2, 1, 1)
        )
        accepts[0] = False
        costs = costs[:n_features]
        return cls(accepts, accepts & right, costs if any(costs) else (2,) * n_features, max_stages)

    def with_idle(self, feature):
        """A feature changes nothing but the cost, so that many designs tie."""
        others = np.arange(len(self.accepts)) & ~(1 << feature)
        return replace(self, accepts=self.accepts[others], correct=self.correct[others])

    @property
    def n_features(self):
        return len(self.costs)

    @property
    def n_rows(self):
        return self.accepts.shape[1]

    @cached_property
    def weights(self):
        """How much each row counts."""
        if not self.word_weights:
            return [1] * self.n_rows
        return np.repeat(self.word_weights, 64)[: self.n_rows].tolist()

    @property
    def space(self):
        return DesignSpace(self.n_features, self.max_stages, self.allow_exclusion, self.first)

    @property
    def is_whole(self):
        every = (*self.costs, self.evaluation, *(cost for cost, _ in self.fees))
        return all(isinstance(cost, int) for cost in every)

    def landscape(self):
        """The same as the search takes it: floats only where costs are not whole."""
        costs = np.array(
            list(map(float, self.costs)), dtype=np.int64 if self.is_whole else np.float64
        )
        bought = np.arange(len(self.accepts))[:, None] >> np.arange(self.n_features) & 1 == 1
        units = CostUnits(
            features=costs,
            evaluation=self.evaluation,
            fees=np.array([float(cost) for cost, _ in self.fees], dtype=costs.dtype),
            members=np.array(
                [np.isin(range(self.n_features), features) for _, features in self.fees], dtype=bool
            ).reshape(len(self.fees), self.n_features),
            per_one=1,
            priced=np.zeros(0, dtype=np.int64),
            mean=np.zeros(0, dtype=costs.dtype),
        )
        accepts, n_words = pack(self.accepts)[:, None], -(-self.n_rows // 64)
        nothing = np.zeros((self.n_features, n_words), dtype=np.uint64)
        return Subsets(
            self.space,
            bought,
            accepts,
            accepts & ~pack(self.correct)[:, None],
            weights=np.array(self.word_weights or [1] * n_words),
            n_rows=sum(self.weights),
            missing=nothing if self.missing is None else pack(self.missing),
            early=(0,),
            last=(0,),
            prices=costs,
            cost=units.paid(bought).astype(float),
            evaluation=float(self.evaluation),
            most_spent=float(self.most_spent),
            most_paid=float(self.most_paid),
        )

    def _fees(self, bought, known=()):
        """Fees of the features that are bought, unless one that shares them is known."""
        return sum(
            cost
            for cost, features in self.fees
            if {*bought} & {*features} and not {*known} & {*features}
        )

    def scores(self, designs):
        """The twin's scores as a search would hand them over."""
        accepted, correct, spent = zip(*map(self.score, designs), strict=True)
        return Counts(
            sum(self.weights),
            np.array(accepted)[:, None],
            np.array(correct)[:, None],
            np.array(spent if self.is_whole else list(map(float, spent))),
        )

    @cached_property
    def rows(self):
        """Rows accepted by each subset, and those it gets right, as sets."""
        return [
            [set(np.flatnonzero(row).tolist()) for row in table]
            for table in (self.accepts, self.correct)
        ]

    def score(self, design):
        """Rows accepted and correct, and what all rows together spend."""
        undecided, known = set(range(self.n_rows)), 0
        accepted = correct = spent = 0
        for stage in range(max(design) + 1):
            bought = [i for i, at in enumerate(design) if at == stage]
            before = [i for i, at in enumerate(design) if 0 <= at < stage]
            known += sum(1 << i for i in bought)
            price = sum(self.costs[i] for i in bought) + self._fees(bought, before)
            spent += self._weigh(undecided) * (price + self.evaluation)
            leaving = undecided & self.rows[0][known]
            if self.missing is not None:
                leaving -= set(np.flatnonzero(self.missing[bought].any(axis=0)).tolist())
            accepted += self._weigh(leaving)
            correct += self._weigh(leaving & self.rows[1][known])
            undecided -= leaving
        return accepted, correct, spent

    def _weigh(self, rows):
        return sum(self.weights[row] for row in rows)

    def every_design(self):
        """All designs of the space, the simplest first."""
        return every_design(self.n_features, self.max_stages, self.allow_exclusion, self.first)

    def is_affordable(self, design):
        """Whether a rejected row is within the limit."""
        bought = sum(cost for cost, at in zip(self.costs, design, strict=True) if at >= 0)
        bought += self._fees([i for i, at in enumerate(design) if at >= 0])
        return bought + (max(design) + 1) * self.evaluation <= self.most_paid

    def front(self):
        """Non-dominated objectives within the limits, each with all its designs, simplest first."""
        designs = [design for design in self.every_design() if self.is_affordable(design)]
        scored = zip(map(self.score, designs), designs, strict=True)
        return front_of((vector, d) for vector, d in scored if vector[2] <= self.most_spent)


def varied(seed, **options):
    """An instance in which chance decides on every part that one may have."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    n_rows, density = int(rng.choice([3, 40, 64, 130])), rng.choice([0.0, 0.05, 0.2, 0.6])
    costs = (FREE_AND_EXPENSIVE, ALIKE, BROKEN)[rng.integers(3)]
    instance = Instance.random(n_features, int(rng.integers(1, 6)), n_rows, density, costs, seed)
    n_words = -(-n_rows // 64)
    evaluation = (0, 0, 1, 2, Fraction(1, 3))[rng.integers(5)]
    total = sum(instance.costs) + evaluation
    parts = {
        "evaluation": evaluation,
        "word_weights": tuple(rng.integers(1, 4, size=n_words).tolist()) * int(rng.integers(2)),
        "missing": (None, rng.random((n_features, n_rows)) < rng.choice([0.05, 0.4]))[
            rng.integers(2)
        ],
        "allow_exclusion": bool(rng.integers(2)),
        "first": (None, int(rng.integers(n_features)))[rng.integers(2)],
    }
    instance = replace(instance, **(parts | options))
    limits = {
        "most_spent": (np.inf, float(rng.uniform(0.3, 1.2) * total * sum(instance.weights))),
        "most_paid": (np.inf, float(rng.uniform(0.3, 1.5) * total)),
    }
    chosen = {name: limit[rng.integers(2)] for name, limit in limits.items()}
    fees = random_fees(rng, n_features, (1, 2, 5, Fraction(1, 3)))
    return replace(instance, **({"fees": fees} | chosen | options))


def random_fees(rng, n_features, amounts):
    """No fees, or some that features share; they may overlap or be nested."""
    n_fees = int(rng.choice([0, 0, 1, 2]))
    shared = (np.flatnonzero(rng.random(n_features) < 0.6).tolist() for _ in range(n_fees))
    return tuple(
        (amounts[rng.integers(len(amounts))], tuple(features)) for features in shared if features
    )


@dataclass(frozen=True)
class RealInstance:
    """One of the paper's sets at its threshold, scored in bulk through the evaluator."""

    evaluator: Evaluator

    @classmethod
    def from_set(cls, data, min_confidence, max_stages):
        costs = FeatureCosts.from_array(data.costs)
        rows = TrainingData.from_table(data.X, data.y, None, costs, "refuse")
        bench = bench_of_split(rows, (data.train, data.held_out))
        grid = ThresholdGrid.single(np.full(len(rows.classes), min_confidence))
        return cls(bench.evaluator(max_stages, grid))

    def landscape(self, max_stages, **options):
        space = DesignSpace(len(self.evaluator.costs.names), max_stages, **options)
        return Subsets.all(self.evaluator, space)

    def front(self, max_stages):
        """Non-dominated objectives, each with all its designs, the simplest first."""
        designs = every_design(len(self.evaluator.costs.names), max_stages)
        scores = self.evaluator.score(Designs.of(np.array(designs, dtype=np.int16)))
        columns = (scores.accepted, scores.correct, scores.spent)
        vectors = zip(*(column.tolist() for column in columns), strict=True)
        return front_of(zip(vectors, designs, strict=True))


def bench_of_split(data, split):
    """The paper's logistic stages on one split of the rows."""
    return Workbench(data, [split], StageRecipe(None, None, 2**30, 1, 0))
