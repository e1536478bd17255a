"""Scored rows whose models answer at random, and a loop that sends them through stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import variance

import numpy as np

from emsco.costs import FeatureCosts, Fee
from emsco.designs.grid import ThresholdGrid
from emsco.models.bank import ModelBank
from emsco.models.engine import Engine
from emsco.models.fitter import Fitter
from emsco.scoring.bits import RowBits
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.rows import ScoredRows
from emsco.scoring.walk import Walk
from support.leveled import random_designs

NAMES, MAX_STAGES = "abcd", 3
LEVELS = np.array([[0.5], [0.75], [0.5], [0.0]])  # confidences are eighths, so that many are met


class DrawnFitter(Fitter):
    """Its answers about a subset come from a generator of the subset's own."""

    n_train = 1

    def __init__(self, n_scored, n_classes, seed):
        self.n_scored, self._n_classes, self._seed = n_scored, n_classes, seed
        self.kept = 2 * n_scored

    def models(self, *_):
        raise AssertionError("there are none")

    def answer_one(self, subset):
        rng = np.random.default_rng([self._seed, *np.asarray(subset, dtype=int)])
        surest = rng.choice([4, 9, 9])  # some models are unsure of all rows, unlike other splits'
        return rng.integers(self._n_classes, size=self.n_scored), rng.integers(
            0, surest, self.n_scored
        ) / 8

    def answer(self, subsets, *_):
        yield from map(self.answer_one, subsets)


