"""
EMSCO beside its rivals
=======================

You learn to let several methods answer the same questions on the same rows, and to read who is most
accurate for how much. This small run tries two settings of each rival and a short search, on a
third of the paper's Pima rows; ``emsco compare`` does more on your own.

It reads pima.csv from the folder that the environment variable EMSCO_DATA names.

Run it with: python examples/paper/compare_with_rivals.py
"""

import os

from emsco.lab.answering import LabelledRows
from emsco.lab.compare import compare_methods
from emsco.lab.compare_figure import draw_contest
from emsco.lab.contest_report import ContestReport
from emsco.lab.contests import CostedRows, Effort
from emsco.lab.datasets import load

if "EMSCO_DATA" not in os.environ:
    print("Skipped: EMSCO_DATA must name the folder that holds pima.csv.")
    raise SystemExit

data = load("pima")
rows = CostedRows(LabelledRows(data.X[::3], data.y[::3]), data.costs)
methods = ("emsco", "greedy_miser", "cact_lasso", "cost_ordered")
effort = Effort(most=2, generations=5)
contest = compare_methods(rows, "pima", methods, splits=1, effort=effort, n_jobs=1)
print("\n".join(ContestReport(contest).summary()))

# %%
# Each method is a line: accuracy on test rows against the mean cost that it kept.

figure = draw_contest(contest)
figure.savefig("methods.png")
