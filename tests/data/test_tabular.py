"""Classifiers that read tables by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.lab.rivals import CaCTLasso

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


def test_a_rival_decides_no_rows_too():
    assert len(CaCTLasso().fit(X, X[:, 0] > 0).decide(X[:0])) == 0
