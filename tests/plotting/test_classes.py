"""Results by class as tables: what they show, and that they fit."""

from __future__ import annotations

import numpy as np
import pytest

from emsco._base.objectives import Estimate
from emsco.plotting.classes import class_html, class_notes, class_tables, class_text
from emsco.stats.by_class import ByClass

LONG = ("adenocarcinoma", "squamous cell", "large cell", "mesothelioma", "sarcoidosis", "asthma")


def by_class(labels, n_rows=500, weights=None):
    """Random labels and rejections."""
    rng = np.random.default_rng(0)
    truth, given = rng.integers(0, len(labels), n_rows), rng.integers(0, len(labels) + 1, n_rows)
    return ByClass.from_labels(labels, truth, given, weights)


def test_the_recall_to_expect_has_a_column():
    counts = ByClass(("ill", "well"), ((8, 2, 0), (5, 85, 0)))
    expected = (Estimate(0.7, 0.4, 0.9), Estimate(0.94, 0.9, 0.97))
    lines = class_tables(counts, 100, expected=expected)[0].text()
    assert "expected" in lines[0]
    assert "70.0% (40 to 90)" in lines[1]


def test_counts_that_are_means_over_folds_add_up_to_the_rows_of_their_class():
    counts = ByClass(("ill", "well"), ((1.25, 32.5, 67.25), (0.75, 196.5, 101.75)))
    (one,) = class_tables(counts, 200)
    assert one.lines[0][-3:] == ("1", "33", "67")
    assert one.lines[1][-3:] == ("1", "196", "102")


def test_counts_by_label_stand_beside_the_shares_if_there_is_room():
    (table,) = class_tables(ByClass((0, 1), ((1200, 40, 60), (5, 90, 5))), width=80)
    assert table.headings[5:] == ("as 0", "as 1", "rejected")
    assert table.lines[0] == ("0", "1,300", "95.4%", "92.3%", "99.6%", "1,200", "40", "60")
    assert table.lines[1] == ("1", "100", "95.0%", "90.0%", "69.2%", "5", "90", "5")


def test_without_room_the_counts_are_a_table_of_their_own():
    shares, counts = class_tables(by_class(LONG), width=78)
    assert len(shares.headings) == 5
    assert (counts.headings[0], counts.headings[-1]) == ("labelled as", "rejected")
    assert counts.lines[5][1:] == tuple(map(str, by_class(LONG).counts[5]))


@pytest.mark.parametrize("labels", [(0, 1), LONG[:2], LONG, range(7), range(255)])
@pytest.mark.parametrize("n_rows", [10, 3_000_000])
def test_every_line_fits(labels, n_rows):
    counts = by_class(labels, n_rows)
    lines = [*class_text(counts, 78), *class_notes(counts)]
    assert max(map(len, lines)) <= 80
    assert max(map(len, class_text(counts, 78))) <= 78


def test_weights_have_4_digits():
    counts = by_class(("a", "b"), 50, np.random.default_rng(1).random(50))
    assert max(len(cell) for line in class_tables(counts, 78)[0].lines for cell in line) <= 6


def test_more_than_6_classes_have_shares_alone():
    (table,) = class_tables(by_class(range(7)), width=10_000)
    assert table.headings == ("class", "rows", "labelled", "recall", "precision")
    assert len(table.lines) == 7


def test_of_many_classes_20_are_shown_and_the_others_counted():
    counts = by_class(range(255))
    assert len(class_text(counts, 78)) == 21
    assert class_notes(counts)[0] == "235 more; by_class.to_pandas() has all."
    assert class_notes(counts, "the file")[0] == "235 more; the file has all."
    assert len(class_html(counts)) < 10_000


def test_a_share_of_nothing_is_left_blank():
    (table,) = class_tables(ByClass(("a", "b"), ((3, 0, 1), (0, 0, 0))), width=80)
    assert table.lines[1][:5] == ("b", "0", "", "", "")


def test_a_label_stays_on_its_line():
    counts = ByClass(("a\nb", "\t"), ((30, 0, 0), (0, 20, 0)))
    assert len(class_text(counts, 78)) == 3
    assert class_notes(counts)[0].startswith('Always answering "a b" is')


@pytest.mark.parametrize(
    ("label", "said"), [("ill", '"ill"'), (1, "1"), (0.5, "0.5"), (True, "True")]
)
def test_the_commonest_class_is_named_with_quotes_if_it_is_text(label, said):
    counts = ByClass(("other", label), ((10, 0, 0), (0, 30, 0)))
    assert class_notes(counts) == [
        f"Always answering {said} is correct for 75.0% of the rows, at no cost."
    ]


def test_labels_that_are_no_better_than_the_commonest_are_called_so():
    counts = ByClass(("a", "b"), ((30, 0, 0), (9, 1, 0)))
    assert class_notes(counts)[1:] == ["The labels given are no better than that."]


def test_without_rows_there_is_nothing_to_compare():
    assert class_notes(ByClass(("a", "b"), ((0, 0, 0), (0, 0, 0)))) == []


def test_a_notebook_has_the_table_and_the_notes():
    counts = by_class(("<b>", "well"))
    html = class_html(counts)
    assert "<b>" not in html
    assert "<th>as well</th>" in html
    assert "is correct for" in html
