"""Expected figures beside the marked point of a front: the record, the drawing and the legend."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.handmade import make_front, make_rows, with_expected
from support.looks import words_of

from emsco import ParameterError
from emsco.front.pictures import front_picture
from emsco.front.references import references_of


@pytest.fixture(scope="module")
def front():
    X = make_rows(60)
    return with_expected(make_front().with_seen(X, (X[:, 0] > 0).astype(int)))


def recorded(front, marked, on="scored"):
    return front_picture(front, marked, on).expected


def lines_of(figure):
    """The line to the expected figures, their interval and their mark."""
    return [np.transpose(line.get_data()).tolist() for line in figure.axes[0].get_lines()]


def test_the_record_has_the_expected_figures_of_the_marked_point(front):
    assert recorded(front, 1) == front[1].expected
    assert recorded(front, None) is None
    assert recorded(make_front(), 1) is None


@pytest.mark.parametrize("on", ["expected", "seen", "both"])
def test_expected_figures_stand_beside_scored_ones_alone(front, on):
    assert recorded(front, 1, on) is None


def test_expected_figures_without_a_marked_point_are_refused(front):
    picture = front_picture(front, 1)
    with pytest.raises(ParameterError, match="expected must be None if no point is marked, got "):
        replace(picture, marked=None)


def test_a_line_joins_the_ring_to_the_expected_figures_and_their_interval(front):
    joined, interval, mark = lines_of(front.plot(mark=0))
    expected = front[0].expected
    place = [expected.cost.value, expected.accuracy.value]
    assert joined == [[front[0].cost, front[0].accuracy], place]
    assert [y for _, y in interval] == [expected.accuracy.low, expected.accuracy.high]
    assert mark == [place]


@pytest.mark.parametrize("kind", ["2d", "3d", "pairs"])
def test_every_kind_of_front_has_a_key_for_expected_figures(front, kind):
    assert "expected" in words_of(front.plot(kind, mark=0))
    assert "expected" not in words_of(front.plot(kind))
    assert "expected" not in words_of(make_front().plot(kind, mark=0))


@pytest.mark.parametrize("has_references", [False, True])
def test_axes_reach_the_whole_interval(front, has_references):
    truth = np.arange(100) % 2
    references = references_of(("no", "yes"), truth, truth, truth > 0, 0, 53.5, None)
    found = replace(front, references=references if has_references else ())
    figure = found.plot(mark=1)
    low, high = figure.axes[0].get_ylim()
    accuracy = front[1].expected.accuracy
    assert low < accuracy.low < accuracy.high < high


def test_existing_axes_get_expected_figures_too(front):
    figure, ax = plt.subplots()
    front.plot(mark=0, ax=ax)
    assert len(lines_of(figure)) == 3
    assert "expected" in [text.get_text() for text in ax.get_legend().get_texts()]
    plt.close(figure)
