"""Rows in single precision lead to the same results as the same rows in double."""

import numpy as np
import pandas as pd
import pytest

from emsco import EMSCOClassifier
from emsco.data import single_rows
from emsco.data.single_rows import SingleRows, held_rows


def make_rows(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n_rows) > 0).astype(int)


def test_what_is_taken_is_double():
    X, _ = make_rows()
    rows = SingleRows(X)
    assert rows.shape == X.shape
    assert len(rows) == len(X)
    for which in (3, slice(5), np.array([7, 2]), (slice(None), 1), X[:, 0] > 0):
        assert rows[which].dtype == np.float64
        assert np.array_equal(rows[which], X[which])
    assert np.asarray(rows).dtype == np.float64
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32


def test_a_table_in_single_precision_is_not_copied():
    X, _ = make_rows()
    assert held_rows(X.astype(np.float64), X).held is X


def test_many_values_are_rounded_only_if_none_changes(monkeypatch):
    X, _ = make_rows()
    exact = X.astype(np.float64)
    exact[0, 0] = np.nan
    assert held_rows(exact, None) is exact  # few
    monkeypatch.setattr(single_rows, "_WORTH_ROUNDING", 1)
    assert np.array_equal(np.asarray(held_rows(exact, None)), exact, equal_nan=True)
    assert isinstance(held_rows(exact, None), SingleRows)
    assert held_rows(exact, exact) is exact  # the table of the user, which is there anyway
    for value in (0.1, 1e60, 2.0**24 + 1):
        other = exact.copy()
        other[3, 2] = value
        assert held_rows(other, None) is other


@pytest.mark.parametrize(
    ("estimator", "gaps"), [("logistic", "refuse"), ("spline", "skip"), ("boosting", "impute")]
)
def test_a_fit_finds_the_same_in_either_precision(estimator, gaps):
    X, y = make_rows()
    weights = np.arange(len(X)) % 3  # some rows do not count
    if gaps != "refuse":
        X[::7, 1] = np.nan
    fits = [
        EMSCOClassifier(
            [1, 2, 3, 4],
            estimator=estimator,
            gaps=gaps,
            generations=2,
            max_stages=2,
            cv=0.4,
            random_state=0,
        ).fit(table, y, sample_weight=weights)
        for table in (X, X.astype(np.float64))
    ]
    first, second = [fit.front_.to_pandas() for fit in fits]
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    assert fits[0].front_.searched.digest == fits[1].front_.searched.digest
    assert np.array_equal(fits[0].predict(X), fits[1].predict(X))


def test_a_splitter_of_the_user_sees_numbers():
    X, y = make_rows()

    class Halves:
        def split(self, X, *_):
            assert isinstance(X, np.ndarray)
            order = np.argsort(X[:, 0] * 1.0)
            yield order[::2], order[1::2]

        def get_n_splits(self, *_):
            return 1

    fit = EMSCOClassifier(estimator="logistic", generations=1, cv=Halves(), random_state=0)
    assert fit.fit(X, y).n_splits_ == 1
