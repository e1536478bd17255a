"""
EMSCO beside its rivals
=======================

You learn to let several methods answer the same questions on the same rows, and to read who is most
accurate for how much. This small run tries two settings of each rival, on a third of the
paper's Pima rows; ``emsco-lab compare`` does more on your own.

It reads pima.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/compare_with_rivals.py
"""

import os

from emsco_lab.compare import (
    CostedRows,
    LabelledRows,
    compare_methods,
    draw_comparison,
    verdict,
)
from emsco_lab.datasets import load

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds pima.csv.")
    raise SystemExit

data = load("pima")
rows = CostedRows(LabelledRows(data.X[::3], data.y[::3]), data.costs)
methods = ("emsco", "greedy_miser", "cact_lasso", "cost_ordered")
comparison = compare_methods(rows, "pima", methods, splits=1, max_settings=2, n_jobs=1)
print("\n".join(verdict(comparison)))

# %%
# Each method is a line: accuracy on test rows against the mean cost that it kept.

figure = draw_comparison(comparison)
figure.savefig("methods.png")
