"""Pictures of cascades: all that a flow has, inside its boxes and its page."""

import numpy as np
import pytest
from support.looks import words_of

from emsco import Design, FeatureCosts
from emsco.designs.questions import Question
from emsco.front.pictures import cascade_picture
from emsco.plotting import (
    CascadePicture,
    draw_cascade,
)
from emsco.plotting.flow import Flow

BREAST_CANCER = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"),
    *("concave points", "symmetry", "fractal dimension"),
)
LONG = (
    "age",
    "left ventricular ejection fraction at rest",
    "creatinine_phosphokinase_in_micrograms_per_litre",
    "$price_of_all$",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
    "x" * 90,
)


def test_the_picture_of_a_cascade_has_its_features_costs_and_flow(front):
    picture = cascade_picture(front, 0)
    assert picture.flow == front.flow(0)
    assert picture.features(picture.flow.stages[0]) == ["age (1)", "pulse (2.5)"]
    assert picture.leaving(picture.flow.stages[0]) == [
        "40 rows labelled (40.0%)",
        "97.5% correct",
        "cost 3.5 per row",
    ]
    assert picture.rejected() == ["10 rows rejected (10.0%)", "cost 53.5 per row"]
    assert picture.summary() == [
        "coverage 90.0%",
        "accuracy 88.9%",
        f"mean cost {picture.flow.cost:.4g} (all features: 53.5)",
    ]
    assert (picture.sure, picture.start()) == ("confidence ≥ 0.8", "100 scored rows: 0 or 1?")


@pytest.mark.parametrize("width", [2.6, 3.4, 11.0])
def test_names_of_features_are_never_cut(flow, width):
    costs = dict(zip(LONG, (1, 2, 4, 8, 16, 32), strict=True))
    words = words_of(draw_cascade(CascadePicture(flow, costs, "sure", "scored"), width))
    for name in LONG:
        assert f"{name}({costs[name]})".replace(" ", "") in words


def text_beyond_its_box(figure, dpi):
    """Texts that begin inside a box and end outside it, drawn at this resolution."""
    figure.dpi = dpi
    figure.draw_without_rendering()
    ax = figure.axes[0]
    boxes = [one.get_window_extent() for one in ax.patches if hasattr(one, "get_boxstyle")]
    return [
        text.get_text()
        for text in ax.texts
        for box, place in ((box, text.get_window_extent()) for box in boxes)
        if box.contains(place.x0, place.y0) and place.x1 > box.x1
    ]


@pytest.mark.parametrize("width", [2.6, 9.0])
def test_features_stay_inside_their_boxes_at_any_resolution(width):
    names = [f"{one} {what}" for one in ("mean", "worst") for what in BREAST_CANCER]
    costs = FeatureCosts.from_array(np.arange(1.0, len(names) + 1), names)
    design = Design(np.arange(len(names)) % 3, names)
    flow = Flow.from_design(design, costs, 100, [60, 30, 2], [57, 30, 1])
    figure = draw_cascade(CascadePicture(flow, dict(zip(names, costs.costs, strict=True))), width)
    for dpi in (72, 96, 110, 133, 300):
        assert not text_beyond_its_box(figure, dpi)


def test_a_stage_that_no_row_leaves_has_no_accuracy():
    costs = FeatureCosts.from_array([1, 1], ["a", "b"])
    flow = Flow.from_design(Design([0, 1], ["a", "b"]), costs, 1, [0, 1], [0, 1])
    picture = CascadePicture(flow, {})
    assert picture.leaving(flow.stages[0]) == ["0 rows labelled (0.0%)", "cost 1 per row"]
    assert picture.leaving(flow.stages[1])[0] == "1 row labelled (100.0%)"
    draw_cascade(picture)


@pytest.mark.parametrize("width", [3.4, 7])
def test_a_cascade_of_ten_stages_fits_a_page(width):
    names = [f"laboratory value {i}" for i in range(10)]
    costs = FeatureCosts.from_array([1.0] * 10, names)
    flow = Flow.from_design(Design([*range(10)], names), costs, 100, [9] * 10, [8] * 10)
    figure = draw_cascade(CascadePicture(flow, {}), width)
    assert figure.get_figwidth() == pytest.approx(width)
    assert figure.get_figheight() <= 9.6


def test_rows_that_were_scored_often_are_whole_numbers_that_add_up(capsys):
    costs = FeatureCosts.from_array([1, 2, 4], ("a", "b", "c"))
    exits, correct = [2.75, 81.5, 111.5], [2.5, 67.25, 94.5]
    flow = Flow.from_design(Design([0, 1, 2], costs.names), costs, 230, exits, correct)
    picture, whole = CascadePicture(flow, {}), flow.in_whole_rows()
    words = words_of(draw_cascade(picture))
    assert [stage.left for stage in whole.stages] == [3, 82, 111]
    for said in ("3rowslabelled", "82rowslabelled", "111rowslabelled", "34rowsrejected"):
        assert said in words
    assert [stage.reached for stage in whole.stages] == [230, 227, 145]
    assert all(stage.correct == round(stage.correct) <= stage.left for stage in whole.stages)


def wide_tree(names=LONG, n_ways=4):
    """The flow of a design that branches twice, n_ways each time, and asks about long names."""

    def part(*bought, threshold=0.0):
        return Design([0 if i in bought else -1 for i in range(len(names))], names, (threshold,))

    def asked(which):
        return [Question(names[which], at_most=limit) for limit in range(n_ways - 1)]

    parts = [part(2), part(3), part(4, 5), Design.nothing(names, 0)][-n_ways:]
    inner = Design.branching(part(1, threshold=0.9), asked(1), parts)
    design = Design.branching(part(0, threshold=0.95), asked(0), [inner] * n_ways)
    n_stages = design.n_stages
    costs = FeatureCosts.from_array([1, 2, 4, 8, 16, 32], names)
    return Flow.from_design(design, costs, 10 * n_stages, [10] * n_stages, [9] * n_stages)


@pytest.mark.parametrize(
    ("n_ways", "names"),
    [(2, LONG), pytest.param(4, [*"abcdef"], marks=pytest.mark.thorough)],
)
def test_a_design_that_branches_fits_a_page_in_landscape_with_all_its_words(n_ways, names):
    flow = wide_tree(tuple(names), n_ways)
    figure = draw_cascade(CascadePicture(flow, {}, may_lack=True))
    assert figure.get_figwidth() < 10.91
    assert figure.get_figheight() < 8.3
    words = words_of(figure)
    for stage in flow.stages:
        assert f"(stage{stage.number}),cost" in words
        assert stage.way.replace(" ", "") in words
    assert not text_beyond_its_box(figure, 110)
