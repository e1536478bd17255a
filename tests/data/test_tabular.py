"""Classifiers that read tables by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.settings import PLAIN

from emsco import CostsError, DataError, EMSCOClassifier

X = np.random.default_rng(0).normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TEXT = FRAME.assign(c=np.where(X[:, 2] > 0, "high", "low"))


@pytest.mark.parametrize(
    ("table", "empty"),
    [
        (X, X[:0]),
        (FRAME, FRAME[:0]),
        (FRAME, pl.from_pandas(FRAME[:0])),
        (TEXT.to_numpy(), TEXT.to_numpy()[:0]),
    ],
    ids=["array", "pandas", "polars", "text"],
)
def test_no_rows_have_no_decisions_no_classes_and_no_probabilities(table, empty):
    clf = EMSCOClassifier(**PLAIN, max_stages=2, generations=1, population_size=5, random_state=0)
    clf.fit(table, X[:, 0] > 0)
    assert len(clf.decide(empty)) == len(clf.cascade_.decide(empty)) == 0
    assert clf.predict(empty).shape == (0,)
    assert clf.predict_proba(empty).shape == (0, 2)


QUICK = {**PLAIN, "max_stages": 2, "generations": 1, "population_size": 5, "random_state": 0}
Y = X[:, 0] > 0


def test_masked_values_are_missing_ones_and_what_is_under_the_mask_does_not_matter():
    mask = np.random.default_rng(1).random(X.shape) < 0.1
    hidden = np.ma.MaskedArray(np.where(mask, 1e6, X), mask)
    with pytest.raises(DataError):
        EMSCOClassifier(**QUICK).fit(hidden, Y)
    clf = EMSCOClassifier(**QUICK, gaps="impute").fit(hidden, Y)
    holes = np.where(mask, np.nan, X)
    plain = EMSCOClassifier(**QUICK, gaps="impute").fit(holes, Y)
    assert clf.predict_proba(hidden).tolist() == plain.predict_proba(holes).tolist()
    assert clf.decide(hidden).labels.tolist() == clf.cascade_.decide(hidden).labels.tolist()
    weights = np.ma.MaskedArray(np.ones(60), np.arange(60) == 7)
    with pytest.raises(DataError):
        EMSCOClassifier(**QUICK).fit(X, Y, weights)
    with pytest.raises(CostsError, match="'x1'"):
        EMSCOClassifier(np.ma.MaskedArray([1, 2, 3], [0, 1, 0]), **QUICK).fit(X, Y)
