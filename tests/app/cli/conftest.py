"""Commands as they are typed, and a small run to try them on."""

import contextlib
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from emsco.app import cli

NAMES = ("age", "pulse", "panel", "scan")


@pytest.fixture
def typed(monkeypatch, capsys):
    """Runs a command as a user does: its exit code, standard output and standard error."""

    def call(*words):
        monkeypatch.setattr("sys.argv", ["emsco", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "120")
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, size=240)
    return rng.normal(size=(240, 4)) + y[:, None] * np.array([0.4, 0.8, 1.2, 1.6]), y


@pytest.fixture(scope="session")
def data(rows, tmp_path_factory):
    """A CSV file with features and labels, and costs beside it."""
    folder = tmp_path_factory.mktemp("data")
    lines = [
        f"{','.join(map(repr, row))},{label}"
        for row, label in zip(*map(np.ndarray.tolist, rows), strict=True)
    ]
    (folder / "data.csv").write_text("\n".join([",".join((*NAMES, "sick")), *lines, ""]))
    (folder / "costs.csv").write_text("feature,cost\nage,1\npulse,2\npanel,10\nscan,40\n")
    (folder / "costs.json").write_text('{"scan": 40, "panel": 10, "pulse": 2, "age": 1}')
    (folder / "costs.txt").write_text("1, 2, 10, 40\n")
    return folder


SETTINGS = (
    *("--target", "sick", "--min-confidence", "0.8", "--max-stages", "3"),
    *("--cv", "0.33", "--estimator", "logistic"),
)


@pytest.fixture
def fit(typed, data, tmp_path):
    """Fits on the data, to a folder run."""

    def call(*words, costs="costs.csv"):
        paths = (data / "data.csv", "--costs", data / costs, "--out", tmp_path / "run")
        return typed("fit", *paths, *SETTINGS, *words)

    return call


@pytest.fixture(scope="session")
def fitted(data, tmp_path_factory):
    """The folder that `fit` makes, once for all tests."""
    folder = tmp_path_factory.mktemp("fitted") / "run"
    paths = (data / "data.csv", "--costs", data / "costs.csv", "--out", folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.argv", ["emsco", "fit", *map(str, paths), *SETTINGS])
        with contextlib.suppress(SystemExit):
            cli.main()
    return folder


@pytest.fixture
def run(fitted, tmp_path):
    """A run of its own for every test; to copy is quicker than to fit."""
    return shutil.copytree(fitted, tmp_path / "run")
