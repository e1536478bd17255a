"""Delays in pictures: beside the cost so far, and only where values come later."""

from dataclasses import replace

import pytest
from support.handmade import make_front
from support.looks import words_of

from emsco.app.explorer.contents import front_contents


def slow(front):
    return replace(front, costs=front.costs.with_delays({"scan": 2, "biopsy": 7}))


def data_of(front):
    return front_contents(front, title="it", deploy="{number}")


@pytest.mark.parametrize("width", [3.4, 10.0])
def test_the_plot_of_a_cascade_has_delays(width):
    words = words_of(slow(make_front()).plot_cascade(0, width=width))
    for delay in ("cost3.5perrowdelay0", "cost13.5perrowdelay2", "meandelay3.3"):
        assert delay in words
    assert "delay" not in words_of(make_front().plot_cascade(0, width=width))


def test_the_page_has_delays_after_each_stage():
    assert data_of(slow(make_front()))["waits"] == [[0, 2, 9], [7, 7]]
    assert data_of(make_front())["waits"] is None
