"""What the default deploys by other margins, on rows that were held out.

python benchmarks rule                                       a quarter of an hour of a core
python benchmarks rule --sets pima,heart,credit --splits 10

Sets are those of the lab by name, and iris and wine; at most 1,000 rows of each. A default fit gets
60 % of them. On its front the economical rule chooses by each margin, or by the next that some
design reaches. On the other rows, its accuracy and mean share found are compared with those of the
default's choice, in points, and so is its cost, in % of that of everything. Each has its standard
error over fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pandas as pd
from common import markdown, names, options, progress
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier, FeatureCosts
from emsco.front import economical
from emsco_lab import datasets

SETS = ("breast_cancer", "iris", "wine", "cube", "regions", "synthetic15")
MARGINS = (1.0, 0.75, 0.5, 0.25, 0.0, -0.5)
ROWS = 1000
FIGURES = ["accuracy", "mean share found", "cost"]


def split_of(name: str, seed: int) -> tuple[list[np.ndarray], FeatureCosts | None]:
    """Divide the rows of a set: those to fit, then those held out, and labels likewise."""
    if name in ("iris", "wine"):
        (X, y), costs = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True), None
    else:
        data = datasets.load(name)
        X, y, costs = data.X, data.y, data.costs
    few = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    divided = train_test_split(X[few], y[few], test_size=0.4, stratify=y[few], random_state=seed)
    return divided, costs


def gains(name: str, seed: int) -> Iterator[np.ndarray]:
    """What the choice by each margin gains beside the default's."""
    (X, X_new, y, y_new), costs = split_of(name, seed)
    clf = EMSCOClassifier(costs, gaps="impute", random_state=seed, n_jobs=1).fit(X, y)
    front = clf.front_

    def kept() -> np.ndarray:
        seen = front.cascade(front.economical()).evaluate(X_new, y_new)
        share = seen.cost / front.costs.total
        return 100 * np.array([seen.accuracy, seen.by_class.recall.mean(), share])

    default = kept()
    for margin in MARGINS:
        lower = tuple(one for one in economical.MARGINS if one < margin)
        with mock.patch.object(economical, "MARGINS", (margin, *lower)):
            yield kept() - default


def main() -> None:
    """Fit every set as often as asked, and print a line for each margin."""
    parser = options(__doc__)
    parser.add_argument("--sets", type=names, default=SETS, help="names of emsco_lab.datasets")
    parser.add_argument("--splits", type=int, default=3, help="of each set")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    told = []
    for done, name in enumerate(asked.sets, 1):
        told += [[*gains(name, seed)] for seed in range(asked.splits)]
        progress(done, len(asked.sets), name)
    fits = np.array(told)
    errors = fits.std(axis=0, ddof=1) / len(fits) ** 0.5
    lines = np.stack([fits.mean(axis=0), errors], axis=2).reshape(len(MARGINS), -1)
    heads = [head for figure in FIGURES for head in (figure, "±")]
    margins = pd.Index(MARGINS, name="margin")
    print(f"{len(fits)} fits\n{markdown(pd.DataFrame(lines, margins, heads))}")


if __name__ == "__main__":
    main()
