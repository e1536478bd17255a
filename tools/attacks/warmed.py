"""Imported by the process that fits are forked from: one small fit loads all that a fit needs."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import emsco.app.cli.application
import emsco.app.cli.fit  # noqa: F401
from attacks.fits import write_rows
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files

with tempfile.TemporaryDirectory(prefix="emsco-attack-") as name, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    write_rows(Path(name) / "data.csv")
    fit_files(
        FitFiles("sick", Path(name) / "data.csv"),
        Path(name) / "out",
        search="evolution",
        estimator="logistic",
        generations=2,
        population_size=16,
        max_stages=3,
        min_confidence=0.8,
        cv=0.33,
        n_jobs=1,  # a process with threads must not be forked
    )
