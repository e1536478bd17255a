"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from hypothesis import settings
from support.settings import change_settings
from typer.testing import CliRunner

from emsco.app import cli
from emsco.fitting import fit, refine
from emsco.front import expected
from emsco_lab import datasets

# The same examples every time, so that a change that has nothing to do with a test never fails it;
# `pytest --hypothesis-profile=explore` draws new ones, and many.
settings.register_profile("gate", max_examples=50, derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("gate")


# What makes expected figures quick.
FEW = [(expected, "MAX_BAGS", 8), (refine, "MOST_TRIED", 200), (refine, "MOST_STARTS", 4)]


@dataclass(frozen=True)
class PaperSet:
    """One of the paper's data sets, shuffled and split as the paper does."""

    X: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    train: np.ndarray
    held_out: np.ndarray
    names: tuple[str, ...]


def named_folder() -> Path:
    """The folder of public data; a test that asks for it is skipped where none is named."""
    folder = os.environ.get("EMSCO_DATA")
    if not folder:
        pytest.skip("EMSCO_DATA names no folder with public data sets")
    return Path(folder)


@pytest.fixture(autouse=True)
def _no_downloads(monkeypatch, tmp_path_factory):
    """Nothing is downloaded, and nobody's cache is read, unless a test brings its own server."""

    def refuse(url, timeout):
        raise URLError("no network in tests")

    monkeypatch.setattr("emsco_lab.datasets.public.urlopen", refuse)
    monkeypatch.setenv("EMSCO_CACHE", str(tmp_path_factory.getbasetemp() / "no-cache"))


@pytest.fixture(scope="session", autouse=True)
def few_bags():
    """Fits expect from few samples of the rows; tests of expected figures ask for `all_bags`."""
    usual = [(module, name, getattr(module, name)) for module, name, _ in FEW]
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in FEW:
            patch.setattr(module, name, value)
        yield usual


@pytest.fixture(scope="module")
def all_bags(few_bags):
    """Fits expect from as many samples of the rows as users' fits do."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in few_bags:
            patch.setattr(module, name, value)
        yield


@pytest.fixture(scope="module")
def short_searches():
    """Fits search for few generations, prove nothing unless they must, and refine few subsets.

    Such tests ask what runs, not what is found.
    """

    def shorten(settings):
        search = settings.search
        kind = "evolution" if search.kind == "auto" else search.kind
        search = replace(search, kind=kind, generations=min(search.generations, 8))
        return replace(settings, search=search)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MOST_SUBSETS", 4)
        change_settings(patch, shorten)
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of public data; where EMSCO_DATA is set, a missing file is a failure."""
    return named_folder()


@pytest.fixture(scope="session")
def paper_set():
    """Loads "heart", "pima" or "credit"; where EMSCO_DATA is set, a missing file is a failure."""

    def load(name: str) -> PaperSet:
        named_folder()
        data = datasets.load(name)
        train, held_out, test = datasets.paper_split(len(data.X), seed=0)
        order = np.concatenate([train, held_out, test])
        rows = np.arange(len(order))
        return PaperSet(
            X=data.X[order],
            y=data.y[order],
            costs=data.costs.costs,
            train=rows[: len(train)],
            held_out=rows[len(train) : len(train) + len(held_out)],
            names=data.costs.names,
        )

    return load


@pytest.fixture
def emsco(monkeypatch):
    """Runs a command; a mistake of emsco's own is raised."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        return CliRunner().invoke(cli.app, list(map(str, words)), catch_exceptions=False)

    return call


@pytest.fixture(scope="session")
def small_problem():
    """120 rows × 6 features of two noisy classes, as (X, y)."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, size=120).astype(np.uint8)
    X = rng.normal(size=(120, 6)) + y[:, None] * np.array([1.2, 0.8, 0.5, 0.3, 0.1, 0.0])
    return X, y


@pytest.fixture
def without_fsync(monkeypatch):
    """Do not wait for the disk: these tests do not pull the plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)
