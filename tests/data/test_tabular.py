"""Classifiers that read tables by name."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from emsco_lab.rivals import CaCTLasso
from scipy import sparse
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


def test_a_rival_decides_no_rows_too():
    assert len(CaCTLasso().fit(X, X[:, 0] > 0).decide(X[:0])) == 0


QUICK = {**PLAIN, "max_stages": 2, "generations": 1, "population_size": 5, "random_state": 0}
Y = X[:, 0] > 0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (X + 1j, "^Complex data not supported: X must hold real numbers"),
        (X[:, 0], r"^X must be a table of rows and columns, got shape \(60,\)\. Reshape your data"),
        (X[:, :, None], r"^X must be a table of rows and columns, got shape \(60, 3, 1\)"),
        (None, "^X must be a table of rows and columns, got None"),
        ([[1, 2], [3]], "^X must be a table of rows and columns: "),
        (X[:10], r"^Found input variables with inconsistent numbers of samples: \[10, 60\]\.$"),
        (FRAME.set_axis(["a", 1, 2], axis=1), "^X must have text as names of all columns or of n"),
        (sparse.csr_matrix(X), r"^X must be dense, got a sparse csr_matrix; use its toarray\(\)"),
    ],
    ids=["complex", "1-d", "3-d", "none", "ragged", "short", "names", "sparse"],
)
def test_what_is_no_table_is_refused_in_one_sentence(table, words):
    with pytest.raises(DataError, match=words) as refusal:
        EMSCOClassifier(**QUICK).fit(table, Y)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array([1, "a"] * 30, dtype=object), "^y must hold labels of one type, got 'a' and 1"),
        ([1, "a"] * 30, "^y must hold labels of one type, got 'a' and 1"),
        ([{}, {"a": 1}] * 30, "^y must hold numbers, text or truth values, got dict {}"),
        ([Fraction(1, 2), Fraction(1, 3)] * 30, r"got Fraction Fraction\(1, 2\)\.$"),
        (Y + 1j, "^Complex data not supported: y must hold"),
        ([10**400, 1] * 30, "^Unknown label type: y must hold numbers, text or truth values, got"),
        (np.column_stack([Y, Y]), r"^y should be a 1d array, got an array of shape \(60, 2\)"),
    ],
    ids=["mixed", "mixed list", "dicts", "fractions", "complex", "huge", "2-d"],
)
def test_labels_that_are_none_are_refused_in_one_sentence(y, words):
    with pytest.raises(DataError, match=words) as refusal:
        EMSCOClassifier(**QUICK).fit(X, y)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_groups_of_mixed_types_or_without_some_are_refused():
    with pytest.raises(DataError, match=r"^groups must hold values of one type"):
        EMSCOClassifier(**QUICK).fit(X, Y, groups=np.array([1, "a"] * 30, dtype=object))
    with pytest.raises(DataError, match=r"^groups must have a value in every row, got none in row"):
        EMSCOClassifier(**QUICK).fit(X, Y, groups=[pd.NA, 1] * 30)


def test_masked_values_are_missing_ones_and_what_is_under_the_mask_does_not_matter():
    mask = np.random.default_rng(1).random(X.shape) < 0.1
    hidden = np.ma.MaskedArray(np.where(mask, 1e6, X), mask)
    with pytest.raises(DataError, match=r"must have no missing value .*, got one in column 'x"):
        EMSCOClassifier(**QUICK).fit(hidden, Y)
    clf = EMSCOClassifier(**QUICK, gaps="impute").fit(hidden, Y)
    holes = np.where(mask, np.nan, X)
    plain = EMSCOClassifier(**QUICK, gaps="impute").fit(holes, Y)
    assert clf.predict_proba(hidden).tolist() == plain.predict_proba(holes).tolist()
    assert clf.decide(hidden).labels.tolist() == clf.cascade_.decide(hidden).labels.tolist()
    weights = np.ma.MaskedArray(np.ones(60), np.arange(60) == 7)
    with pytest.raises(DataError, match=r"sample_weight must be finite .*, got nan in row 7"):
        EMSCOClassifier(**QUICK).fit(X, Y, weights)
    with pytest.raises(
        CostsError, match="costs must be finite and at least 0, got nan for feature 'x1'"
    ):
        EMSCOClassifier(np.ma.MaskedArray([1, 2, 3], [0, 1, 0]), **QUICK).fit(X, Y)
