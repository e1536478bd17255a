"""Pictures of fronts: points, expected figures, and what there is without a cascade."""

from dataclasses import replace

import numpy as np
import pytest
from support.handmade import (
    COSTS,
    make_front,
    make_rows,
    with_expected,
)
from support.looks import words_of

from emsco.front.pictures import front_picture
from emsco.front.references import references_of
from emsco.plotting import (
    FrontPicture,
    FrontSeries,
    draw_front,
)
from emsco.plotting.trade_offs import ReferenceMark
from emsco.scoring.by_class import ByClass


def test_the_picture_of_a_front_has_the_objectives_of_its_points(front):
    picture = front_picture(front, marked=1)
    (scored,) = picture.series
    assert (scored.name, scored.n_rows) == ("scored", 100)
    for name in ("coverage", "accuracy", "cost"):
        assert getattr(scored, name).tolist() == [getattr(point, name) for point in front]
    assert picture.n_stages.tolist() == [3, 2]
    assert (picture.marked, picture.total_cost) == (1, sum(COSTS))


@pytest.mark.parametrize(("kind", "width"), [("2d", 3.4), ("3d", 3.4), ("pairs", 2.6)])
def test_every_kind_of_front_says_all_at_any_width(front, kind, width):
    figure = front.plot(kind, mark=0, on="both", width=width)
    words = words_of(figure)
    for said in ("3stages", "2stages", "scoredon100rows", "seenon60rows", "design0", "coverage"):
        assert said in words
    assert figure.get_figwidth() == width


def test_markers_show_stages_and_those_of_seen_figures_are_hollow(front):
    figure = front.plot(on="both")
    dots = [markers for markers in figure.axes[0].collections if len(markers.get_offsets())]
    assert [markers.get_offsets()[0].tolist() for markers in dots[:2]] == [
        [front[1].cost, front[1].accuracy],
        [front[0].cost, front[0].accuracy],
    ]
    shapes = {markers.get_paths()[0].vertices.tobytes() for markers in dots[:2]}
    assert len(shapes) == 2
    assert [len(markers.get_facecolor()) for markers in dots] == [1, 1, 0, 0]


def test_ten_thousand_points_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    coverage, accuracy, cost = rng.random((3, 10_000))
    series = FrontSeries("scored", 500, coverage, accuracy, cost)
    picture = FrontPicture((series,), rng.integers(1, 11, 10_000), 1.0)
    draw_front(picture).savefig(tmp_path / "front.png", dpi=50)
    assert (tmp_path / "front.png").stat().st_size > 0


@pytest.fixture(scope="module")
def expecting():
    X = make_rows(60)
    return with_expected(make_front().with_seen(X, (X[:, 0] > 0).astype(int)))


def lines_of(figure):
    """The line to the expected figures, their interval and their mark."""
    return [np.transpose(line.get_data()).tolist() for line in figure.axes[0].get_lines()]


def test_a_line_joins_the_ring_to_the_expected_figures_and_their_interval(expecting):
    joined, interval, mark = lines_of(expecting.plot(mark=0))
    expected = expecting[0].expected
    place = [expected.cost.value, expected.accuracy.value]
    assert joined == [[expecting[0].cost, expecting[0].accuracy], place]
    assert [y for _, y in interval] == [expected.accuracy.low, expected.accuracy.high]
    assert mark == [place]


CLOSE = ReferenceMark(coverage=1.0, accuracy=0.9, cost=9.0, title="everything")


@pytest.fixture(scope="module")
def compared():
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


@pytest.mark.parametrize(("kind", "width"), [("2d", 2.6), ("3d", 3.4), ("pairs", 7.0)])
def test_every_kind_of_front_names_what_there_is_without_a_cascade(compared, kind, width):
    words = words_of(compared.plot(kind, mark=0, on="both", width=width))
    for said in ("always'no'", "everything", "everything,allanswered", "buynothing"):
        assert said in words


def test_a_name_with_signs_of_formulas_is_plain_text():
    title = "always '$x_1$'"
    assert title.replace(" ", "") in words_of(draw_front(picture_of(replace(CLOSE, title=title))))


def test_the_record_knows_which_points_are_not_informative(compared):
    useless = ByClass(("no", "yes"), ((60, 0, 0), (40, 0, 0)))
    points = (compared[0], replace(compared[1], by_class=useless))
    bare = replace(compared, points=points, references=(), seen_references=())
    picture = front_picture(bare, on="both")
    scored, seen = picture.series
    assert scored.informative.tolist() == [True, False]
    beats = [one.by_class.beats_commonest for one in compared.seen]
    assert seen.informative.tolist() == beats
    assert picture.has_uninformative
    assert not picture.has_references
