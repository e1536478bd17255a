"""Sliders in a notebook choose what `select` does, and draw it with its limits."""

import sys
from html import unescape

import pytest
from support.handmade import make_front

from emsco.errors import EMSCOError
from emsco.front.sliders import choice_html

FRONT = make_front()


def test_limits_choose_what_select_does_and_others_fade():
    dear, cheap = (pick(point.cost for point in FRONT) for pick in (max, min))
    assert cheap < dear
    shown = choice_html(FRONT, {"max_cost": cheap}, "€")
    number = FRONT.position(FRONT.select(max_cost=cheap))
    assert f"Chosen by your limits: design {number}" in shown
    assert (shown.count('opacity=".25"'), shown.count('r="8"')) == (1, 1)
    assert " €<" in shown


def test_prices_choose_the_lowest_total_and_say_it():
    prices = {"error_cost": 500.0, "reject_cost": 40.0}
    point = FRONT.select(**prices)
    shown = unescape(choice_html(FRONT, prices))
    assert f"Lowest total: design {FRONT.position(point)}" in shown
    assert f"Expected total of a row: {point.total(**prices)}." in shown


def test_limits_that_no_design_meets_say_how_far_the_front_comes():
    shown = choice_html(FRONT, {"max_cost": 0.001})
    assert "No design is within these limits" in shown
    assert "The nearest is design" in shown


def test_a_slider_that_moves_chooses_anew():
    widgets = pytest.importorskip("ipywidgets")
    box = FRONT.sliders(currency="€")
    *sliders, shown = box.children
    assert isinstance(shown, widgets.HTML)
    assert [one.description for one in sliders][:2] == ["maximum cost €", "minimum accuracy"]
    before = shown.value
    sliders[-1].value = 40.0  # a rejection alone has no total
    assert shown.value == before
    sliders[-2].value = 500.0
    assert "Lowest total: design" in shown.value


def test_without_ipywidgets_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(EMSCOError, match=r"ipywidgets must be installed .* 'emsco\[notebook\]'"):
        FRONT.sliders()
