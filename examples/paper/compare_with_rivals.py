"""
EMSCO beside its rivals
=======================

You learn to tune and test several methods on the same rows, and to read which of them are beaten in
everything. This small run tries two settings of each rival on the paper's Pima data;
``emsco reproduce comparison`` is the full experiment.

It reads pima.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/compare_with_rivals.py
"""

import os

from emsco.datasets import load, paper_split
from emsco.studies.compare import compare_methods
from emsco.studies.compare_figure import draw_methods
from emsco.studies.searching import Parts

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds pima.csv.")
    raise SystemExit

data = load("pima")
parts = Parts(data.X, data.y, data.costs, *paper_split(len(data.X), seed=0))
methods = ("emsco", "greedy_miser", "cact_lasso", "cost_ordered")
result = compare_methods(parts, data.min_confidence, methods, most=2, n_jobs=1)
print(result.to_markdown())

# %%
# Each method is a curve over its own setting. Large marks are what you would deploy.

figure = draw_methods(result)
figure.savefig("methods.png")
