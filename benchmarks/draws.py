"""How hard the synthetic sets are, draw by draw: one model on all features, half the rows.

python benchmarks/draws.py [--draws 200]

The paper's own draws are lost. Its CO-T, which ends with all features, labels 58.5 % of the rows of
its Synthetic15 and 97.5 % of its Synthetic50.
"""

from __future__ import annotations

import argparse
import datetime
import platform

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from timing import CORES

from emsco.lab.datasets import paper_split
from emsco.lab.datasets.dataset import THRESHOLDS
from emsco.lab.datasets.generated import MADE

SHARES = (0, 0.1, 0.5, 0.9, 1)


def coverage_of_draw(name: str, seed: int) -> float:
    """Share of test rows on which the model is confident enough."""
    X, y = make_classification(**MADE[name], random_state=seed)
    train, _, test = paper_split(len(X), 0)
    sure = LogisticRegression().fit(X[train], y[train]).predict_proba(X[test]).max(axis=1)
    return float(np.mean(sure >= THRESHOLDS[name]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    n_draws = parser.parse_args().draws
    print(
        f"{datetime.date.today()}, {CORES} cores ({platform.machine()}), seeds 0 to {n_draws - 1}"
    )
    for name in MADE:
        found = np.array([coverage_of_draw(name, seed) for seed in range(n_draws)])
        spread = ", ".join(f"{100 * value:.1f}" for value in np.quantile(found, SHARES))
        below = np.mean(found < found[0])
        print(f"{name} at {THRESHOLDS[name]}: minimum, deciles 1, 5, 9, maximum: {spread} %")
        print(
            f"  seed 0: {100 * found[0]:.1f} %, harder than {100 * (1 - below):.0f} % of the draws"
        )


if __name__ == "__main__":
    main()
