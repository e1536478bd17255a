"""Confidence thresholds: one for all classes, or one for each."""

import numpy as np
import pytest

from emsco.designs.thresholds import by_class, check_min_confidence, in_words
from emsco.errors import ParameterError

CLASSES = np.array(["ill", "well", "worn"])


def test_one_number_holds_for_every_class():
    assert by_class(check_min_confidence(0.8, CLASSES), CLASSES).tolist() == [0.8, 0.8, 0.8]


def test_a_number_for_each_is_put_into_the_order_of_the_classes():
    given = {"worn": 0.3, "ill": 0.9, "well": 1}
    assert by_class(check_min_confidence(given, CLASSES), CLASSES).tolist() == [0.9, 1.0, 0.3]


def test_labels_may_be_numbers_of_numpy():
    classes = np.array([0, 1])
    given = {np.int64(1): 0.9, np.int64(0): 0.6}
    assert by_class(check_min_confidence(given, classes), classes).tolist() == [0.6, 0.9]


def test_auto_is_halfway_from_the_share_of_each_class_to_certainty():
    found = check_min_confidence("auto", CLASSES, np.array([10.0, 30.0, 60.0]))
    assert found == {"ill": 0.55, "well": 0.65, "worn": 0.8}
    assert by_class(found, CLASSES).tolist() == [0.55, 0.65, 0.8]


def test_auto_stays_below_certainty_even_for_next_to_all_rows():
    found = check_min_confidence("auto", CLASSES[:2], np.array([1.0, 10**9]))
    assert found == {"ill": 0.5, "well": 0.999}


def test_auto_needs_shares_and_is_the_only_word():
    with pytest.raises(ParameterError, match=r"must be a number in .*, got 'auto'\."):
        check_min_confidence("auto", CLASSES)
    with pytest.raises(ParameterError, match=r'must be "auto", a number or a dict, got .most'):
        check_min_confidence("most", CLASSES, np.ones(3))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1 / 3, r"a number in \(0.333333, 1\], since guessing reaches 1 / .*, got 0.333"),
        ("0.9", r"min_confidence must be a number in .*, got '0.9'\."),
        ({"ill": 0.9, "well": 0.9}, "must have a threshold for every class, got none for 'worn'"),
        ({"ill": 1, "well": 1, "x": 1}, r"must name the classes .*'well', 'worn', got 'x' too\."),
        (
            {"ill": 0, "well": 1, "worn": 1},
            r"min_confidence of class 'ill' must be a number in \(0, 1\], got 0\.",
        ),
        ({}, "must have a threshold for every class, got none for 'ill'"),
    ],
)
def test_invalid_thresholds_are_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        check_min_confidence(given, CLASSES)


def test_thresholds_in_words_are_a_number_or_a_list():
    assert in_words(0.75) == "0.75"
    assert in_words({"ill": 0.9, "well": 0.5}) == "ill: 0.9, well: 0.5"
