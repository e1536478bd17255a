"""The picture of a comparison, of answers made by hand."""

from __future__ import annotations

import pytest
from emsco_lab.compare import EVERYONE, TASKS
from emsco_lab.compare_figure import draw_comparison
from emsco_lab.methods import METHODS, label_of
from support.comparisons import NOISE, made_comparison, over_splits, two_methods


@pytest.fixture
def level():
    return two_methods(0.8, 0.8)


def test_the_picture_has_a_panel_for_each_task_and_emsco_in_front(level):
    figure = draw_comparison(level)
    assert [panel.get_title("left") for panel in figure.axes] == [task.title for task in TASKS]
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert lines["EMSCO"].get_zorder() > lines["CSTC"].get_zorder()
    assert lines["EMSCO"].get_linewidth() > lines["CSTC"].get_linewidth()
    assert list(lines["EMSCO"].get_xdata()) == [0, 1, 2, 3, 4, 5]  # budgets, evenly apart
    assert len(draw_comparison(level, [EVERYONE]).axes) == 1


def test_all_but_the_best_rivals_are_grey_and_named_at_their_ends():
    means = {"emsco": 0.8, "cstc": 0.7, "astc": 0.9, "aaco": 0.85, "cact_lasso": 0.6}
    comparison = made_comparison({method: over_splits(mean) for method, mean in means.items()})
    panel = draw_comparison(comparison).axes[0]
    named = {text.get_text(): text for text in panel.texts}
    grey = {text for text, one in named.items() if one.get_color() == "0.4"}
    assert grey == {"CSTC", "CaCT LASSO", "commonest class"}
    assert {"EMSCO", "ASTC", "AACO"} < set(named)
    assert len(panel.collections) == 2  # bands of EMSCO and the best rival


def test_a_picture_of_all_methods_names_each_of_them():
    panel = draw_comparison(made_comparison(dict.fromkeys(METHODS, over_splits(0.8)))).axes[0]
    assert {label_of(method) for method in METHODS} <= {text.get_text() for text in panel.texts}


def test_bands_are_drawn_over_five_splits_or_more():
    few = made_comparison({"emsco": over_splits(0.8, NOISE[:4])})
    assert not draw_comparison(few).axes[0].collections


def test_offers_that_break_their_limits_are_hollow():
    figure = draw_comparison(two_methods(0.8, 0.8, cost=1.3))
    faces = [
        line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "s"
    ]
    assert faces.count("white") == 6
    assert "hollow: broke its limits" in figure.get_supxlabel()
    assert "hollow" not in draw_comparison(two_methods(0.8, 0.8)).get_supxlabel()
