"""One default fit, with the sources that PYTHONPATH names; prints its time and accuracy as JSON.

python benchmarks/default_fit.py SET SEED [where]

It keeps to names that earlier commits have too.
"""

from __future__ import annotations

import cProfile
import inspect
import json
import pstats
import sys
import time
import warnings

import numpy as np
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier

try:
    from emsco_lab.datasets import load
except ImportError:  # before 0.3
    from emsco.datasets import load

SHARES = (0.05, 0.1, 0.2, 0.4)  # of the cost of everything
DRAWN = ("regions", "synthetic15")
FRESH, FRESH_SEED = 6, 10**6  # draws of test rows, and where their seeds begin


def main() -> None:
    """Fit a set; with "where", on one thread, and tell the time of each function."""
    name, seed, is_profiled = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["where"]
    warnings.simplefilter("ignore")
    data = load(name, seed=seed) if name in DRAWN else load(name)
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=0.25, stratify=data.y, random_state=seed
    )
    if name == "regions":
        fresh = [load(name, seed=FRESH_SEED + 10 * seed + k) for k in range(FRESH)]
        X_test = np.concatenate([one.X for one in fresh])
        y_test = np.concatenate([one.y for one in fresh])
    chains = {"branches": 1} if "branches" in inspect.signature(EMSCOClassifier).parameters else {}
    settings = {"costs": data.costs, "gaps": "impute", **chains}
    small = EMSCOClassifier(population_size=10, generations=2, **settings)
    small.fit(X[:400], y[:400])  # loads the kernels
    n_jobs = 1 if is_profiled else -1
    clf = EMSCOClassifier(n_jobs=n_jobs, random_state=seed, **settings)
    profile, started = cProfile.Profile(time.process_time), time.process_time()
    if is_profiled:
        profile.runcall(clf.fit, X, y)
    else:
        clf.fit(X, y)
    seconds = time.process_time() - started
    front, kept = clf.front_, []
    for share in SHARES:
        budget = share * front.costs.total
        within = [one for one in front if one.coverage == 1 and one.promised[1].cost <= budget]
        if within:
            best = max(within, key=lambda one: one.promised[1].accuracy)
            kept.append(100 * front.cascade(best).evaluate(X_test, y_test).accuracy)
    functions: dict[str, float] = {}
    if is_profiled:
        for (_, _, function), figures in pstats.Stats(profile).stats.items():
            functions[function] = max(functions.get(function, 0.0), figures[3])
    print(json.dumps({"seconds": seconds, "kept": kept, "phases": functions, "n_rows": len(y)}))


if __name__ == "__main__":
    main()
