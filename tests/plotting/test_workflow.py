"""Pictures of cascades: all that a flow has, inside its boxes and its page."""

from dataclasses import replace

import numpy as np
import pytest
from support.handmade import (
    make_branching_front,
    make_front,
    make_front_of_thresholds,
    make_rows,
)
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


def test_test_rows_can_flow_through_a_cascade_too(front):
    picture = cascade_picture(front, 1, "seen")
    assert picture.flow == front.seen[1].flow()
    assert picture.start() == "60 test rows: 0 or 1?"


@pytest.mark.parametrize("width", [2.6, 3.4, 11.0])
def test_names_of_features_are_never_cut(flow, width):
    costs = dict(zip(LONG, (1, 2, 4, 8, 16, 32), strict=True))
    words = words_of(draw_cascade(CascadePicture(flow, costs, "sure", "scored"), width))
    for name in LONG:
        assert f"{name}({costs[name]})".replace(" ", "") in words


def test_a_diagram_that_has_room_puts_stages_side_by_side(front):
    narrow, wide = (front.plot_cascade(0, width=width) for width in (3.4, 10.0))
    assert narrow.get_figheight() > 3 > wide.get_figheight()
    assert "biopsy(40)" in words_of(wide)


def test_stages_stand_side_by_side_only_where_their_headings_fit():
    costs = FeatureCosts.from_array([1, 123456], ["a", "b"])
    flow = Flow.from_design(Design([0, 1], ["a", "b"]), costs, 10, [5, 5], [5, 5])
    for width in (5.0, 6.5, 7.0, 8.0):
        figure = draw_cascade(CascadePicture(flow, {}), width)
        figure.draw_without_rendering()
        boxes = [patch for patch in figure.axes[0].patches if hasattr(patch, "get_boxstyle")]
        box, heading = boxes[1], next(t for t in figure.axes[0].texts if "123456" in t.get_text())
        assert heading.get_window_extent().x1 <= box.get_window_extent().x1


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


@pytest.mark.parametrize(
    "width", [2.6, 9.0, *(pytest.param(width, marks=pytest.mark.thorough) for width in (7.0, 11.0))]
)
def test_features_stay_inside_their_boxes_at_any_resolution(width):
    names = [f"{one} {what}" for one in ("mean", "worst") for what in BREAST_CANCER]
    costs = FeatureCosts.from_array(np.arange(1.0, len(names) + 1), names)
    design = Design(np.arange(len(names)) % 3, names)
    flow = Flow.from_design(design, costs, 100, [60, 30, 2], [57, 30, 1])
    figure = draw_cascade(CascadePicture(flow, dict(zip(names, costs.costs, strict=True))), width)
    for dpi in (72, 96, 110, 133, 300):
        assert not text_beyond_its_box(figure, dpi)


def test_the_diagram_grows_with_the_number_of_features():
    names = [f"feature {i}" for i in range(40)]
    costs = FeatureCosts.from_array(np.ones(40), names)
    many = Flow.from_design(Design([0] * 40, names), costs, 10, [8], [8])
    alone = FeatureCosts.from_array([1], names[:1])
    few = Flow.from_design(Design([0], names[:1]), alone, 10, [8], [8])
    tall, small = (draw_cascade(CascadePicture(one, {})).get_figheight() for one in (many, few))
    assert tall > small + 0.5


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


@pytest.mark.parametrize("width", [3.4, 11.0])
@pytest.mark.parametrize("on", ["scored", "seen"])
def test_a_cascade_is_drawn_with_the_threshold_of_each_stage(width, on):
    front = make_front_of_thresholds().with_seen(make_rows(60), np.arange(60) % 2)
    words = words_of(front.plot_cascade(0, on=on, width=width))
    for rule in ("confidence≥0.9", "confidence≥0.75", "answersall"):
        assert words.count(rule) == 1
    assert ";sure:" not in words
    assert words.count("sure?") == 2


def test_a_picture_of_one_stage_for_all_says_so():
    front = make_front_of_thresholds((0, 0, 0))
    picture = cascade_picture(front, 0)
    assert picture.conditions() == ["answers all"]
    assert picture.ending() == "without a label"
    assert cascade_picture(front, 1).ending() == "never sure"


@pytest.mark.parametrize("width", [3.4, 10.0])
def test_the_plot_of_a_cascade_has_delays_where_values_come_later(width):
    front = make_front()
    slow = replace(front, costs=front.costs.with_delays({"scan": 2, "biopsy": 7}))
    words = words_of(slow.plot_cascade(0, width=width))
    for delay in ("cost3.5perrowdelay0", "cost13.5perrowdelay2", "meandelay3.3"):
        assert delay in words
    assert "delay" not in words_of(front.plot_cascade(0, width=width))


def test_the_picture_of_a_design_that_branches_has_words_for_every_arrow():
    picture = cascade_picture(make_branching_front(), 1)
    second, third, nothing = picture.flow.stages[1:4]
    assert picture.way(second) == "age ≤ 0.2"
    assert picture.coming(second) == ["205 rows (51.2%)", "90.0% correct,", "mean cost 8.28"]
    assert picture.coming(third) == ["18 rows (4.5%)"]
    assert picture.outcome(second) == [
        "confidence ≥ 0.85:",
        "82 rows labelled (20.5%)",
        "89.0% correct",
        "cost 3.5 per row",
    ]
    assert picture.rejected_at(third) == ["not sure:", "17 rows rejected (4.2%)"]
    assert picture.features(nothing) == ["nothing more"]


def test_numbers_of_stages_start_anew_on_every_path():
    picture = cascade_picture(make_branching_front(), 1)
    assert [picture.flow.step(stage) for stage in picture.flow.stages] == [1, 2, 3, 3, 3, 4, 2, 3]
    assert picture.heading(picture.flow.stages[6]) == "step 2 (stage 7), cost 10"
    assert picture.staying(picture.flow.stages[4]) == "not sure: 12 rows go on"


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


def test_ways_that_no_row_went_are_drawn_for_a_protocol_says_what_to_do():
    front, one = make_branching_front(), [1] + [0] * 7
    nobody = Flow.from_design(front[1].design, front.costs, 1, one, one)
    assert [nobody.may_reject(stage) for stage in nobody.stages] == [
        *(False, False, True, False, False, True),  # stages 3 and 6 are last and may be unsure
        *(False, False),
    ]
    words = words_of(draw_cascade(CascadePicture(nobody, {})))
    assert words.count("0rowsrejected") == 2
    assert "stage8" in words


def test_the_way_of_rows_that_lack_a_value_is_marked_where_they_may():
    picture = cascade_picture(make_branching_front(), 1)
    assert picture.note() == []
    lacking = replace(picture, may_lack=True)
    assert [lacking.way(stage) for stage in lacking.flow.stages if stage.is_usual] == [
        "age ≤ 0.2 *",
        "none of these *",
    ]
    assert lacking.note() == ["* also rows whose value is missing or unknown"]


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


@pytest.mark.parametrize(("n_ways", "names"), [(2, LONG), (3, LONG), (4, [*"abcdef"])])
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


def test_a_design_that_branches_fits_axes_and_narrow_figures():
    picture = cascade_picture(make_branching_front(), 1)
    small = draw_cascade(picture, width=7.0)
    assert small.get_figwidth() < 7.01
    panel = draw_cascade(picture).add_axes((0, 0, 0.5, 0.5))
    draw_cascade(picture, ax=panel)
    assert "elselikeliestclassis1" in words_of(panel.figure)
