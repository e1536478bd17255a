"""The threshold sweep of the authors' repository."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emsco._base.checks import check_choice, check_seed
from emsco._base.documents import PathLike
from emsco_lab.datasets import load
from emsco_lab.jobs import Report
from emsco_lab.paper.published import SETS, SETTINGS
from emsco_lab.parts import split_parts
from emsco_lab.sweep import ThresholdSweep, sweep_thresholds


def reproduce_sweep(
    folder: PathLike,
    name: str = "synthetic15",
    runs: int = 10,
    seed: int = 0,
    n_jobs: int | None = -1,
    report: Report | None = None,
    **more: Any,
) -> ThresholdSweep:
    """Repeat the authors' threshold sweep on a set of the paper, at the paper's settings.

    It has nine thresholds from .55 to .95, and the paper's loop over 150 generations. `more` is
    passed on to `sweep_thresholds`.
    """
    data = load(check_choice("name", name, SETS), check_seed("seed", seed))
    sweep = sweep_thresholds(
        split_parts(data, 0, seed),
        runs=runs,
        seed=seed,
        folder=folder,
        n_jobs=n_jobs,
        report=report,
        **{**SETTINGS[name], **more},
    )
    return replace(sweep, name=name)
