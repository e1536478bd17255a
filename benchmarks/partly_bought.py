"""Records in which expensive features are missing because nobody bought them."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from common import quietly
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier
from emsco.data.issues import DataIssueKind
from emsco_lab.datasets import load

BOUGHT = 0.4  # of the rows


def main() -> None:
    """What a fit promises and keeps if expensive features were bought by a rule.

    EMSCO_DATA=folder python benchmarks partly_bought [--seeds 5]

    The dearer half of the features is there for 40 % of the training rows: by a rule on the cheaper
    half (those with the highest sum of standardised values), or by chance. New rows get whatever
    the cascade buys.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    heading = ("set", "bought", "fitted on", "promised", "kept", "warned")
    print("".join(f"{name:<16}" for name in heading))
    for name in ("heart", "pima", "credit", "breast_cancer"):
        X, y, costs = _table(name)
        for bought, how in (("all", "all rows"), ("by rule", "complete rows"),
                            ("by rule", "impute"), ("by chance", "impute")):  # fmt: skip
            results = [_result(X, y, costs, bought, how, seed) for seed in range(asked.seeds)]
            promised, kept, warned = np.mean(results, axis=0)
            figures = (f"{promised:.1%}", f"{kept:.1%}", f"{warned:.0%}")
            print("".join(f"{cell:<16}" for cell in (name, bought, how, *figures)), flush=True)


def _table(name: str) -> tuple[pd.DataFrame, np.ndarray, dict[str, float]]:
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return X, y.to_numpy(), {column: 1.0 + i for i, column in enumerate(X)}
    data = load(name)
    X = pd.DataFrame(data.X, columns=list(data.costs.names))
    return X, data.y, dict(zip(data.costs.names, data.costs.costs.tolist(), strict=True))


def _result(
    X: pd.DataFrame, y: np.ndarray, costs: dict[str, float], bought: str, how: str, seed: int
) -> tuple[float, float, bool]:
    """Return the promised and the kept accuracy of the deployed design, and if there was a word."""
    rng = np.random.default_rng(seed)
    X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    by_cost = sorted(X, key=lambda name: costs[name])
    cheap, dear = by_cost[: len(by_cost) // 2], by_cost[len(by_cost) // 2 :]
    score = ((X[cheap] - X[cheap].mean()) / X[cheap].std()).sum(axis=1).to_numpy()
    if bought == "by chance":
        score = rng.random(len(X))
    X = X.astype(float)
    if bought != "all":
        X.loc[score < np.quantile(score, 1 - BOUGHT), dear] = np.nan
    whole = X.notna().all(axis=1).to_numpy()
    if how == "complete rows":
        X, y = X[whole], y[whole]
    settings = {"estimator": "logistic", "generations": 30, "gaps": "impute"}
    with quietly():
        clf = EMSCOClassifier(costs, random_state=seed, n_jobs=1, **settings).fit(X, y)
    warned = any(one.kind is DataIssueKind.PARTLY_BOUGHT for one in clf.data_issues_)
    kept = clf.evaluate(X_new.astype(float), y_new).accuracy
    return clf.point_.expected.accuracy.value, kept, warned
