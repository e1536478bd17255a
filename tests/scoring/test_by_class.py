"""Results by class: counts, shares, files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.scoring.by_class import ByClass, is_beyond

LABELS = ("mild", "severe", "none")


def answered(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, every label given at least once, no rejection."""
    rng = np.random.default_rng(seed)
    return np.arange(n_rows) % 3, rng.integers(0, 3, n_rows)


@given(st.integers(0, 10**6), st.integers(9, 60))
@settings(max_examples=30, deadline=None)
def test_shares_are_those_of_sklearn_where_every_row_is_answered(seed, n_rows):
    truth, said = answered(n_rows, seed)
    counts = ByClass.from_labels(LABELS, truth, said)
    assert np.allclose(counts.recall, recall_score(truth, said, average=None))
    assert np.allclose(
        counts.precision,
        precision_score(truth, said, average=None, labels=range(3), zero_division=0),
    )
    assert counts.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, said))


def test_a_rejected_row_is_not_found():
    counts = ByClass.from_labels(LABELS, np.array([0, 0, 1]), np.array([0, 3, 1]))
    assert counts.recall.tolist() == [0.5, 1.0, 0.0]
    assert counts.coverage.tolist() == [0.5, 1.0, 0.0]


def test_weights_count_rows():
    counts = ByClass.from_labels(("a", "b"), np.array([0, 1]), np.array([0, 0]), np.array([3, 0.5]))
    assert counts.counts == ((3.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    assert counts.commonest_share == pytest.approx(3 / 3.5)
    assert counts.all_rejected().counts == ((0.0, 0.0, 3.0), (0.0, 0.0, 0.5))


def test_parts_add_up_and_a_file_keeps_the_whole_numbers():
    truth, said = answered(30, 0)
    counts = ByClass.from_labels(LABELS, truth, said)
    halves = [ByClass.from_labels(LABELS, truth[i::2], said[i::2]) for i in (0, 1)]
    read = ByClass.from_dict(Fields(counts.to_dict(), "front.json"), "counts", LABELS)
    assert repr(ByClass.joined(halves)) == repr(counts) == repr(read)


@pytest.mark.parametrize(
    "lines",
    [
        [[1, 2, 0], [1, 2]],
        [[1, 2, 0], 3],
        [[1, -1, 0], [0, 0, 0]],
        [[True, 1, 0], [0, 0, 0]],
        [[10**400, 1, 0], [0, 0, 0]],
    ],
)
def test_wrong_counts_are_refused(lines):
    with pytest.raises(FileError, match="'classes' must be 2 lists of 3 numbers"):
        ByClass.from_dict(Fields({"classes": lines}, "front.json"), "classes", ("a", "b"))


def test_tables_have_a_line_per_class():
    table = ByClass.from_labels(LABELS, *answered(9, 2)).to_pandas()
    assert table["class"].tolist() == list(LABELS)
    assert (table.filter(like="called").sum(axis=1) + table["rejected"]).tolist() == [3, 3, 3]


def test_an_accuracy_is_beyond_a_share_only_by_more_than_1645_thousandths_of_the_shares_error():
    error = math.sqrt(0.8 * 0.2 / 100)
    assert is_beyond(0.8, 0.8 + 1.646 * error, 100)
    assert not is_beyond(0.8, 0.8 + 1.644 * error, 100)


@pytest.mark.parametrize(("share", "accuracy", "n_rows"), [(0.5, 0.5, 9), (1, 1, 9), (0, 0, 0)])
def test_an_equal_accuracy_and_one_of_no_rows_are_not_beyond(share, accuracy, n_rows):
    assert not is_beyond(share, accuracy, n_rows)


def test_the_commonest_class_is_beaten_by_labels_that_are_correct_more_often():
    assert ByClass(("a", "b"), ((60, 0, 0), (2, 38, 0))).beats_commonest
    assert not ByClass(("a", "b"), ((60, 0, 0), (40, 0, 0))).beats_commonest


def test_labels_that_find_a_rare_class_beat_the_commonest_though_they_are_correct_less_often():
    counts = ByClass(("well", "ill"), ((433, 97, 420), (0, 49, 1)))
    assert counts.accuracy < counts.commonest_share
    assert counts.beats_commonest


def test_one_lucky_label_does_not_beat_the_commonest_class():
    assert not ByClass(("a", "b"), ((30, 0, 0), (9, 1, 0))).beats_commonest


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_labels_without_knowledge_rarely_beat_the_commonest_class(share):
    rng = np.random.default_rng(0)
    truth = (rng.random((500, 200)) < share).astype(int)
    given = (rng.random((500, 200)) < 0.1).astype(int)
    beats = [
        ByClass.from_labels((0, 1), *one).beats_commonest for one in zip(truth, given, strict=True)
    ]
    assert np.mean(beats) < 0.08


def test_a_cascade_that_rejects_every_row_does_not_beat_the_commonest_class():
    assert not ByClass(("a", "b"), ((0, 0, 6), (0, 0, 4))).beats_commonest
