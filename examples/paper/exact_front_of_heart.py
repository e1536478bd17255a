"""
The true front of Heart
=======================

You learn to prove a front. The paper needed weeks to enumerate every design of at most four stages.
Exact search settles all of them in a moment and counts the designs that tie.

It reads heart.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/exact_front_of_heart.py
"""

import os

import numpy as np

from emsco import EMSCOClassifier
from emsco_lab.datasets import load, paper_split

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds heart.csv.")
    raise SystemExit

data = load("heart")
train, val, test = paper_split(len(data.X), seed=0)
rows = np.concatenate([train, val])
split = [(np.arange(len(train)), np.arange(len(train), len(rows)))]

clf = EMSCOClassifier.paper(
    costs=data.costs,
    min_confidence=data.min_confidence,
    max_stages=4,
    search="exact",
    prefer="balanced",
    cv=split,
)
clf.fit(data.X[rows], data.y[rows])
print(clf.stop_reason_)
print(clf.front_)

# %%
# Different designs can have exactly the same figures. The front shows the simplest of them.

tied = max(clf.front_, key=lambda point: point.n_tied)
print(f"{tied.n_tied:,} designs have exactly the figures of {tied}.")

# %%
# All three pairs of objectives. Hollow markers are test rows.

tested = clf.front_.with_seen(data.X[test], data.y[test])
pairs = tested.plot("pairs", on="both", width=8)
pairs.savefig("pairs.png")

cascade = tested.plot_cascade(clf.point_, width=7)
cascade.savefig("cascade.png")
