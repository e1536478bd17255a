"""Fronts as text, columns and HTML: the shortlist first, what there is without a cascade last."""

from __future__ import annotations

import numpy as np
import pytest
from support.handmade import make_front
from support.settings import PLAIN

from emsco import EMSCOClassifier


@pytest.fixture(scope="module")
def front():
    rng = np.random.default_rng(0)
    ill = rng.random(400) < 0.25
    X = rng.normal(size=(400, 4)) + ill[:, None] * np.array([0.2, 0.4, 0.8, 1.2])
    classifier = EMSCOClassifier(
        [1, 2, 10, 40], min_confidence=0.8, search="exact", random_state=0, **PLAIN
    )
    return classifier.fit(X, np.where(ill, "ill", "well")).front_


def test_text_lists_the_shortlist_and_then_what_there_is_without_a_cascade(front):
    heading, _, *lines = repr(front).splitlines()
    shown = [i for i in range(len(front)) if f"\n{i:>3}" in repr(front)]
    assert {front.shortlist()[0], front.shortlist()[-1], front.deployed} <= {*shown}
    assert heading.endswith(f"{len(front.shortlist())} differ beyond noise")
    assert [int(line[:3]) for line in lines[: len(shown)]] == shown
    assert lines[len(shown)].strip() == f"… and {len(front) - len(shown)} more; to_pandas() has all"
    for line, one in zip(lines[len(shown) + 1 :], front.references, strict=False):
        assert line.split()[:2] == [f"{one.coverage:.3f}", f"{one.accuracy:.3f}"]
        assert line.endswith(one.title)


def test_columns_have_the_recall_of_each_class_and_what_the_assessment_says(front):
    table = front.to_pandas()
    for j, label in enumerate(("ill", "well")):
        expected = [point.by_class.recall[j] for point in front]
        assert table[f"recall of {label}"].tolist() == expected
    assert table["informative"].tolist() == [point.is_informative for point in front]
    assert np.flatnonzero(table["shortlisted"]).tolist() == front.shortlist()
    assert "informative" not in make_front().to_pandas()


def test_html_lists_the_shortlist_and_ends_with_what_there_is_without_a_cascade(front):
    rows = front._repr_html_().split("<tr>")[2:]
    numbers = [row.split("<td>")[1].split("<")[0].rstrip(" ≈") for row in rows[:-3]]
    assert f"▶ {front.deployed}" in numbers
    assert {int(number.lstrip("▶ ")) for number in numbers} <= {*front.shortlist(), front.deployed}
    assert [title in row for title, row in zip(("always", "every", "all"), rows[-3:], strict=True)]
    assert f"{len(front.shortlist())} of {len(front)} designs differ" in rows[-1]
