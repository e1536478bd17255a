"""Rows that are not fresh: how often copies of seen rows are found, and honest rows accused."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from emsco import FeatureCosts
from emsco._base.typing import FloatArray
from emsco.data.encoding import Encoding
from emsco.data.row_prints import RowPrints

LOADED = {"breast": load_breast_cancer, "digits": load_digits, "iris": load_iris, "wine": load_wine}
PUBLIC = ("heart", "cleveland", "pima", "credit", "thyroid", "spam")
OF_CATEGORIES = ("car", "tictactoe", "flare", "hepatitis", "soybean", "glass")


def main() -> None:
    """How often near copies of seen rows are found, and how often honest rows are accused.

    EMSCO_DATA=folder python benchmarks fresh_rows [--trials 200] [--seed 0]

    Each trial splits a table by chance: one half is seen, the other is fresh. In shifted trials the
    fresh rows are those with the higher values of a random column. Designs buy the first half of
    the inputs; `unbought` changes all others.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    attacks = _attacks()
    names = ("set", "rows", "honest", "shifted", "twice", *attacks)
    print("  ".join(f"{name:>9}" for name in names))
    sums = np.zeros(len(names) - 2)
    n_sets = 0
    for name, rows in _tables():
        shares = _shares(rows, attacks, asked.trials, np.random.default_rng(asked.seed))
        print("  ".join(f"{cell:>9}" for cell in (name, len(rows), *map(_percent, shares))))
        sums += shares
        n_sets += 1
    print("  ".join(f"{cell:>9}" for cell in ("mean", "", *map(_percent, sums / n_sets))))


def _shares(
    rows: FloatArray,
    attacks: dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]],
    n_trials: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the share of trials with an alarm, for each kind of rows."""
    half = len(rows) // 2
    bought = [list(range((rows.shape[1] + 1) // 2))]
    alarms = np.zeros(3 + len(attacks))
    for _ in range(n_trials):
        order = rng.permutation(len(rows))
        seen, fresh = rows[order[:half]], rows[order[half:]]
        prints = RowPrints.from_rows(seen, bought=bought)
        alarms[0] += _accused(prints, fresh)
        shifted = np.argsort(rows[:, rng.integers(rows.shape[1])] + 1e-9 * rng.random(len(rows)))
        alarms[1] += _accused(RowPrints.from_rows(rows[shifted[:half]]), rows[shifted[half:]])
        few = fresh[: max(1, len(fresh) // 4)]
        again = np.concatenate([few + 1e-6 * rng.normal(size=few.shape) for _ in range(4)])
        alarms[2] += bool(prints.repeated(again).rows.size)
        for i, change in enumerate(attacks.values()):
            alarms[3 + i] += bool(prints.seen_again(change(seen[:400], rng)).rows.size)
    return alarms / n_trials


def _accused(prints: RowPrints, rows: FloatArray) -> bool:
    return bool(prints.seen_again(rows).rows.size or prints.repeated(rows).rows.size)


def _attacks() -> dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]]:
    """Ways to change rows so that no fingerprint of a whole row stays the same."""

    def written(form: str) -> Callable[[FloatArray, np.random.Generator], FloatArray]:
        return lambda rows, _: np.vectorize(lambda value: float(form % value))(rows)

    def jittered(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rows + 1e-6 * rng.normal(size=rows.shape)

    def unbought(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        changed = rows.copy()
        others = changed[:, (rows.shape[1] + 1) // 2 :]
        others += (1 + np.nan_to_num(np.abs(others))) * rng.normal(size=others.shape)
        return changed

    forms = ("%.7g", "%.5g", "%.3g", "%.4f", "%.2f")
    return {**{form: written(form) for form in forms}, "jittered": jittered, "unbought": unbought}


def _tables() -> Iterator[tuple[str, FloatArray]]:
    """Yield the name and the inputs of each set."""
    for name, load in LOADED.items():
        yield name, load().data
    folder = Path(os.environ["EMSCO_DATA"])
    for name in PUBLIC:
        table = pd.read_csv(folder / f"{name}.csv", na_values="?").iloc[:, :-1]
        costs = FeatureCosts.resolve(None, tuple(table), None, None)
        yield name, Encoding.learn(table, costs, "impute").rows(table)
    for name in OF_CATEGORIES:
        parts = [folder / "streed" / f"{name}-{part}-1.csv" for part in ("train", "test")]
        if all(part.exists() for part in parts):
            table = pd.concat([pd.read_csv(part, sep=" ", header=None) for part in parts])
            yield name, table.iloc[:, 1:].to_numpy(np.float64)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
