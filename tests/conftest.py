"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

COST_CLASSES = {
    "heart": (1, 2, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1),
    "pima": (1, 3, 1, 2, 3, 1, 2, 1),
    "credit": (1, 1, 2, 1, 1, 1, 2, 3, 1, 2, 1, 1, 1, 2),
}


@dataclass(frozen=True)
class PaperSet:
    """One of the paper's data sets, shuffled and split as the paper does."""

    X: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    train: np.ndarray
    held_out: np.ndarray
    names: tuple[str, ...]


def data_folder() -> Path:
    """The folder of the paper's data; a test that asks for it is skipped where none is named."""
    folder = os.environ.get("EMSCO_DATA")
    if not folder:
        pytest.skip("EMSCO_DATA names no folder with the paper's data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def paper_set():
    """Loads "heart", "pima" or "credit"; where EMSCO_DATA is set, a missing file is a failure."""

    def load(name: str) -> PaperSet:
        path = data_folder() / f"{name}.csv"
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        table = table[np.random.default_rng(0).permutation(len(table))]
        classes = np.array(COST_CLASSES[name])
        half, quarter = len(table) // 2, -(-len(table) // 4)
        rows = np.arange(len(table))
        return PaperSet(
            X=table[:, :-1].copy(),
            y=table[:, -1].astype(np.uint8),
            costs=100.0 * classes if name == "pima" else 10.0**classes,
            train=rows[:half],
            held_out=rows[half : half + quarter],
            names=tuple(path.read_text().splitlines()[0].split(",")[:-1]),
        )

    return load


@pytest.fixture(scope="session")
def mutation_figure() -> np.ndarray:
    """The 300 × 4 points of the paper's mutation figure: β, then a column for |Q| = 2, 3, 4."""
    folder = data_folder()
    places = [folder / "mutation_figure.csv", folder.parent / "paper" / "mutation_figure.csv"]
    path = next((place for place in places if place.exists()), places[0])
    return np.loadtxt(path, delimiter=",", skiprows=1)


@pytest.fixture(scope="session")
def small_problem():
    """120 rows × 6 features of two noisy classes, as (X, y)."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, size=120).astype(np.uint8)
    X = rng.normal(size=(120, 6)) + y[:, None] * np.array([1.2, 0.8, 0.5, 0.3, 0.1, 0.0])
    return X, y
