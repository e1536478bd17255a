"""Results by class as tables: what they show, and that they fit."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.plotting.classes import class_html, class_notes, class_tables, class_text
from emsco.scoring.by_class import ByClass

LONG = ("adenocarcinoma", "squamous cell", "large cell", "mesothelioma", "sarcoidosis", "asthma")


def by_class(labels, n_rows=500, weights=None):
    """Random labels and rejections."""
    rng = np.random.default_rng(0)
    truth, given = rng.integers(0, len(labels), n_rows), rng.integers(0, len(labels) + 1, n_rows)
    return ByClass.from_labels(labels, truth, given, weights)


def test_counts_that_are_means_over_folds_add_up_to_the_rows_of_their_class():
    counts = ByClass(("ill", "well"), ((1.25, 32.5, 67.25), (0.75, 196.5, 101.75)))
    (one,) = class_tables(counts, 200)
    assert one.lines[0][-3:] == ("1", "33", "67")
    assert one.lines[1][-3:] == ("1", "196", "102")


@pytest.mark.parametrize("labels", [(0, 1), LONG[:2], LONG, range(7), range(255)])
@pytest.mark.parametrize("n_rows", [10, 3_000_000])
def test_every_line_fits(labels, n_rows):
    counts = by_class(labels, n_rows)
    lines = [*class_text(counts, 78), *class_notes(counts)]
    assert max(map(len, lines)) <= 80
    assert max(map(len, class_text(counts, 78))) <= 78


def test_of_many_classes_20_are_shown_and_the_others_counted():
    counts = by_class(range(255))
    assert len(class_text(counts, 78)) == 21
    assert class_notes(counts)[0] == "235 more; by_class.to_pandas() has all."
    assert class_notes(counts, "the file")[0] == "235 more; the file has all."
    assert len(class_html(counts)) < 10_000


def test_without_rows_there_is_nothing_to_compare():
    assert class_notes(ByClass(("a", "b"), ((0, 0, 0), (0, 0, 0)))) == []
