"""The true front of the paper's Heart data, all of it, proven.

You learn what the paper needed weeks of computing for: every design of at most four stages is
settled in a moment, so the front has every trade-off that there is on this split, each with its
simplest design and the number of designs that tie with it.

It reads heart.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/exact_front_of_heart.py
"""

import os
from itertools import islice

import numpy as np

from emsco import EMSCOClassifier
from emsco.datasets import load, paper_split

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds heart.csv.")
    raise SystemExit

data = load("heart")
train, val, test = paper_split(len(data.X), seed=0)
rows = np.concatenate([train, val])
split = [(np.arange(len(train)), np.arange(len(train), len(rows)))]

clf = EMSCOClassifier(data.costs, data.min_confidence, max_stages=4, search="exact", cv=split)
clf.fit(data.X[rows], data.y[rows])
print(clf.stop_reason_)
print(clf.front_)

tied = max(clf.front_, key=lambda point: point.n_tied)
print(f"\n{tied.n_tied:,} designs have exactly the figures of {tied}. Some of them:")
for design in islice(clf.front_.ties(tied), 3):
    print(f"  {design}")

tested = clf.front_.with_seen(data.X[test], data.y[test])
tested.plot("pairs", on="both").savefig("pairs.png")
tested.plot_cascade(clf.point_).savefig("cascade.png")
