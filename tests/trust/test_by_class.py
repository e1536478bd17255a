"""Results by class: counts, shares, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.trust.by_class import ByClass

LABELS = ("mild", "severe", "none")


def answered(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, every label given at least once, no rejection."""
    rng = np.random.default_rng(seed)
    return np.arange(n_rows) % 3, rng.integers(0, 3, n_rows)


@given(st.integers(0, 10**6), st.integers(9, 60))
@settings(max_examples=30, deadline=None)
def test_shares_are_those_of_sklearn_where_every_row_is_answered(seed, n_rows):
    truth, said = answered(n_rows, seed)
    found = ByClass.from_labels(LABELS, truth, said)
    assert np.allclose(found.recall, recall_score(truth, said, average=None))
    assert np.allclose(
        found.precision,
        precision_score(truth, said, average=None, labels=range(3), zero_division=0),
    )
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, said))


def test_a_rejected_row_is_not_found():
    found = ByClass.from_labels(LABELS, np.array([0, 0, 1]), np.array([0, 3, 1]))
    assert found.recall.tolist() == [0.5, 1.0, 0.0]
    assert found.coverage.tolist() == [0.5, 1.0, 0.0]


def test_weights_count_rows():
    found = ByClass.from_labels(("a", "b"), np.array([0, 1]), np.array([0, 0]), np.array([3, 0.5]))
    assert found.counts == ((3.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    assert found.commonest_share == pytest.approx(3 / 3.5)


def test_parts_add_up():
    truth, said = answered(30, 0)
    halves = [ByClass.from_labels(LABELS, truth[i::2], said[i::2]) for i in (0, 1)]
    assert ByClass.joined(halves) == ByClass.from_labels(LABELS, truth, said)


def test_a_file_keeps_the_counts():
    truth, said = answered(30, 1)
    found = ByClass.from_labels(LABELS, truth, said)
    read = ByClass.from_fields(
        Fields({"classes": found.to_lists()}, "front.json"), "classes", LABELS
    )
    assert read == found


@pytest.mark.parametrize(
    "lines",
    [[], [[1, 2, 0]], [[1, 2, 0], [1, 2]], [[1, -1, 0], [0, 0, 0]], [["x", 1, 0], [0, 0, 0]]],
)
def test_wrong_counts_are_refused(lines):
    with pytest.raises(FileError, match=r"classes.*2 lists of 3 numbers"):
        ByClass.from_fields(Fields({"classes": lines}, "front.json"), "classes", ("a", "b"))


def test_tables_have_a_line_per_class():
    table = ByClass.from_labels(LABELS, *answered(9, 2)).to_pandas()
    assert table["class"].tolist() == list(LABELS)
    assert (table.filter(like="called").sum(axis=1) + table["rejected"]).tolist() == [3, 3, 3]
