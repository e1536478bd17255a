"""Fronts as text, columns and HTML: the shortlist first, what there is without a cascade last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.handmade import make_branching_front, make_front, make_front_of_thresholds
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.designs.chromosomes import with_levels
from emsco.designs.thresholds import ThresholdGrid
from emsco.front.point import NamedDesigns, NamedTies


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


def test_text_marks_designs_that_are_no_better_than_the_commonest_class(front):
    points = sorted(front.points, key=lambda point: point.is_informative)
    listed = tuple(replace(point, shortlisted=True) for point in points)
    dull = replace(front, points=listed, deployed=None)
    assert "\n  0≈ " in repr(dull)
    assert repr(dull).endswith("≈ no better than always answering 'well', or only by chance")
    assert "\n  0  " in repr(replace(dull, points=dull.points[-1:]))


def test_text_of_a_front_built_by_hand_has_neither_references_nor_marks():
    text = repr(make_front())
    assert "everything" not in text
    assert "noise" not in text
    assert "≈" not in text


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


def test_html_leaves_seen_references_blank_that_nobody_measured(front):
    tested = front.with_seen(np.zeros((2, 4)), ["ill", "well"])
    known = tested._repr_html_().split("<tr>")[-1]
    unknown = replace(tested, seen_references=())._repr_html_().split("<tr>")[-1]
    assert known.count("<td></td>") == 3
    assert unknown.count("<td></td>") == 6


def test_designs_that_branch_have_a_column_in_words_and_the_first_stage_of_each_feature():
    branching = make_branching_front()
    columns = branching.columns()
    assert columns["design"] == [point.design.arrows() for point in branching]
    stages = [columns[f"stage of {name}"] for name in branching.costs.names]
    assert stages == [[1, 1], [2, 2], [0, 3], [0, 5]]
    assert [point.size[:2] for point in branching] == [(2, 2), (8, 4)]
    assert "{age ≤ 0.2: pulse at 0.85 → " in repr(branching)
    assert branching.fittest() in branching
    first, second = branching.to_dicts()
    assert "branches" not in first
    assert [one["after"] for one in second["branches"]] == [0, 1]
    assert "design" not in make_front().columns()


def test_records_name_the_classes_of_results_by_class(front):
    record = front.to_dicts()[0]
    assert record["by_class"]["labels"] == ["ill", "well"]
    assert record["is_informative"] == front[0].is_informative
    assert make_front().to_dicts()[0]["by_class"] is None


def test_columns_have_thresholds_if_a_design_has_its_own():
    table = make_front_of_thresholds().to_pandas()
    assert table["thresholds"].tolist() == ["0.9 → 0.75 → 0", "0.8"]
    assert "thresholds" not in make_front().to_pandas()


def test_text_and_html_show_thresholds_that_differ():
    front = make_front_of_thresholds()
    listed = replace(front, points=tuple(replace(one, shortlisted=True) for one in front))
    assert "age, pulse at 0.9 → scan at 0.75 → biopsy for all" in repr(listed)
    assert "age, pulse at 0.9<" in listed._repr_html_()


def test_values_of_a_point_have_the_threshold_of_each_stage():
    by_stage, plain = make_front_of_thresholds((0.9, {0: 0.6, 1: 0.8}, 0)).to_dicts()
    assert [stage["threshold"] for stage in by_stage["stages"]] == [0.9, {"0": 0.6, "1": 0.8}, 0.0]
    assert not any("threshold" in stage for stage in plain["stages"])


def test_ties_of_a_point_begin_with_its_own_thresholds():
    front = make_front_of_thresholds()
    grid = ThresholdGrid(np.array([[0.0, 0.0], [0.75, 0.75], [0.9, 0.9]]), (1, 2), (0,))
    named = NamedDesigns(front.costs.names, grid, np.array([0, 1]))
    genes = with_levels(front[0].design.stages[None], np.array([[2, 1, 0]]))
    tied = replace(front, tied=NamedTies(lambda _: iter(genes), named))
    assert [*tied.ties(0)] == [front[0].design]
    assert front[0].design.thresholds == (0.9, 0.75, 0)
