"""Nasty tables, and rows that are not fresh: each is used, or refused in one sentence."""

from __future__ import annotations

import datetime
import random
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine

from attacks.fits import Disturbed
from emsco import DataError, EMSCOClassifier, EMSCOError
from emsco._base.typing import FloatArray

__all__ = ["try_copies", "try_tables"]

_N = 60  # rows of a table
_LONGEST = 400  # characters of a sentence
_SETTINGS: dict[str, Any] = {
    "estimator": "logistic",
    "cv": 1 / 3,
    "generations": 2,
    "population_size": 10,
    "max_stages": 2,
    "random_state": 0,
}


def try_tables(seed: int, numbers: range) -> Iterator[Disturbed]:
    """Fit, decide, evaluate and certify with odd tables, labels, weights and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_N, 3))
    y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abc"))
    tables, labels = _odd_tables(X, frame), _odd_labels(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, named = (EMSCOClassifier(**_SETTINGS).fit(rows, y) for rows in (X, frame))
        uses: dict[str, Callable[[Any], Any]] = {
            "fit X": lambda odd: EMSCOClassifier(**_SETTINGS).fit(odd, y),
            "fit X with gaps": lambda odd: EMSCOClassifier(gaps="impute", **_SETTINGS).fit(odd, y),
            "decide": plain.decide,
            "decide by name": named.decide,
            "decide by a cascade": plain.cascade_.decide,
            "predict": plain.predict_proba,
            "evaluate X": lambda odd: plain.evaluate(odd, y),
            "certify X": lambda odd: named.certify(odd, y, min_accuracy=0.5),
        }
        uses_of_labels: dict[str, Callable[[Any], Any]] = {
            "fit y": lambda odd: EMSCOClassifier(**_SETTINGS).fit(X, odd),
            "fit a frame and y": lambda odd: EMSCOClassifier(**_SETTINGS).fit(frame, odd),
            "fit weights": lambda odd: EMSCOClassifier(**_SETTINGS).fit(X, y, odd),
            "fit groups": lambda odd: EMSCOClassifier(**_SETTINGS).fit(X, y, groups=odd),
            "evaluate y": lambda odd: plain.evaluate(X, odd),
            "evaluate groups": lambda odd: plain.evaluate(X, y, groups=odd),
            "certify y": lambda odd: plain.certify(X + 1, odd, min_accuracy=0.5),
            "certify groups": lambda odd: plain.certify(X + 1, y, min_accuracy=0.5, groups=odd),
            "costs": lambda odd: EMSCOClassifier(odd, **_SETTINGS).fit(X, y),
        }
        for number in numbers:
            draw = random.Random(f"tables {seed} {number}")
            odd_things, what_for = draw.choice([(tables, uses), (labels, uses_of_labels)])
            name = draw.choice(list(odd_things))
            use = draw.choice(list(what_for))
            yield Disturbed(number, f"{use}: {name}", _wrong(what_for[use], odd_things[name]))


def try_copies(seed: int, numbers: range) -> Iterator[Disturbed]:
    """Certify with rows of the search that were changed, or with the same fresh rows often."""
    fitted = []
    for load in (load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))
        seen, fresh = np.split(order, [2 * len(X) // 3])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = EMSCOClassifier(**_SETTINGS).fit(X[seen], y[seen])
        fitted.append((clf, X[seen], y[seen], X[fresh], y[fresh]))
    for number in numbers:
        draw = random.Random(f"copies {seed} {number}")
        rng = np.random.default_rng(draw.randrange(2**32))
        clf, seen, labels, fresh, fresh_labels = draw.choice(fitted)
        change = draw.choice(["honest", "again", "written", "jittered", "unbought"])
        settings: dict[str, Any] = {"min_accuracy": 0.5}
        if change == "honest":
            rows, y = fresh, fresh_labels
        elif change == "again":
            n_first = len(fresh) // 4
            rows = np.tile(fresh[:n_first], (4, 1))
            y = np.tile(fresh_labels[:n_first], 4)
            if draw.random() < 0.5:
                rows = rows + rows * 1e-6 * rng.normal(size=rows.shape)
            if draw.random() < 0.5:
                settings["groups"] = [f"patient {i}" for i in range(len(y))]
        else:
            some = rng.permutation(len(seen))[: rng.integers(len(seen) // 2, len(seen))]
            rows, y = _changed(change, seen[some], clf, draw, rng), labels[some]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf.certify(rows, y, **settings)
            wrong = "" if change == "honest" else f"{len(y)} rows were tested without a word"
        except DataError as error:
            wrong = str(error) if change == "honest" else ""
        yield Disturbed(number, f"{change}, {len(y)} rows, {settings}", wrong)


def _changed(
    change: str,
    rows: FloatArray,
    clf: EMSCOClassifier,
    draw: random.Random,
    rng: np.random.Generator,
) -> FloatArray:
    """Return rows that were changed so that no row is the same."""
    if change == "written":
        form = draw.choice(["%.7g", "%.6g", "%.5g", "%.4g", "%.3g", "%.5f", "%.4f", "%.3f", "%.2f"])
        written: FloatArray = np.vectorize(lambda value: float(form % value))(rows)
        return written
    if change == "jittered":
        return rows + 1e-6 * rng.normal(size=rows.shape)
    bought = set(clf.cascade_.columns)
    others = [i for i, name in enumerate(clf.cascade_.encoding.columns) if name not in bought]
    changed = rows.copy()
    changed[:, others] *= 1 + rng.random((len(rows), len(others)))
    return changed


def _wrong(use: Callable[[Any], Any], odd: Callable[[], Any]) -> str:
    """Say what is wrong about how an odd thing was met; nothing if it was used or refused."""
    try:
        use(odd())
    except EMSCOError as error:
        said = str(error)
        return f"a long message: {said[:200]}" if "\n" in said or len(said) > _LONGEST else ""
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def _odd_tables(X: FloatArray, frame: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    """Return makers of tables by name; some are in order."""
    objects = {
        "complex": lambda: X + 1j,
        "complex objects": lambda: (X + 1j).astype(object),
        "one dimension": lambda: X[:, 0],
        "no dimension": lambda: np.array(3.0),
        "three dimensions": lambda: X[:, :, None],
        "a flat list": lambda: X[:, 0].tolist(),
        "an empty list": list,
        "no rows": lambda: X[:0],
        "no columns": lambda: X[:, :0],
        "one row": lambda: X[:1],
        "nothing": lambda: None,
        "text": lambda: "hello",
        "a number": lambda: 7,
        "a dictionary": lambda: {"a": X[:, 0]},
        "an ellipsis": lambda: ...,
        "a function": lambda: len,
        "ragged": lambda: [[1, 2], [3]],
        "infinity": lambda: np.where(X > 2, np.inf, X),
        "holes": lambda: np.where(X > 1, np.nan, X),
        "huge": lambda: X * 1e300,
        "bytes": lambda: X.astype("S"),
        "dates": lambda: np.full(X.shape, np.datetime64("2020-01-01")),
        "durations": lambda: np.full(X.shape, np.timedelta64(1, "D")),
        "void": lambda: np.zeros(X.shape, dtype="V4"),
        "records": lambda: np.zeros(_N, dtype=[("a", float), ("b", float)]),
        "mixed objects": lambda: np.array([[1, "a", None]] * _N, dtype=object),
        "dictionaries": lambda: np.array([[{}, {}, {}]] * _N, dtype=object),
        "sets": lambda: [{1, 2, 3}] * _N,
        "a generator": lambda: (row for row in X),
        "truth": lambda: X > 0,
        "numbers as text": lambda: X.astype(str),
        "the same everywhere": lambda: np.ones(X.shape),
        "all missing": lambda: np.full(X.shape, np.nan),
        "masked": lambda: np.ma.MaskedArray(X, X > 1),
        "all masked": lambda: np.ma.MaskedArray(X, mask=True),
        "a matrix": lambda: np.matrix(X),
        "half precision": lambda: X.astype(np.float16),
        "long doubles": lambda: X.astype(np.longdouble),
        "the other byte order": lambda: X.astype(">f8"),
        "huge whole numbers": lambda: np.full(X.shape, 10**30, dtype=object),
        "decimals": lambda: [[Decimal(1)] * 3] * _N,
        "signalling": lambda: [[Decimal("sNaN")] * 3] * _N,
        "half a character": lambda: np.full(X.shape, "\ud800"),
        "sparse": lambda: sparse.csr_matrix(X),
        "sparse and complex": lambda: sparse.coo_matrix(X + 1j),
    }
    odd_columns: dict[str, Any] = {
        "dates": pd.Timestamp("2020-01-01"),
        "times of a zone": pd.Timestamp("2020-01-01", tz="UTC"),
        "durations": pd.Timedelta("1D"),
        "periods": pd.Period("2020"),
        "lists": [[1]] * _N,
        "tuples": [(1, 2)] * _N,
        "numbers and text": [1, "a"] * (_N // 2),
        "bytes": b"a",
        "nothing": None,
        "complex numbers": frame.a * 1j,
        "huge whole numbers": 10**400,
        "functions": [len] * _N,
        "truth and nothing": [True, None] * (_N // 2),
        "intervals": pd.cut(frame.a, 3),
        "nullable": frame.a.astype("Float64").mask(frame.a > 1),
    }
    frames = {
        f"a frame with {name}": lambda one=one: frame.assign(d=one)
        for name, one in odd_columns.items()
    }
    names = {"twice": ["a", "a", "c"], "numbers": [0, 1, 2], "mixed": ["a", 1, None], "NaN":
             ["a", float("nan"), "c"], "empty": ["a", "", "c"], "long": ["a", "x" * 10**5, "c"],
             "control": ["a", "\x1b[31m\n", "c"]}  # fmt: skip
    frames |= {
        f"a frame with names: {name}": lambda one=one: frame.set_axis(one, axis=1)
        for name, one in names.items()
    }
    others = {
        "a series": lambda: frame.a,
        "a frame without columns": lambda: frame[[]],
        "a frame without rows": lambda: frame.iloc[:0],
        "a sparse frame": lambda: frame.astype(pd.SparseDtype(float)),
        "a frame of fractions": lambda: frame.map(Fraction),
        "a lazy frame": lambda: pl.from_pandas(frame).lazy(),
        "a Polars series": lambda: pl.Series(X[:, 0]),
        "Polars with dates": lambda: pl.DataFrame({"a": [datetime.date(2020, 1, 1)] * _N}),
        "Polars with structures": lambda: pl.DataFrame({"a": [{"x": 1}] * _N}),
        "Arrow with lists": lambda: pa.table({"a": pa.array([[1]] * _N)}),
        "Arrow with a name twice": lambda: pa.Table.from_arrays([pa.array(X[:, 0])] * 2, ["a"] * 2),
        "Arrow of nothing": lambda: pa.table({"a": pa.nulls(_N), "b": X[:, 0]}),
        "an Arrow batch": lambda: pa.RecordBatch.from_pandas(frame),
        "an Arrow column": lambda: pa.chunked_array([X[:, 0]]),
    }
    return objects | frames | others


def _odd_labels(X: FloatArray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return makers of labels, weights or groups by name; some are in order."""
    half = _N // 2
    pairs: dict[str, list[Any]] = {
        "numbers and text": [1, "a"],
        "a number as text": ["1", 1],
        "nothing and numbers": [None, 1],
        "NaN and text": [float("nan"), "a"],
        "NA and numbers": [pd.NA, 1],
        "NaT and numbers": [pd.NaT, 1],
        "truth and numbers": [True, 2],
        "fractions of numbers": [1, 2.5],
        "dictionaries": [{}, {"a": 1}],
        "tuples": [(1, 2), (3, 4)],
        "sets": [frozenset([1]), frozenset([2])],
        "huge": [10**400, 1],
        "fractions": [Fraction(1, 2), Fraction(1, 3)],
        "decimals": [Decimal(1), Decimal(2)],
        "objects": [object(), object()],
        "types": [int, str],
        "bytes": [b"a", b"b"],
        "empty text": ["", "a"],
        "control characters": ["\x1b[31m", "b"],
        "half a character": ["\ud800", "b"],
        "text": ["a", "b"],
        "dates": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
    }
    lists = {name: lambda one=one: one * half for name, one in pairs.items()}
    arrays = {
        f"{name}, as objects": lambda one=one: np.array([*one, None] * half, dtype=object)[:_N]
        for name, one in pairs.items()
        if not isinstance(one[0], tuple)
    }
    others = {
        "nothing": lambda: None,
        "complex": lambda: y + 1j,
        "two columns": lambda: np.column_stack([y, y]),
        "three dimensions": lambda: np.zeros((_N, 1, 1)),
        "too few": lambda: y[:-1],
        "too many": lambda: np.concatenate([y, y]),
        "one": lambda: 1,
        "a text": lambda: "abc",
        "an ellipsis": lambda: ...,
        "measurements": lambda: X[:, 1],
        "one class": lambda: np.zeros(_N),
        "infinity": lambda: np.where(y, np.inf, 0.0),
        "holes": lambda: np.where(y, np.nan, 0.0),
        "masked": lambda: np.ma.MaskedArray(y, X[:, 1] > 1),
        "void": lambda: np.zeros(_N, dtype="V2"),
        "a set": lambda: set(y.tolist()),
        "a generator": lambda: (one for one in y),
        "a frame": lambda: pd.DataFrame({"y": y, "z": y}),
        "nullable": lambda: pd.Series(y).astype("Int64").mask(y > 0),
        "times": lambda: pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * half)),
        "sparse": lambda: sparse.csr_matrix(y),
        "a matrix": lambda: np.matrix(y),
        "an Arrow column": lambda: pa.chunked_array([y.tolist()]),
    }
    return lists | arrays | others
