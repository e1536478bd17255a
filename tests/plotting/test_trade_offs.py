"""Pictures of fronts: points, expected figures, and what there is without a cascade."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.markers import MarkerStyle
from support.handmade import (
    COSTS,
    make_balanced_front,
    make_front,
    make_rows,
    with_expected,
)
from support.looks import words_of

from emsco import ParameterError
from emsco.front.pictures import front_picture
from emsco.front.references import references_of
from emsco.plotting import (
    FrontPicture,
    FrontSeries,
    draw_front,
)
from emsco.plotting.trade_offs import ReferenceMark, _marker
from emsco.stats.by_class import ByClass


def test_the_picture_of_a_front_has_the_objectives_of_its_points(front):
    picture = front_picture(front, marked=1)
    (scored,) = picture.series
    assert (scored.name, scored.n_rows) == ("scored", 100)
    for name in ("coverage", "accuracy", "cost"):
        assert getattr(scored, name).tolist() == [getattr(point, name) for point in front]
    assert picture.n_stages.tolist() == [3, 2]
    assert (picture.marked, picture.total_cost) == (1, sum(COSTS))


def test_seen_figures_are_a_series_of_their_own(front):
    scored, seen = front_picture(front, on="both").series
    assert (scored.n_rows, seen.n_rows) == (100, 60)
    assert seen.cost.tolist() == [point.cost for point in front.seen]
    assert front_picture(front, on="seen").series[0].name == "seen"


def test_records_are_locked(front):
    with pytest.raises(ValueError, match="read-only"):
        front_picture(front).series[0].cost[0] = 1


def test_a_front_without_seen_figures_says_how_to_add_them():
    with pytest.raises(
        ParameterError,
        match=r"for a front without seen figures, got 'seen'; ",
    ):
        make_front().plot(on="seen")
    with pytest.raises(ParameterError, match=r"on must be one of .*, got 'both'"):
        make_front().plot_cascade(0, on="both")


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("2d", 3.4),
        ("3d", 3.4),
        ("pairs", 2.6),
        pytest.param("3d", 7.0, marks=pytest.mark.thorough),
        pytest.param("pairs", 7.0, marks=pytest.mark.thorough),
    ],
)
def test_every_kind_of_front_says_all_at_any_width(front, kind, width):
    figure = front.plot(kind, mark=0, on="both", width=width)
    words = words_of(figure)
    for said in ("3stages", "2stages", "scoredon100rows", "seenon60rows", "design0", "coverage"):
        assert said in words
    assert figure.get_figwidth() == width


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("scored", "balancedaccuracy"),
        ("seen", "accuracyofthelabelsgiven"),
        ("both", "scoredbal.acc.,seenaccuracy"),
    ],
)
@pytest.mark.parametrize("kind", ["2d", pytest.param("pairs", marks=pytest.mark.thorough)])
def test_an_axis_of_accuracy_names_its_metric(on, said, kind):
    X = make_rows(60)
    front = make_balanced_front().with_seen(X, (X[:, 0] > 0).astype(int))
    assert said in words_of(front.plot(kind, on=on))


def test_the_third_axis_names_its_metric_too():
    X = make_rows(60)
    front = make_balanced_front().with_seen(X, (X[:, 0] > 0).astype(int))
    assert "bal.acc." in words_of(front.plot("3d", on="both"))


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


def test_every_number_of_stages_has_a_marker_of_its_own():
    assert len({_marker(k) for k in range(1, 31)}) == 30
    assert MarkerStyle(_marker(15)).get_path() != MarkerStyle(_marker(1)).get_path()


def test_ten_thousand_points_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    coverage, accuracy, cost = rng.random((3, 10_000))
    series = FrontSeries("scored", 500, coverage, accuracy, cost)
    picture = FrontPicture((series,), rng.integers(1, 11, 10_000), 1.0)
    draw_front(picture).savefig(tmp_path / "front.png", dpi=50)
    assert (tmp_path / "front.png").stat().st_size > 0


@pytest.mark.parametrize(("coverage", "n_axes"), [(1.0, 1), (0.9, 2)])
def test_a_front_that_labels_every_row_has_no_scale_of_coverage(coverage, n_axes):
    series = FrontSeries("scored", 5, np.full(2, coverage), np.ones(2), np.arange(2))
    assert len(draw_front(FrontPicture((series,), np.ones(2), 1.0)).axes) == n_axes


def test_a_point_that_is_not_informative_does_not_stretch_the_axes():
    scores = np.array([0.2, 0.95, 0.97])
    nothing = ReferenceMark(1.0, 0.2, 0.0, "buy nothing")
    informative = [False, True, True]
    series = FrontSeries("scored", 5, np.ones(3), scores, np.arange(3), informative, (nothing,))
    panel = draw_front(FrontPicture((series,), np.ones(3), 1.0)).axes[0]
    assert panel.get_ylim()[0] > 0.9
    assert [text.get_text() for text in panel.texts] == ["buy nothing ↓ 20.0%"]


def test_an_unknown_kind_or_a_bad_width_is_refused(front):
    with pytest.raises(ParameterError, match='kind must be one of "2d", "3d", "pairs", got \'4d\''):
        front.plot("4d")
    with pytest.raises(ParameterError, match=r"width must be a number in \[2.6, 40\], got 1"):
        front.plot(width=1)


@pytest.fixture(scope="module")
def expecting():
    X = make_rows(60)
    return with_expected(make_front().with_seen(X, (X[:, 0] > 0).astype(int)))


def recorded(expecting, marked, on="scored"):
    return front_picture(expecting, marked, on).expected


def lines_of(figure):
    """The line to the expected figures, their interval and their mark."""
    return [np.transpose(line.get_data()).tolist() for line in figure.axes[0].get_lines()]


def test_the_record_has_the_expected_figures_of_the_marked_point(expecting):
    assert recorded(expecting, 1) == expecting[1].expected
    assert recorded(expecting, None) is None
    assert recorded(make_front(), 1) is None


@pytest.mark.parametrize("on", ["expected", "seen", "both"])
def test_expected_figures_stand_beside_scored_ones_alone(expecting, on):
    assert recorded(expecting, 1, on) is None


def test_expected_figures_without_a_marked_point_are_refused(expecting):
    picture = front_picture(expecting, 1)
    with pytest.raises(ParameterError, match="expected must be None if no point is marked, got "):
        replace(picture, marked=None)


def test_a_line_joins_the_ring_to_the_expected_figures_and_their_interval(expecting):
    joined, interval, mark = lines_of(expecting.plot(mark=0))
    expected = expecting[0].expected
    place = [expected.cost.value, expected.accuracy.value]
    assert joined == [[expecting[0].cost, expecting[0].accuracy], place]
    assert [y for _, y in interval] == [expected.accuracy.low, expected.accuracy.high]
    assert mark == [place]


@pytest.mark.parametrize("kind", ["2d", "3d", "pairs"])
def test_every_kind_of_front_has_a_key_for_expected_figures(expecting, kind):
    assert "expected" in words_of(expecting.plot(kind, mark=0))


def test_a_front_without_a_marked_point_or_expected_figures_has_no_key_for_them(expecting):
    assert "expected" not in words_of(expecting.plot("2d"))
    assert "expected" not in words_of(make_front().plot("2d", mark=0))


@pytest.mark.parametrize("has_references", [False, True])
def test_axes_reach_the_whole_interval(expecting, has_references):
    truth = np.arange(100) % 2
    references = references_of(("no", "yes"), truth, truth, truth > 0, 0, 53.5, None)
    front = replace(expecting, references=references if has_references else ())
    figure = front.plot(mark=1)
    low, high = figure.axes[0].get_ylim()
    accuracy = expecting[1].expected.accuracy
    assert low < accuracy.low < accuracy.high < high


def test_existing_axes_get_expected_figures_too(expecting):
    figure, ax = plt.subplots()
    expecting.plot(mark=0, ax=ax)
    assert len(lines_of(figure)) == 3
    assert "expected" in [text.get_text() for text in ax.get_legend().get_texts()]
    plt.close(figure)


FAR = ReferenceMark(coverage=1.0, accuracy=0.1, cost=0.0, title="always 3")
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


def crosses_of(figure):
    panel = figure.axes[0]
    wide = [one for one in panel.collections if not one.get_clip_on()]
    return [one.get_offsets()[0].tolist() for one in wide]


def test_each_series_has_its_references_by_its_own_metric(compared):
    balanced = replace(
        make_balanced_front(),
        seen=compared.seen,
        references=compared.references,
        seen_references=compared.references,
    )
    kinds = front_picture(balanced, on="both").series
    by_class = compared.references[2].by_class
    assert kinds[0].references[2].accuracy == by_class.balanced_accuracy
    assert kinds[1].references[2].accuracy == compared.references[2].accuracy
    assert [mark.title for mark in kinds[0].references] == [
        "buy nothing: always 'no'",
        "buy everything",
        "buy everything, all answered",
    ]


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("2d", 2.6),
        ("3d", 3.4),
        ("pairs", 7.0),
        pytest.param("2d", 3.4, marks=pytest.mark.thorough),
        pytest.param("3d", 7.0, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("on", [pytest.param("scored", marks=pytest.mark.thorough), "both"])
def test_every_kind_of_front_names_what_there_is_without_a_cascade(compared, kind, width, on):
    words = words_of(compared.plot(kind, mark=0, on=on, width=width))
    for said in ("always'no'", "everything", "everything,allanswered", "buynothing"):
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


def test_references_at_one_place_have_markers_of_their_own():
    figure = draw_front(picture_of(CLOSE, replace(CLOSE, title="the same")))
    one, other = (one for one in figure.axes[0].collections if not one.get_clip_on())
    assert one.get_offsets().tolist() == other.get_offsets().tolist()
    assert one.get_paths()[0] != other.get_paths()[0]


def test_a_name_with_signs_of_formulas_is_plain_text():
    title = "always '$x_1$'"
    assert title.replace(" ", "") in words_of(draw_front(picture_of(replace(CLOSE, title=title))))


def test_points_that_are_not_informative_are_hollow_and_in_the_legend(compared):
    figure = draw_front(picture_of(informative=np.array([True, False, True])))
    dots = figure.axes[0].collections
    hollow = [one.get_offsets().tolist() for one in dots if not len(one.get_facecolor())]
    assert hollow == [[[5.0, 0.95]]]
    assert "notinformative" in words_of(figure)
    assert "notinformative" not in words_of(draw_front(picture_of()))


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
