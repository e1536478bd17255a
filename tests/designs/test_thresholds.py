"""Confidence thresholds: one for all classes, or one for each; their checks, forms and words."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from emsco.designs.thresholds import (
    answers_all,
    by_class,
    by_label,
    check_min_confidence,
    check_stage_thresholds,
    in_words,
    leaving_in_words,
    plain,
)

CLASSES = np.array(["ill", "well", "worn"])
BY_LABEL = {"worn": 0.3, "ill": 0.9, "well": 1}


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3))
def test_thresholds_are_one_number_where_all_classes_share_it(values):
    threshold = by_label(np.array(values), CLASSES)
    assert isinstance(threshold, float) == (len({*values}) == 1)
    assert by_class(threshold, CLASSES).tolist() == values
    assert answers_all(threshold) == (not any(values))


def test_what_is_checked_comes_back_as_floats_in_the_order_of_the_classes():
    checked = check_min_confidence(BY_LABEL, CLASSES)
    assert list(checked.items()) == [("ill", 0.9), ("well", 1.0), ("worn", 0.3)]
    assert check_min_confidence(np.float32(0.5), CLASSES) == 0.5
    assert check_stage_thresholds(np.array([0.9, 0]), 2) == (0.9, 0.0)


def test_thresholds_have_one_text_and_plain_labels():
    shared = "worn: 0.3, ill: 0.9, well: 1"
    assert in_words(BY_LABEL, dict(BY_LABEL)) == shared
    assert in_words(BY_LABEL, 0.5) == f"{shared} → 0.5"
    assert plain({np.int64(1): np.float32(0.5), "x": 1}) == {"1": 0.5, "'x'": 1.0}
    assert leaving_in_words((0, 0)) == "every row leaves at the first stage"