def drawn_grid(rng, n_classes):
    """Some grid: one threshold, one that was asked for with others, or all searched."""
    levels = LEVELS + np.linspace(0, 0.25, n_classes) * (LEVELS > 0)
    early, last = [((0,), (0,)), ((0,), (3,)), ((0, 1), (3,)), ((0, 1), (1, 3)), ((0,), (2, 3))][
        rng.integers(5)
    ]
    return ThresholdGrid(levels[: max(early + last) + 1], early, last)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Scored rows, answers of models about them, thresholds and costs."""

    scored: ScoredRows
    fitters: list
    grid: ThresholdGrid
    costs: FeatureCosts
    prices: np.ndarray | None = None  # of rows, for the features in `priced`, beside the costs
    priced: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    known: dict = field(default_factory=dict)

    @classmethod
    def of(cls, seed, **options):
        """Draw a problem in which chance decides on all that is not given."""
        rng = np.random.default_rng(seed)

        def chance(name, *values):
            drawn = values[rng.integers(len(values))]
            return options.get(name, drawn)

        n_classes, n_splits = chance("n_classes", 2, 3, 5), chance("n_splits", 1, 2, 3)
        sizes = rng.choice(chance("sizes", [1, 20], [20, 33], [64, 70]), size=n_splits)
        ends, n = np.cumsum(sizes), int(sizes.sum())
        # Most rows are scored once; where there are several splits, some are scored more often.
        rows = np.unique(rng.integers(n, size=n), return_inverse=True)[1]
        rows = np.arange(n) if n_splits == 1 or chance("once", 0, 1) else rows
        have_weights = bool(chance("have_weights", 0, 1))
        units = rng.integers(0, 4, size=n)[rows] if have_weights else np.ones(n, dtype=np.int64)
        units[:1] = 1
        names = options.get("names", NAMES)
        is_missing = rng.random((n, len(names))) < 0.2
        costs = rng.choice([0, 1, 2, 5], size=len(names)) / chance("unit", 1, 4, np.pi)
        priced = np.array(chance("priced", [], [1], [0, 3]), dtype=np.int64)
        costs[priced] = 0
        # Two fees that features share, of which one has both.
        fees = (Fee("draw", 2, [names[0], names[-1]]), Fee("visit", 1 / 2, [*names[-2:]]))
        fees, evaluation = chance("fees", (), fees), chance("evaluation", 0, 1 / 2)
        costs[0 if 0 not in priced else -2] += 1 / 4
        every = FeatureCosts(tuple(names), costs, evaluation, fees=fees)
        own = rng.choice([0, 1, 2.5, 1 / 3], size=(n, len(priced))) if len(priced) else None
        scored = ScoredRows(
            labels=rng.integers(n_classes, size=n).astype(np.uint8),
            n_classes=n_classes,
            ends=ends,
            rows=rows,
            weights=units / np.bincount(rows)[rows],
            units=units,
            have_weights=have_weights,
            missing=chance("missing", None, is_missing),
        )
        fitters = [DrawnFitter(size, n_classes, seed + k) for k, size in enumerate(sizes)]
        grid = options.get("grid") or drawn_grid(rng, n_classes)
        return cls(scored, fitters, grid, every, own, priced)

    @property
    def units(self):
        return self.costs.in_units(self.scored.units, self.prices, self.priced)

    def bank(self, n_bytes=2**28):
        """Open a bank of the models."""
        engine = Engine(self.fitters, self.scored.n_classes)
        return ModelBank(engine, np.eye(len(self.costs.names), dtype=np.bool_), n_bytes)

    def bits(self, *, by_class=False, memory_limit=2**28, n_jobs=1):
        """Bits of the rows, with a bank of their own."""
        bank = self.bank(memory_limit // 4)
        options = {"by_class": by_class, "memory_limit": memory_limit, "n_jobs": n_jobs}
        return RowBits(bank, self.scored, self.units, **options)

    def evaluator(self, bits=None, grid=None, **options):
        bits = bits or self.bits()
        return Evaluator(bits, self.costs, grid or self.grid, MAX_STAGES, **options)

    def walk(self, bank=None, n_jobs=1):
        ends = self.scored.ends.tolist()
        splits = [(None, np.arange(*ends)) for ends in zip([0, *ends[:-1]], ends, strict=True)]
        given = (None, splits), self.grid, self.units, n_jobs
        return Walk(bank or self.bank(), self.scored, *given)

    def designs(self, n=8, seed=0, grid=None):
        """Random chains that leave some features out, with random levels of the grid."""
        return random_designs(grid or self.grid, n, n_features=len(self.costs.names), seed=seed)

    def answer(self, subset):
        """Likeliest class of each row, and its probability."""
        key = tuple(subset)
        if key not in self.known:
            parts = zip(*(one.answer_one(subset) for one in self.fitters), strict=True)
            self.known[key] = [np.concatenate(some).tolist() for some in parts]
        return self.known[key]

    def refuses(self, subset, level):
        """Whether the splits disagree about a threshold that was searched for."""
        least, shares, sizes = self.grid.thresholds[level], [], []
        searched = self.grid.thresholds[list(self.grid.searched_levels)]
        if all(subset) or least.tolist() not in searched.tolist():
            return False
        winner, sure = self.answer(subset)
        units, begin = self.scored.units.tolist(), 0
        for end in self.scored.ends.tolist():
            rows = range(begin, end)
            total, begin = sum(units[i] for i in rows), end
            if total:
                shares.append(sum(units[i] for i in rows if sure[i] >= least[winner[i]]) / total)
                sizes.append(total**2 / sum(units[i] ** 2 for i in rows))
        if len(shares) < 2:
            return False
        mean = sum(a * n for a, n in zip(shares, sizes, strict=True)) / sum(sizes)
        chance = mean * (1 - mean) / (sum(sizes) / len(sizes))
        beyond = 3 * chance * (2 / (len(shares) - 1)) ** 0.5
        return variance(shares) > chance + beyond + 0.05**2

    def walked(self, stages, levels, *, watched=False):
        """Label, last stage and cost of each row; None is no label.

        If stages are `watched`, one that is refused gives a label that is wrong to everyone.
        """
        n_stages = max(stages) + 1
        known = [[0 <= at <= j for at in stages] for j in range(n_stages)]
        paid = self.costs.after_stages(np.array(known)).tolist()
        refused = [watched and self.refuses(known[j], levels[j]) for j in range(n_stages)]
        missing, prices = self.scored.missing, self.prices
        for i in range(len(self.scored)):
            label, j = None, 0
            for j in range(n_stages):
                winner, sure = (one[i] for one in self.answer(known[j]))
                bought = [f for f, at in enumerate(stages) if at == j]
                if missing is not None and missing[i, bought].any():
                    continue
                if refused[j]:
                    label = -1
                    break
                if sure >= self.grid.thresholds[levels[j], winner]:
                    label = winner
                    break
            own = [] if prices is None else zip(self.priced, prices[i], strict=True)
            yield label, j, paid[j] + sum(price for f, price in own if 0 <= stages[f] <= j)

    def counted(self, designs):
        """Rows that leave at each stage, correct ones, those of each class, and what all pay."""
        n, truth = len(designs), self.scored.labels.tolist()
        exits, spent = np.zeros((2, n, MAX_STAGES), dtype=int), np.zeros(n)
        by_class = np.zeros((n, 2, self.scored.n_classes), dtype=int)
        for d, (stages, levels) in enumerate(zip(designs.stages, designs.levels, strict=True)):
            rows = self.walked(stages.tolist(), levels.tolist(), watched=True)
            for (label, j, paid), right, unit in zip(
                rows, truth, self.scored.units.tolist(), strict=True
            ):
                spent[d] += unit * paid
                for k, counts in enumerate((label is not None, label == right)):
                    exits[k, d, j] += unit * counts
                    by_class[d, k, right] += unit * counts
        return exits, by_class, spent
