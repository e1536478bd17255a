"""Classifiers that read tables by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.settings import PLAIN

from emsco import EMSCOClassifier

QUICK = {**PLAIN, "max_stages": 2, "generations": 1, "population_size": 5, "random_state": 0}
X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] > 0
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TEXT = FRAME.assign(c=np.where(X[:, 2] > 0, "high", "low"))


@pytest.mark.parametrize(
    ("table", "empty"),
    [(X, X[:0]), (FRAME, pl.from_pandas(FRAME[:0])), (TEXT.to_numpy(), TEXT.to_numpy()[:0])],
    ids=["array", "frames", "text"],
)
def test_no_rows_have_no_decisions_no_classes_and_no_probabilities(table, empty):
    clf = EMSCOClassifier(**QUICK).fit(table, Y)
    assert len(clf.decide(empty)) == len(clf.cascade_.decide(empty)) == 0
    assert clf.predict(empty).shape == (0,)
    assert clf.predict_proba(empty).shape == (0, 2)


def test_masked_values_are_missing_ones_and_what_is_under_the_mask_does_not_matter():
    mask = np.random.default_rng(1).random(X.shape) < 0.1
    hidden = np.ma.MaskedArray(np.where(mask, 1e6, X), mask)
    clf = EMSCOClassifier(**QUICK, gaps="impute").fit(hidden, Y)
    holes = np.where(mask, np.nan, X)
    plain = EMSCOClassifier(**QUICK, gaps="impute").fit(holes, Y)
    assert clf.predict_proba(hidden).tolist() == plain.predict_proba(holes).tolist()
    assert clf.decide(hidden).labels.tolist() == clf.cascade_.decide(hidden).labels.tolist()


def test_a_frame_of_numbered_columns_is_read_by_position():
    clf = EMSCOClassifier(**QUICK).fit(pd.DataFrame(TEXT.to_numpy()), Y)
    wanted = EMSCOClassifier(**QUICK).fit(TEXT.to_numpy(), Y)
    assert clf.predict_proba(TEXT.to_numpy()).tolist() == wanted.predict_proba(TEXT.values).tolist()
