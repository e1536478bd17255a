"""Sweeps over thresholds on files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from emsco.comparing import read_parts
from emsco.experiments.sweep import sweep_thresholds
from emsco.experiments.sweep_records import ThresholdSweep
from emsco.runs import FitFiles

__all__ = ["sweep_files"]


def sweep_files(files: FitFiles, *, seed: int = 0, **settings: Any) -> ThresholdSweep:
    """Sweep over thresholds on files; see `sweep_thresholds` about the settings.

    Rows that have no files of their own are split off at random, class by class: a quarter of all
    to test on, a third of the others to choose on.
    """
    found = sweep_thresholds(read_parts(files, seed), seed=seed, **settings)
    path = files.train if files.data is None else files.data
    return replace(found, name=Path(str(path)).name)
