"""A clinic's files, and complete runs on them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.clinic import COSTS, SETTINGS, patients, write_rows

from emsco import EMSCOClassifier
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files
from emsco.costs import FeatureCosts


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    """Files of training, scored, test and new rows, with costs."""
    folder = tmp_path_factory.mktemp("clinic")
    parts = {
        name: patients(n, i)
        for i, (name, n) in enumerate(zip("dtvef", (300, 200, 100, 80, 150), strict=True))
    }
    costs = folder / "costs.csv"
    costs.write_text("feature,cost\n" + "".join(f"{n},{c}\n" for n, c in reversed(COSTS.items())))
    return SimpleNamespace(
        folder=folder,
        rows=parts,
        costs=costs,
        data=write_rows(folder / "data.csv", *parts["d"]),
        data_parquet=write_rows(folder / "data.parquet", *parts["d"]),
        train=write_rows(folder / "train.csv", *parts["t"]),
        val=write_rows(folder / "val.parquet", *parts["v"], order=(4, 2, 0, 3, 1)),
        test=write_rows(folder / "test.csv", *parts["e"], order=(3, 1, 4, 0, 2), ward=["x"] * 80),
    )


@pytest.fixture(scope="session")
def fitted(clinic):
    """A complete run on one file."""
    files = FitFiles("sick", data=clinic.data, costs=clinic.costs)
    return fit_files(files, clinic.folder / "fitted", seed=3, **SETTINGS)


@pytest.fixture(scope="session")
def tested(clinic):
    """A complete run on files of training, scored and test rows."""
    files = FitFiles("sick", None, clinic.train, clinic.val, clinic.test, clinic.costs)
    return fit_files(files, clinic.folder / "tested", seed=3, **SETTINGS)


@pytest.fixture(scope="session")
def estimated(clinic):
    costs = FeatureCosts.from_mapping(COSTS)
    return EMSCOClassifier(costs, random_state=3, **SETTINGS).fit(*clinic.rows["d"])
