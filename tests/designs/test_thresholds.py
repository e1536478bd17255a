"""Confidence thresholds: one for all classes, or one for each; their checks, forms and words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco import ParameterError
from emsco.designs.thresholds import (
    answers_all,
    by_class,
    by_label,
    check_min_confidence,
    check_stage_thresholds,
    differ,
    in_words,
    plain,
)

CLASSES = np.array(["ill", "well", "worn"])
BY_LABEL = {"worn": 0.3, "ill": 0.9, "well": 1}
numbers = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3)


@given(numbers)
def test_thresholds_are_one_number_where_all_classes_share_it(values):
    threshold = by_label(np.array(values), CLASSES)
    assert isinstance(threshold, float) == (len({*values}) == 1)
    assert by_class(threshold, CLASSES).tolist() == values
    assert answers_all(threshold) == (not any(values))


def test_what_is_checked_comes_back_as_floats_in_the_order_of_the_classes():
    assert check_min_confidence(np.float32(0.5), CLASSES) == 0.5
    assert [*check_min_confidence(BY_LABEL, CLASSES).items()] == [
        ("ill", 0.9),
        ("well", 1.0),
        ("worn", 0.3),
    ]
    assert check_stage_thresholds(np.array([0.9, 0]), 2) == (0.9, 0.0)


@pytest.mark.parametrize(
    ("check", "value", "got"),
    [
        (check_min_confidence, 1 / 3, "0.333"),
        (check_min_confidence, True, "True"),
        (check_min_confidence, 80, "80; did you mean 0.8?"),
        (check_min_confidence, BY_LABEL | {"ill": 0}, "0"),
        (check_min_confidence, BY_LABEL | {"wel": 0.5}, "'wel' too; did you mean 'well'?"),
        (check_min_confidence, {"ill": 0.5, "well": 0.5}, "none for 'worn'"),
        (by_class, {"ill": 0.5}, "none for 'well'"),
    ],
)
def test_what_is_no_threshold_is_refused(check, value, got):
    with pytest.raises(ParameterError) as refusal:
        check(value, CLASSES)
    assert got in str(refusal.value).partition("got ")[2]


def test_thresholds_have_one_text_and_plain_labels():
    shared, own = (BY_LABEL, dict(BY_LABEL)), (BY_LABEL, 0.5)
    assert [differ(shared), differ(own)] == [False, True]
    assert in_words(*own) == f"{in_words(*shared)} → 0.5" == "worn: 0.3, ill: 0.9, well: 1 → 0.5"
    assert plain({np.int64(1): np.float32(0.5), "x": 1}) == {"1": 0.5, "'x'": 1.0}
