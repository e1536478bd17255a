"""Sweeps over thresholds on files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emsco.experiments.sweep import sweep_thresholds
from emsco.experiments.sweep_records import ThresholdSweep
from emsco.sources import FitFiles
from emsco.tasks.parts import name_of, read_parts

__all__ = ["sweep_files"]


def sweep_files(files: FitFiles, *, seed: int = 0, **settings: Any) -> ThresholdSweep:
    """Sweep over the rows of `read_parts`; see `sweep_thresholds` about the settings."""
    found = sweep_thresholds(read_parts(files, seed), seed=seed, **settings)
    return replace(found, name=name_of(files))
