"""References in plots of fronts: what the record has, where crosses stand, and their names."""

from dataclasses import replace

import numpy as np
import pytest
from support.handmade import make_balanced_front, make_front, make_rows
from support.looks import words_of

from emsco.front.pictures import front_picture
from emsco.front.references import references_of
from emsco.plotting import FrontPicture, FrontSeries, draw_front
from emsco.plotting.marks import ReferenceMark
from emsco.stats.by_class import ByClass

FAR = ReferenceMark(coverage=1.0, accuracy=0.1, cost=0.0, title="always 3")
CLOSE = ReferenceMark(coverage=1.0, accuracy=0.9, cost=9.0, title="everything")


@pytest.fixture(scope="module")
def front():
    rng, X = np.random.default_rng(0), make_rows(60)
    truth, winner, sure = rng.integers(0, 2, 100), rng.integers(0, 2, 100), rng.random(100) > 0.5
    references = references_of(("no", "yes"), truth, winner, sure, 0, 53.5, None)
    seen = make_front().with_seen(X, (X[:, 0] > 0).astype(int))
    return replace(seen, references=references, seen_references=references)


def picture_of(*marks, informative=None):
    accuracy, cost = np.array([0.9, 0.95, 0.99]), np.array([2.0, 5.0, 8.0])
    series = FrontSeries(
        "scored", 50, np.array([0.5, 0.7, 0.9]), accuracy, cost, informative, marks
    )
    return FrontPicture((series,), np.array([1, 2, 2]), 10.0)


def crosses_of(figure):
    panel = figure.axes[0]
    wide = [one for one in panel.collections if not one.get_clip_on()]
    return [one.get_offsets()[0].tolist() for one in wide]


def test_each_series_has_its_references_by_its_own_metric(front):
    balanced = replace(
        make_balanced_front(),
        seen=front.seen,
        references=front.references,
        seen_references=front.references,
    )
    kinds = front_picture(balanced, on="both").series
    by_class = front.references[2].by_class
    assert kinds[0].references[2].accuracy == by_class.balanced_accuracy
    assert kinds[1].references[2].accuracy == front.references[2].accuracy
    assert [mark.title for mark in kinds[0].references] == [
        "always 'no'",
        "everything",
        "everything, all answered",
    ]


@pytest.mark.parametrize(
    ("kind", "width"), [("2d", 2.6), ("2d", 3.4), ("3d", 3.4), ("3d", 7.0), ("pairs", 7.0)]
)
@pytest.mark.parametrize("on", ["scored", "both"])
def test_every_kind_of_front_names_what_there_is_without_a_cascade(front, kind, width, on):
    words = words_of(front.plot(kind, mark=0, on=on, width=width))
    for said in ("always'no'", "everything", "everything,allanswered", "nocascade"):
        assert said in words


def test_a_reference_stands_where_its_figures_are():
    figure = draw_front(picture_of(CLOSE))
    assert crosses_of(figure) == [[9.0, 0.9]]
    assert figure.axes[0].get_xlim()[1] > 9


def test_a_reference_far_from_all_points_stands_at_the_edge_with_its_figure():
    figure = draw_front(picture_of(FAR, CLOSE))
    low, _ = figure.axes[0].get_ylim()
    assert low > 0.8
    assert crosses_of(figure) == [[0.0, low], [9.0, 0.9]]
    assert "always3↓10.0%" in words_of(figure)


def test_names_of_references_at_one_place_stand_below_each_other():
    figure = draw_front(picture_of(CLOSE, replace(CLOSE, title="the same"), CLOSE))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[i + 1 :])


def test_a_name_with_signs_of_formulas_is_plain_text():
    title = "always '$x_1$'"
    assert title.replace(" ", "") in words_of(draw_front(picture_of(replace(CLOSE, title=title))))


def test_points_that_are_not_informative_are_hollow_and_in_the_legend(front):
    figure = draw_front(picture_of(informative=np.array([True, False, True])))
    dots = figure.axes[0].collections
    hollow = [one.get_offsets().tolist() for one in dots if not len(one.get_facecolor())]
    assert hollow == [[[5.0, 0.95]]]
    assert "notinformative" in words_of(figure)
    assert "notinformative" not in words_of(draw_front(picture_of()))


def test_the_record_knows_which_points_are_not_informative(front):
    useless = ByClass(("no", "yes"), ((60, 0, 0), (40, 0, 0)))
    points = (front[0], replace(front[1], by_class=useless))
    bare = replace(front, points=points, references=(), seen_references=())
    picture = front_picture(bare, on="both")
    scored, seen = picture.series
    assert scored.informative.tolist() == [True, False]
    beats = [one.by_class.beats_commonest for one in front.seen]
    assert seen.informative.tolist() == beats
    assert picture.has_uninformative
    assert not picture.has_references


def test_a_name_covers_no_point_if_there_is_room_beside_its_cross():
    crowd = np.linspace(3.0, 8.5, 12)  # to the left of the cross, where names stand by default
    flat, marks = np.full(12, 0.9), (replace(CLOSE, coverage=0.5),)
    series = FrontSeries("scored", 50, np.linspace(0.4, 0.9, 12), flat, crowd, None, marks)
    figure = draw_front(FrontPicture((series,), np.ones(12), 10.0))
    figure.draw_without_rendering()
    panel = figure.axes[0]
    box, points = panel.texts[0].get_window_extent(), np.column_stack([crowd, flat])
    assert not any(box.contains(*at) for at in panel.transData.transform(points))
