"""Comparisons of methods on files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emsco.experiments.own_data import OwnComparison, compare_methods
from emsco.sources import FitFiles
from emsco.tasks.parts import name_of, read_parts

__all__ = ["compare_files"]


def compare_files(files: FitFiles, *, seed: int = 0, **settings: Any) -> OwnComparison:
    """Compare all methods on the rows of `read_parts`; see `compare_methods` about the settings."""
    found = compare_methods(read_parts(files, seed), seed=seed, **settings)
    return replace(found, name=name_of(files))
