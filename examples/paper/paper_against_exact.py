"""
How much of the true front a search finds
=========================================

You learn to measure a search against the truth: the exact front of Pima with at most three stages,
and the part of it that the paper's loop and our evolution have found after some generations.

It reads pima.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/paper_against_exact.py
"""

import os

import matplotlib.pyplot as plt

from emsco import EMSCOClassifier
from emsco_lab.datasets import load

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds pima.csv.")
    raise SystemExit

data = load("pima")


def front(search, generations=150):
    """Objectives of the front that a search finds, all on the same split."""
    clf = EMSCOClassifier.paper(
        costs=data.costs,
        min_confidence=data.min_confidence,
        max_stages=3,
        search=search,
        generations=generations,
        random_state=0,
    ).fit(data.X, data.y)
    return {(point.coverage, point.accuracy, point.cost) for point in clf.front_}


truth = front("exact")
steps = (1, 5, 20, 60)
found = {
    search: [len(truth & front(search, generations)) for generations in steps]
    for search in ("paper", "evolution")
}
print(f"The exact front has {len(truth)} trade-offs. Each search found:")
print("generations  paper  evolution")
for generations, ours, theirs in zip(steps, found["evolution"], found["paper"], strict=True):
    print(f"{generations:>11}  {theirs:>5}  {ours:>9}")

# %%
# The same as a picture:

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for search, marker in (("paper", "o"), ("evolution", "s")):
    axes.plot(steps, found[search], marker=marker, label=search)
axes.axhline(len(truth), color="grey", linestyle=":", label="all")
axes.set(xlabel="generations", ylabel="trade-offs of the true front")
axes.legend()
figure.savefig("found.png")
