"""Results by class: counts, shares, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from emsco._base.documents import Fields
from emsco.scoring.by_class import ByClass, is_beyond

LABELS = ("mild", "severe", "none")


@given(st.integers(0, 10**6), st.integers(9, 60))
@settings(max_examples=30)
def test_shares_are_those_of_sklearn_and_parts_add_up_and_a_file_keeps_whole_numbers(seed, n_rows):
    truth, said = np.arange(n_rows) % 3, np.random.default_rng(seed).integers(0, 3, n_rows)
    counts = ByClass.from_labels(LABELS, truth, said)
    assert np.allclose(counts.recall, recall_score(truth, said, average=None))
    assert np.allclose(
        counts.precision,
        precision_score(truth, said, average=None, labels=range(3), zero_division=0),
    )
    assert counts.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, said))
    assert counts.accuracy == pytest.approx((truth == said).mean())
    halves = [ByClass.from_labels(LABELS, truth[i::2], said[i::2]) for i in (0, 1)]
    read = ByClass.from_dict(Fields(counts.to_dict(), "front.json"), "counts", LABELS)
    assert repr(ByClass.joined(halves)) == repr(counts) == repr(read)
    table = counts.to_pandas()
    assert table["class"].tolist() == list(LABELS)
    assert np.array_equal(table.iloc[:, 5:], counts.counts)


def test_weights_count_rows_and_a_rejected_row_is_not_found():
    truth, given = np.array([0, 1, 1]), np.array([0, 0, 2])
    counts = ByClass.from_labels(("a", "b"), truth, given, np.array([3, 0.5, 1.5]))
    assert counts.counts == ((3.0, 0.0, 0.0), (0.5, 0.0, 1.5))
    assert (counts.recall.tolist(), counts.coverage.tolist()) == ([1, 0], [1, 0.25])
    assert counts.commonest_share == pytest.approx(3 / 5)
    assert counts.all_rejected().counts == ((0.0, 0.0, 3.0), (0.0, 0.0, 2.0))


def test_an_accuracy_is_beyond_a_share_only_by_more_than_1645_thousandths_of_the_shares_error():
    error = (0.8 * 0.2 / 100) ** 0.5
    assert is_beyond(0.8, 0.8 + 1.646 * error, 100)
    for share, accuracy, n_rows in ((0.8, 0.8 + 1.644 * error, 100), (1, 1, 9), (0, 0, 0)):
        assert not is_beyond(share, accuracy, n_rows)


@pytest.mark.parametrize(
    ("counts", "beats"),
    [
        (((60, 0, 0), (2, 38, 0)), True),
        (((60, 0, 0), (40, 0, 0)), False),
        (((433, 97, 420), (0, 49, 1)), True),  # finds a rare class, though less often correct
        (((30, 0, 0), (9, 1, 0)), False),  # one lucky label
        (((0, 0, 6), (0, 0, 4)), False),
    ],
)
def test_labels_beat_the_commonest_class_where_they_know_something(counts, beats):
    assert ByClass(("a", "b"), counts).beats_commonest == beats


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_labels_without_knowledge_rarely_beat_the_commonest_class(share):
    rng = np.random.default_rng(0)
    drawn = (rng.random((500, 2, 200)) < np.array([[share], [0.1]])).astype(int)
    assert np.mean([ByClass.from_labels((0, 1), *one).beats_commonest for one in drawn]) < 0.08
