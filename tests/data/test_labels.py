"""Labels of files: a part of a file is read like the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emsco import EMSCOClassifier
from emsco.data.labels import as_classes, check_truth, coded_labels, labels_of, positions_of
from emsco.errors import DataError


@pytest.mark.parametrize(
    ("classes", "part"),
    [
        (["false", "true", "unknown"], pa.array(["true", "false"])),
        (["false", "true", "unknown"], pa.array([True, False])),
        (["1.50", "2", "none"], pa.array(["2", "1.50"])),
        (["01", "1"], pa.array(["1"])),
    ],
    ids=["truth-as-text", "truth", "decimals", "noughts"],
)
def test_a_part_of_a_file_with_text_labels_has_text_labels(classes, part):
    known = np.array(classes)
    labels = labels_of(pa.chunked_array([part]), "new.csv", classes=known)
    wanted = [str(label).lower() for label in part.to_pylist()]
    assert as_classes(labels, known, "new.csv").tolist() == wanted


def test_classes_that_are_sorted_as_numbers_are_found_as_text():
    classes = np.array([9, 10, 1_000_000_000_000_000_000])
    labels = classes[[1, 2, 0, 2]]
    assert as_classes(labels.astype(str), classes, "new.csv").tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (np.array(["well", "ill"]), np.array(["ill", "well", "ill"], dtype=object)),
        (np.array([1, 0]), np.array([False, True, False])),
        (np.array([3, 0.1], dtype=np.float16), np.array([0.1, 3, 0.1])),
        (np.array([1, "one"], dtype=object), np.array(["one", 1, "one"], dtype=object)),
    ],
    ids=["text", "truth", "halves", "mixed"],
)
def test_labels_are_found_by_value_whatever_the_order_and_type(classes, labels):
    assert positions_of(labels, classes).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "y", [np.repeat(np.arange(21), 10), np.repeat(np.arange(100.0), 40), np.arange(40) % 20]
)
def test_whole_numbers_with_many_rows_each_are_classes(y):
    assert coded_labels(y)[0].tolist() == np.unique(y).tolist()


def test_names_are_classes_however_many_there_are_of_them():
    assert len(coded_labels(np.array([f"ward {i}" for i in range(200)] * 2))[0]) == 200


MISSING = [
    ["ill", None],
    [1, None],
    ["ill", float("nan")],
    np.array([1, np.nan]),
    np.array(["ill", None], dtype=object),
    np.ma.array([0, 1], mask=[False, True]),
    pd.Series(["ill", None]),
    pd.Series(["ill", pd.NA], dtype="string"),
    pd.Series([1, pd.NA], dtype="Int64"),
    pd.Series(pd.Categorical(["ill", None])),
    pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]),
    pl.Series(["ill", None]),
    pa.array(["ill", None]),
]


@pytest.mark.parametrize("y", MISSING, ids=lambda y: f"{type(y).__name__}")
def test_a_missing_label_is_refused_in_one_sentence(y):
    with pytest.raises(DataError):
        check_truth(y, np.array(["ill", "well"]), 2)
    with pytest.raises(DataError):
        EMSCOClassifier().fit([[1.0], [2.0]], y)
