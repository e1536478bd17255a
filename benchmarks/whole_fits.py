"""Whole fits with the paper's search, beside scoring the same designs with scikit-learn.

scikit-learn scores a random sample of 200 designs one by one. It fits each stage again, on
standardised columns and one BLAS thread. The time is scaled to all designs.
"""

from __future__ import annotations

import numpy as np
from problems import Problem, load
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from threadpoolctl import threadpool_limits
from timing import CORES, SEED, best_of

from emsco import EMSCOClassifier
from emsco.scoring.evaluator import Evaluator

SAMPLE = 200
EQUAL_TOLERANCE = 1e-8  # the default solver's probabilities then agree to about 1e-8


def score_with_scikit_learn(
    problem: Problem, design: np.ndarray, min_confidence: float, tol: float
) -> tuple[int, int, float]:
    """Count accepted rows, correct rows and total cost, the obvious way."""
    train, scored = problem.standardised()
    y, truth = problem.y[problem.train], problem.y[problem.scored]
    undecided = np.ones(len(scored), dtype=bool)
    accepted = correct = spent = 0
    for stage in range(design.max() + 1):
        known = design <= stage
        model = LogisticRegression(tol=tol, max_iter=100_000).fit(train[:, known], y)
        spent += undecided.sum() * problem.costs[design == stage].sum()
        probabilities = model.predict_proba(scored[:, known])
        sure = undecided & (probabilities.max(axis=1) >= min_confidence)
        accepted += sure.sum()
        correct += (probabilities.argmax(axis=1) == truth)[sure].sum()
        undecided &= ~sure
    return accepted, correct, spent


def fit(problem: Problem, min_confidence: float, **settings: object) -> None:
    """Make a whole fit of the paper's configuration, as a user would."""
    rows = np.concatenate([problem.train, problem.scored])
    fold = np.where(np.arange(len(rows)) < len(problem.train), -1, 0)
    EMSCOClassifier.paper(
        costs=problem.costs,
        min_confidence=min_confidence,
        cv=PredefinedSplit(fold),
        n_jobs=CORES,
        random_state=SEED,
        **settings,
    ).fit(problem.X[rows], problem.y[rows])


def designs_of_a_fit(problem: Problem, min_confidence: float, **settings: object) -> np.ndarray:
    """Distinct designs that such a fit scores."""
    seen: list[np.ndarray] = []
    score = Evaluator.score

    def recording(self: Evaluator, designs: np.ndarray) -> object:
        seen.append(designs.copy())
        return score(self, designs)

    Evaluator.score = recording
    try:
        fit(problem, min_confidence, **settings)
    finally:
        Evaluator.score = score
    return np.unique(np.concatenate(seen), axis=0)


def report(name: str, min_confidence: float, n_fits: int, **settings: object) -> None:
    """Print the ratio for one data set."""
    problem = load(name, SEED)
    designs = designs_of_a_fit(problem, min_confidence, **settings)
    ours = best_of(n_fits, lambda: fit(problem, min_confidence, **settings))
    sample = designs[np.random.default_rng(SEED).choice(len(designs), SAMPLE, replace=False)]

    def one_by_one(tol: float) -> None:
        with threadpool_limits(1):
            for design in sample:
                score_with_scikit_learn(problem, design, min_confidence, tol)

    stages = designs.max(axis=1).mean() + 1
    print(f"{name}: {len(designs):,} distinct designs, {stages:.1f} stages on average")
    print(f"  emsco, the whole fit: {ours:.2f} s", flush=True)
    for tol, note in ((EQUAL_TOLERANCE, "equal probabilities"), (1e-4, "its default")):
        theirs = best_of(1, lambda t=tol: one_by_one(t)) / SAMPLE * len(designs)
        print(
            f"  scikit-learn one by one, tol {tol:.0e} ({note}): {theirs:,.0f} s, "
            f"ratio {theirs / ours:,.0f}",
            flush=True,
        )
