"""Data sets of the bake-off, by name or as name:seed, and one job on one of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from emsco import datasets
from emsco.studies.answering import LabelledRows
from emsco.studies.compare import try_job
from emsco.studies.contests import ContestJob, CostedRows

__all__ = ["QUICK_SETS", "SEALED", "SETS", "costed_rows", "work"]

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
# Nothing is tuned or chosen on these. Generated sets with seeds drawn at the end join as name:seed.
SEALED = ("digits", "regions:508544", "interactions:551382")  # seeds drawn at the end
QUICK_SETS = ("heart", "cleveland", "pima_turney", "credit")


@lru_cache(maxsize=4)
def costed_rows(name: str) -> CostedRows:
    """Load a set once per process; "regions:7" is made from seed 7."""
    plain, _, seed = name.partition(":")
    data = datasets.load(plain, int(seed or 0))
    return CostedRows(LabelledRows(data.X, data.y), data.costs)


def work(job: ContestJob) -> Mapping[str, Any]:
    """Do one job of the bake-off."""
    return try_job(job, costed_rows(job.data))
