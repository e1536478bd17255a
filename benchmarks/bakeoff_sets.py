"""Data sets of the bake-off, by name, name:seed or name:seed:fresh, and one job on one of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from emsco.lab import datasets
from emsco.lab.answering import LabelledRows
from emsco.lab.compare import try_job
from emsco.lab.contests import ContestJob, CostedRows

__all__ = ["QUICK_SETS", "SEALED", "SETS", "costed_rows", "drawn_rows", "work"]

SETS = (
    "heart",
    "cleveland",
    "pima_turney",
    "breast_cancer",
    "credit",
    "thyroid",
    "synthetic15",
    "synthetic50",
    "interactions",
    "regions",
)
# Nothing is tuned or chosen on these. Seeds are drawn anew after each opening.
SEALED = ("digits", "regions:10086", "interactions:121598")
_FRESH = 10**6  # seeds of fresh rows; no set is made from these
QUICK_SETS = ("heart", "cleveland", "pima_turney", "credit")


@lru_cache(maxsize=4)
def costed_rows(name: str) -> CostedRows:
    """Load a set once per process; "regions:7" is made from seed 7.

    "regions:7:20000" is fitted on all of its rows and tested on at least 20,000 fresh ones, so that
    small differences are told apart.
    """
    plain, seed, fresh = (*name.split(":"), "", "")[:3]
    data = datasets.load(plain, int(seed or 0))
    if not fresh:
        return CostedRows(LabelledRows(data.X, data.y), data.costs)
    test = drawn_rows(plain, _FRESH, int(fresh))
    rows = LabelledRows(np.concatenate([data.X, test.X]), np.concatenate([data.y, test.y]))
    return CostedRows(rows, data.costs, np.arange(len(data.y), len(rows.y)))


def drawn_rows(name: str, seed: int, n_rows: int) -> LabelledRows:
    """Make at least so many rows of a generated set, from this seed and those after it."""
    draws = [datasets.load(name, seed)]
    while sum(len(one.y) for one in draws) < n_rows:
        draws.append(datasets.load(name, seed + len(draws)))
    X, y = (np.concatenate([getattr(one, part) for one in draws]) for part in ("X", "y"))
    return LabelledRows(X, y)


def work(job: ContestJob) -> Mapping[str, Any]:
    """Do one job of the bake-off."""
    return try_job(job, costed_rows(job.data))
