"""How much of the true front the paper's search finds, and how much ours.

You learn to set a search beside the truth: the exact front of Pima with at most three stages, and
what the published loop and the default evolution have found of it after so many generations.

It reads pima.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/paper_against_exact.py
"""

import os

from emsco import EMSCOClassifier
from emsco.datasets import load

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds pima.csv.")
    raise SystemExit

data = load("pima")


def front(search, generations=150):
    """Objectives of the front that a search finds, all on the same split."""
    clf = EMSCOClassifier(
        data.costs,
        data.min_confidence,
        max_stages=3,
        search=search,
        generations=generations,
        random_state=0,
    ).fit(data.X, data.y)
    return {(point.coverage, point.accuracy, point.cost) for point in clf.front_}


truth = front("exact")
print(f"The exact front has {len(truth)} different trade-offs. Of these are found:")
print("generations  paper  evolution")
for generations in (1, 5, 20, 60):
    found = [len(truth & front(search, generations)) for search in ("paper", "evolution")]
    print(f"{generations:>11}  {found[0]:>5}  {found[1]:>9}")
