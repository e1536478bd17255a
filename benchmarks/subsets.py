"""All subsets of a data set: our batched fits beside a loop over scikit-learn.

scikit-learn is timed on a random sample of 400 subsets, and the time is scaled; `--full` times all.
It has one BLAS thread, which is faster than two on fits this small.
"""

from __future__ import annotations

import numpy as np
from problems import Problem, load
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from timing import CORES, SEED, best_of

from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows

EQUAL = 1e-8  # largest difference of probabilities that counts as equal
SAMPLE = 400


def all_subsets(n_features: int) -> np.ndarray:
    numbers = np.arange(1, 2**n_features)
    return (numbers[:, None] >> np.arange(n_features) & 1).astype(bool)


def fit_all(problem: Problem, subsets: np.ndarray) -> np.ndarray:
    """Fit every subset, from raw rows to coefficients."""
    split = SplitRows.cut(problem.X, problem.y, problem.train, problem.scored)
    bank = logistic_bank([split], problem.X.shape[1], n_jobs=CORES)
    return bank.engine.coefs(bank.kept(subsets))[0]


def loop(problem: Problem, subsets: np.ndarray, **settings: object) -> list[np.ndarray]:
    """Fit subsets one by one with scikit-learn; return probabilities of the scored rows."""
    train, scored = problem.standardised()
    y = problem.y[problem.train]
    found = []
    with threadpool_limits(1):
        for subset in subsets:
            model = LogisticRegression(max_iter=100_000, **settings).fit(train[:, subset], y)
            found.append(model.coef_ @ scored[:, subset].T + model.intercept_)
    return [1 / (1 + np.exp(-logits)) for logits in found]


def tolerance_for_equality(problem: Problem, sample: np.ndarray) -> tuple[float, float]:
    """Loosest tol at which the default solver comes as near to exact probabilities as it can.

    That is within `EQUAL`, or within twice the smallest error of any tol down to 1e-11.
    """
    exact = loop(problem, sample, solver="newton-cholesky", tol=1e-10)
    tolerances = 10.0 ** -np.arange(4, 12)
    errors = []
    for tol in tolerances:
        pairs = zip(exact, loop(problem, sample, tol=tol), strict=True)
        errors.append(max(np.abs(a - b).max() for a, b in pairs))
    enough = int(np.argmax(np.array(errors) <= max(EQUAL, 2 * min(errors))))
    return float(tolerances[enough]), errors[enough]


def report(full: bool) -> None:
    """Print a table with a line per data set."""
    print(
        "| rows × features | subsets | emsco | a fit | scikit-learn's tol | ratio | at tol 1e-4 |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in ("heart", "credit", "synthetic15"):
        problem = load(name, SEED)
        subsets = all_subsets(problem.X.shape[1])
        picked = np.random.default_rng(SEED).choice(len(subsets), SAMPLE, replace=False)
        sample = subsets if full else subsets[picked]
        tol, error = tolerance_for_equality(problem, subsets[picked[:40]])
        fit_all(problem, subsets[:50])
        ours = best_of(5, lambda p=problem, s=subsets: fit_all(p, s))
        scale = len(subsets) / len(sample)
        equal, default = (
            best_of(1, lambda p=problem, s=sample, t=t: loop(p, s, tol=t)) * scale
            for t in (tol, 1e-4)
        )
        print(
            f"| {name} {len(problem.train):,} × {problem.X.shape[1]} | {len(subsets):,} "
            f"| {ours:.3f} s | {ours / len(subsets) * 1e6:.1f} µs | {tol:.0e} (to {error:.0e}) "
            f"| {equal / ours:.0f} | {default / ours:.0f} |",
            flush=True,
        )
