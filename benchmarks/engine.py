"""Fits of all subsets, and counts of designs, beside plain twins.

python benchmarks engine                             half a minute of a core
python benchmarks engine --rows 2000 --designs 50000

Rows are made up, with 12 features; one half is fitted, the other scored, on one thread.

fits: the models of all 4,095 subsets, from rows to scored answers, beside scikit-learn's
LogisticRegression (newton-cholesky, tol 1e-10) subset by subset.
counts: designs of up to four stages whose models are all known, beside NumPy masks, design by
design; "equal" is the share of these designs whose counts are the same.
limit: the same counts beside nothing but AND and popcount of as many words, in NumPy.

Times of the twins are those of a sample, scaled up. A ratio above 1 is in favour of emsco.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from common import SEED, generated, markdown, options, side_by_side
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.models.bank import ModelBank
from emsco.models.engine import Engine
from emsco.models.logistic import LogisticFitter
from emsco.models.rows import FitOptions, SplitData
from emsco.scoring.bits import RowBits
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.rows import ScoredRows

STAGES, CONFIDENCE = 4, 0.8
SAMPLE = 100


class Problem:
    """Rows, costs and designs, and two ways to count what designs do."""

    def __init__(self, n_rows: int, n_designs: int) -> None:
        self.table = generated(2 * n_rows, 0.4, SEED)
        self.X, self.y = self.table.X.to_numpy(), self.table.y.astype(np.uint8)
        self.train, self.scored = np.split(np.arange(2 * n_rows), 2)
        n_features = self.X.shape[1]
        numbers = np.arange(1, 2**n_features)[:, None]
        self.subsets = (numbers >> np.arange(n_features) & 1).astype(bool)
        # Stage 0 has some features, later stages have more, and -1 is never bought.
        drawn = np.random.default_rng(SEED).integers(-1, STAGES, (n_designs, n_features))
        drawn[:, :STAGES] = np.arange(STAGES)
        self.designs = Designs.of(drawn.astype(np.int16))

    def open(self) -> Evaluator:
        """Open an evaluator that has fitted nothing yet."""
        every = np.arange(self.X.shape[1])
        rows = SplitData(self.X, self.y, self.train, self.scored)
        engine = Engine(LogisticFitter.open([rows], FitOptions(every)), 2)
        bank = ModelBank(engine, np.eye(len(every), dtype=bool))
        n_scored = len(self.scored)
        scored = ScoredRows(
            labels=self.y[self.scored],
            n_classes=2,
            ends=np.array([n_scored]),
            rows=np.arange(n_scored),
            weights=np.ones(n_scored),
            units=np.ones(n_scored, dtype=np.int64),
        )
        grid = ThresholdGrid.single(np.full(2, CONFIDENCE))
        costs = self.table.costs
        bits = RowBits(bank, scored, costs.in_units(n_scored))
        return Evaluator(bits, costs, grid, STAGES)

    def fit_all(self) -> None:
        """Fit every subset, and score it as a design of one stage."""
        self.open().score(Designs.of(np.where(self.subsets, 0, -1).astype(np.int16)))

    def fit_one(self, subset: np.ndarray) -> np.ndarray:
        """Probabilities of scored rows by scikit-learn's model of a subset."""
        scaler = StandardScaler().fit(self.X[self.train][:, subset])
        train, scored = (scaler.transform(self.X[i][:, subset]) for i in (self.train, self.scored))
        model = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
        chances: np.ndarray = model.fit(train, self.y[self.train]).predict_proba(scored)
        return chances

    @cache  # noqa: B019 - there is one problem
    def answers(self, features: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Which scored rows a model is sure of, and for which it is right."""
        chances = self.fit_one(np.isin(np.arange(self.X.shape[1]), features))
        return chances.max(axis=1) >= CONFIDENCE, chances.argmax(axis=1) == self.y[self.scored]

    def count(self, design: np.ndarray) -> tuple[int, int]:
        """Accepted and correct rows of a design, by masks."""
        left, accepted, correct = np.ones(len(self.scored), dtype=bool), 0, 0
        for stage in range(STAGES):
            bought = np.flatnonzero((design >= 0) & (design <= stage))
            sure, right = self.answers(tuple(bought.tolist()))
            leaving = left & sure
            accepted += int(leaving.sum())
            correct += int((leaving & right).sum())
            left &= ~sure
        return accepted, correct


def measure(n_rows: int, n_designs: int) -> pd.DataFrame:
    """Seconds of emsco and of its twins, and their ratios."""
    problem = Problem(n_rows, n_designs)
    rng = np.random.default_rng(SEED)
    some, few = rng.choice(problem.subsets, SAMPLE), problem.designs.stages[:SAMPLE]
    scorer = problem.open()
    scores = scorer.score(problem.designs)  # fits what the designs need
    twins = np.array([problem.count(design) for design in few])
    ours = np.column_stack([scores.accepted, scores.correct])[: len(few)]
    n_words = -(-n_rows // 64) * STAGES * n_designs
    words, others = rng.integers(0, 2**63, (2, n_words), dtype=np.uint64)

    def limit() -> None:
        np.bitwise_count(words & others).sum()

    with threadpool_limits(1):
        problem.fit_all()
        fits = side_by_side(problem.fit_all, lambda: [problem.fit_one(subset) for subset in some])
        counts = side_by_side(
            lambda: scorer.score(problem.designs),
            lambda: [problem.count(design) for design in few],
            limit,
        )
    n_subsets, equal = len(problem.subsets), (ours == twins).all(axis=1).mean()
    lines = {
        "fits": [n_subsets, fits[0], fits[1] * n_subsets / SAMPLE, ""],
        "counts": [n_designs, counts[0], counts[1] * n_designs / len(few), f"{equal:.1%}"],
        "limit": [n_designs, counts[0], counts[2], ""],
    }
    heads = ["number", "emsco, s", "twin, s", "equal"]
    table = pd.DataFrame.from_dict(lines, "index", columns=heads)
    return table.assign(ratio=table["twin, s"] / table["emsco, s"])


def main() -> None:
    """Measure, and print a table."""
    parser = options(__doc__)
    parser.add_argument(
        "--rows", type=int, default=500, help="rows to fit on, and as many to score"
    )
    parser.add_argument("--designs", type=int, default=20_000)
    asked = parser.parse_args()
    print(f"{asked.rows:,} × 12 rows, seed {SEED}\n")
    print(markdown(measure(asked.rows, asked.designs), 4))
