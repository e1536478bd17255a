"""Default fits beside one boosted model of everything, or beside other sources of emsco, by turns.

python benchmarks fit                                     ten minutes of a core
python benchmarks fit --sets wine --seeds 1               a minute of a core
python benchmarks fit --beside ../earlier/src --seeds 3   the fits of other sources, by turns

The sets are those of the quick yardstick. Every fit is on one thread, in a process of its own, and
comes after a small one that loads what is compiled. Prints processor seconds of a default fit and
of the other (without --beside: scikit-learn's HistGradientBoostingClassifier, five times), their
ratio, and the accuracy of what is deployed on test rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from common import OURS, in_new_process, markdown, names, options, progress

from emsco import EMSCOClassifier, FeatureCosts


def fit(path: str) -> tuple[float, float]:
    """Fit the rows of a file; return processor seconds, and accuracy on test rows."""
    data = np.load(path)
    X, y, said = data["X"], data["y"], json.loads(str(data["costs"]))
    costs = FeatureCosts.from_mapping(**said)
    settings = {"n_jobs": 1, "random_state": 0}
    EMSCOClassifier(costs, generations=2, **settings).fit(X[:200], y[:200])
    started = time.process_time()
    clf = EMSCOClassifier(costs, **settings).fit(X, y)
    seconds = time.process_time() - started
    return seconds, float((clf.predict(data["X_test"]) == data["y_test"]).mean())


def boosted(path: str) -> tuple[float, float]:
    """The same of scikit-learn's boosted trees, as often as five folds fit them."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    data = np.load(path)
    started = time.process_time()
    for _ in range(5):
        model = HistGradientBoostingClassifier(random_state=0).fit(data["X"], data["y"])
    seconds = time.process_time() - started
    return seconds, float(model.score(data["X_test"], data["y_test"]))


def main() -> None:
    """Fit every set by turns, and print a table."""
    from yardstick import SETS

    parser = options(__doc__)
    parser.add_argument("--sets", type=names, default=tuple(SETS), help=", ".join(SETS))
    parser.add_argument("--seeds", type=int, default=1, help="splits of each set")
    parser.add_argument("--beside", help="the src folder of another checkout of emsco")
    asked = parser.parse_args()
    other = ("fit", asked.beside) if asked.beside else ("boosted", OURS)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npz")
        for done, name in enumerate(asked.sets, 1):
            for seed in range(asked.seeds):
                one = SETS[name](seed)
                costs = json.dumps({"costs": one.prices, "fees": one.fees})
                np.savez(path, costs=costs, **dict(zip(one._fields[:4], one[:4], strict=True)))
                ours, theirs = (
                    in_new_process(__file__, [way, str(path)], sources)
                    for way, sources in (("fit", OURS), other)
                )
                lines.append([name, ours[0], theirs[0], 100 * ours[1], 100 * theirs[1]])
            progress(done, len(asked.sets), name)
    heads = ["set", "CPU s", "other, CPU s", "accuracy, %", "other, %"]
    table = pd.DataFrame(lines, columns=heads).groupby("set", sort=False).mean()
    print(markdown(table.assign(ratio=table["CPU s"] / table["other, CPU s"])))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({"fit": fit, "boosted": boosted}[sys.argv[1]](sys.argv[2])))
