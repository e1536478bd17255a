"""A small run for faults; whoever has imported this has made one, and can be forked quickly."""

import tempfile
import warnings
from pathlib import Path

from support.clinic import SETTINGS, patients, write_rows

from emsco.app.cli import application  # noqa: F401 - loaded for those who are forked
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files

QUICK = {**SETTINGS, "search": "evolution", "generations": 2, "max_stages": 2}


def make_run(folder):
    """Fit a run, with fresh and other rows beside its files."""
    data = write_rows(folder / "data.csv", *patients(120, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what so few rows say is doubtful
        # One thread: with more, a process must not be forked.
        run = fit_files(FitFiles("sick", data), folder / "run", n_jobs=1, **QUICK).folder
    for seed, name in enumerate(["fresh.csv", "rows.csv", "more.parquet"]):
        write_rows(run / name, *patients(90, seed))
    return run


with tempfile.TemporaryDirectory() as name:
    make_run(Path(name))
