"""Stage models of each family: how good they are, and what deployed designs keep of promises.

python benchmarks/families.py [--sets thyroid,heart] [--families logistic,auto] [--seeds 3]
    [--generations 30]

Public sets are read from the folder that EMSCO_DATA names. Each seed holds out 30 % of the rows for
tests. Columns, means over seeds: accuracy and log loss of the model of all features on test rows;
coverage, accuracy and cost (a share of everything) of the deployed design, as scored and on test
rows; the balanced score promised minus kept; seconds of the fit.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from tables import Table, load

from emsco import EMSCOClassifier
from emsco._base.objectives import balanced_length
from emsco.errors import EMSCOWarning

SETS = ("heart", "pima", "cleveland", "credit", "breast_cancer", "thyroid", "rare24")
FAMILIES = ("logistic", "spline", "boosting", "auto")
HEADINGS = ("acc.", "log loss", "cov.", "acc.", "cost", "cov.", "acc.", "cost", "broken", "s")


def figures(table: Table, seed: int, **settings) -> tuple[list[float], str]:
    """Fit on 70 % of the rows and measure the others; also the words about the model."""
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=0.3, stratify=table.y, random_state=seed
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        clf = EMSCOClassifier(table.costs, random_state=seed, n_jobs=-1, **settings).fit(X, y)
    seconds = time.perf_counter() - start
    everything = clf.front_.everything()
    said = everything.predict_proba(X_test)
    found = [
        float((clf.classes_[said.argmax(axis=1)] == y_test).mean()),
        float(log_loss(y_test, said, labels=clf.classes_)),
    ]
    total, scores = table.costs.total, []
    for one in (clf.point_, clf.evaluate(X_test, y_test)):
        found += [one.coverage, one.accuracy, one.cost / total]
        scores.append(
            balanced_length(*np.array([[one.coverage], [one.accuracy], [one.cost]]), total)
        )
    broken = float((scores[0] - scores[1])[0])
    return [*found, broken, seconds], str(clf.model_choice_ or "")


def main() -> None:
    """Print a table per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--generations", type=int, default=150)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    for name in options.sets.split(","):
        print(f"\n{name}, seeds {seeds[0]} to {seeds[-1]}")
        print(f"{'':12}{'everything':>18}{'promised':>27}{'on test rows':>27}")
        print(f"{'':12}" + "".join(f"{heading:>9}" for heading in HEADINGS), flush=True)
        for family in options.families.split(","):
            settings = {"estimator": family, "generations": options.generations}
            results = [figures(load(name, seed), seed, **settings) for seed in seeds]
            means = np.mean([numbers for numbers, _ in results], axis=0)
            print(f"{family:12}" + "".join(f"{mean:9.3f}" for mean in means), flush=True)
            if results[0][1]:
                print(f"  chosen: {results[0][1]}", flush=True)


if __name__ == "__main__":
    main()
