"""Plots: their records hold the correct numbers, and no text is cut off."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.markers import MarkerStyle
from support.handmade import (
    COSTS,
    NAMES,
    make_balanced_front,
    make_front,
    make_front_of_thresholds,
    make_rows,
)
from support.looks import words_of

from emsco import Design, FeatureCosts, ParameterError
from emsco.errors import DataError
from emsco.front.pictures import cascade_picture, front_picture
from emsco.plotting import (
    CascadePicture,
    Convergence,
    CostClasses,
    FrontPicture,
    FrontSeries,
    draw_cascade,
    draw_convergence,
    draw_cost_classes,
    draw_front,
    save_figure,
)
from emsco.plotting.canvas import text_size, wrap_items
from emsco.plotting.flow import Flow
from emsco.plotting.trade_offs import _marker

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


@pytest.fixture(scope="module")
def front():
    X = make_rows(60)
    return make_front().with_seen(X, (X[:, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def flow():
    costs = FeatureCosts.from_array([1, 2, 4, 8, 16, 32], LONG)
    return Flow.from_design(Design([0, 1, 0, 1, 2, 2], LONG), costs, 100, [60, 30, 2], [57, 30, 1])


# the front


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
    assert seen.cost.tolist() == [found.cost for found in front.seen]
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
    ("kind", "width"), [("2d", 3.4), ("3d", 3.4), ("3d", 7.0), ("pairs", 2.6), ("pairs", 7.0)]
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
@pytest.mark.parametrize("kind", ["2d", "pairs"])
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
    dots = [found for found in figure.axes[0].collections if len(found.get_offsets())]
    assert [found.get_offsets()[0].tolist() for found in dots[:2]] == [
        [front[1].cost, front[1].accuracy],
        [front[0].cost, front[0].accuracy],
    ]
    shapes = {found.get_paths()[0].vertices.tobytes() for found in dots[:2]}
    assert len(shapes) == 2
    assert [len(found.get_facecolor()) for found in dots] == [1, 1, 0, 0]


def test_every_number_of_stages_has_a_marker_of_its_own():
    assert len({_marker(k) for k in range(1, 31)}) == 30
    assert MarkerStyle(_marker(15)).get_path() != MarkerStyle(_marker(1)).get_path()


def test_ten_thousand_points_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    coverage, accuracy, cost = rng.random((3, 10_000))
    series = FrontSeries("scored", 500, coverage, accuracy, cost)
    picture = FrontPicture((series,), rng.integers(1, 11, 10_000), 1.0)
    draw_front(picture).savefig(tmp_path / "front.png", dpi=50)


def test_points_of_one_coverage_have_a_scale_too():
    series = FrontSeries("scored", 5, *np.ones((3, 2)))
    assert FrontPicture((series,), np.ones(2), 1.0).coverage_range == (0.99, 1.01)


def test_an_unknown_kind_or_a_bad_width_is_refused(front):
    with pytest.raises(ParameterError, match='kind must be one of "2d", "3d", "pairs", got \'4d\''):
        front.plot("4d")
    with pytest.raises(ParameterError, match=r"width must be a number in \[2.6, 40\], got 1"):
        front.plot(width=1)


# the cascade


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
    assert (picture.sure, picture.start()) == ("confidence ≥ 0.8", "100 scored rows")


def test_test_rows_can_flow_through_a_cascade_too(front):
    picture = cascade_picture(front, 1, "seen")
    assert picture.flow == Flow.from_evaluation(front.seen[1])
    assert picture.start() == "60 test rows"


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


@pytest.mark.parametrize("width", [2.6, 7.0, 9.0, 11.0])
def test_features_stay_inside_their_boxes_at_any_resolution(width):
    names = [f"{one} {what}" for one in ("mean", "worst") for what in BREAST_CANCER]
    costs = FeatureCosts.from_array(np.arange(1.0, len(names) + 1), names)
    design = Design(np.arange(len(names)) % 3, names)
    flow = Flow.from_design(design, costs, 100, [60, 30, 2], [57, 30, 1])
    figure = draw_cascade(CascadePicture(flow, dict(zip(names, costs.costs, strict=True))), width)
    for dpi in (72, 90, 96, 100, 110, 133, 150, 200, 300):
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


# text


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1), max_size=6),
    st.floats(0.3, 4),
)
def test_wrapped_lines_fit_and_leave_nothing_out(names, width):
    lines = wrap_items(names, width, 7)
    assert "".join(lines).replace(" ", "") == ",".join(names)
    assert all(len(line) == 1 or text_size(line, 7)[0] <= width for line in lines)


# cost classes


def test_cost_classes_of_a_design_are_by_cost_and_stage():
    costs = FeatureCosts.from_array([1, 9, 1, 9], NAMES)
    record = CostClasses.from_costs(costs, Design([0, 1, -1, 0], NAMES))
    assert record.lines == ("1", "9")
    assert record.columns == ("stage 1", "stage 2", "never bought")
    assert record.cells == ((("age",), (), ("scan",)), (("biopsy",), ("pulse",), ()))
    assert record.to_dict()["cost 9"] == {
        "stage 1": ["biopsy"],
        "stage 2": ["pulse"],
        "never bought": [],
    }


def test_cost_classes_without_a_design_have_one_column():
    record = CostClasses.from_costs(FeatureCosts.from_array([5, 5, 1, 2.5], NAMES))
    assert record.cells == ((("scan",),), (("biopsy",),), (("age", "pulse"),))
    assert record.lines == ("1", "2.5", "5")


def test_sets_stand_side_by_side_by_rank_of_cost():
    sets = {"one": FeatureCosts.from_array([10, 100]), "other": FeatureCosts.from_array([7])}
    record = CostClasses.from_sets(sets)
    assert record.columns == ("one (10, 100)", "other (7)")
    assert record.cells == ((("x0",), ("x0",)), (("x1",), ()))
    assert record.to_markdown().splitlines()[2] == "| 1 | x0 | x0 |"


@pytest.mark.parametrize("width", [2.6, 7.0])
def test_the_table_of_costs_has_every_name_in_full(width):
    costs = FeatureCosts.from_array([1, 1, 1, 9, 9, 9], LONG)
    record = CostClasses.from_costs(costs, Design([0, 1, 2, 0, 1, 2], LONG))
    words = words_of(draw_cost_classes(record, width))
    for name in LONG:
        assert name.replace(" ", "") in words


@pytest.mark.parametrize("width", [2.6, 3.4, 7.0])
def test_words_of_the_table_of_costs_are_never_broken(width):
    names = [f"{kind} {what}" for kind in ("a", "worst") for what in ("perimeter", "concavity")]
    costs = FeatureCosts.from_array([1, 2, 3, 4] * 2, [*names, *(f"{n} error" for n in names)])
    record = CostClasses.from_costs(costs, Design([0, 1, 2, 3, 4, 5, 0, 0], costs.names))
    figure = draw_cost_classes(record, width)
    lines = {line for text in figure.axes[0].texts for line in text.get_text().split("\n")}
    assert {word.rstrip(",") for line in lines for word in line.split()} <= {
        *(word for name in (*costs.names, *record.columns) for word in name.split()),
        *(record.corner, *record.lines),
    }
    assert {"stage 3", "stage 6"} <= lines
    assert figure.get_figwidth() >= width


def test_an_item_is_broken_at_its_blanks_before_anything_else():
    width = text_size("perimeter_of", 7)[0]
    assert wrap_items(["a perimeter_of"], width, 7) == ["a", "perimeter_of"]


@pytest.mark.parametrize("width", [3.4, 7])
def test_a_cascade_of_ten_stages_fits_a_page(width):
    names = [f"laboratory value {i}" for i in range(10)]
    costs = FeatureCosts.from_array([1.0] * 10, names)
    flow = Flow.from_design(Design([*range(10)], names), costs, 100, [9] * 10, [8] * 10)
    figure = draw_cascade(CascadePicture(flow, {}), width)
    assert figure.get_figwidth() == pytest.approx(width)
    assert figure.get_figheight() <= 9.6


# convergence


HISTORY = {
    "generation": [0, 1, 2],
    "best_coverage": [0.7, 0.8, 0.8],
    "best_accuracy": [0.9, 0.9, 0.95],
    "best_cost": [9, 5, 4],
    "n_front": [3, 5, 4],
    "n_designs": [300, 500, 900],
    "n_subsets": [200, 300, 350],
    "seconds": [0.1, 0.2, 0.4],
}


def test_progress_of_a_balanced_search_says_so():
    record = Convergence.from_columns(HISTORY, "balanced_accuracy")
    assert "balancedaccuracy" in words_of(draw_convergence(record))
    assert "balanced" not in words_of(draw_convergence(Convergence.from_columns(HISTORY)))


def test_convergence_draws_its_columns():
    figure = draw_convergence(Convergence.from_columns(HISTORY))
    drawn = [line.get_ydata().tolist() for panel in figure.axes for line in panel.get_lines()]
    names = ("best_coverage", "best_accuracy", "best_cost", "n_front", "n_designs", "n_subsets")
    assert drawn == [HISTORY[name] for name in names]
    assert "generation(0.4sinall)" in words_of(figure)


def test_legends_of_convergence_stand_above_what_is_drawn():
    figure = draw_convergence(
        Convergence.from_columns(HISTORY | {"best_coverage": [0.7, 0.95, 1.0]})
    )
    figure.draw_without_rendering()
    legends = [(panel, panel.get_legend()) for panel in figure.axes if panel.get_legend()]
    assert len(legends) == 2
    for panel, legend in legends:
        assert legend.get_window_extent().y0 >= panel.get_window_extent().y1


def test_a_proof_at_the_end_does_not_flatten_the_search_before_it():
    figure = draw_convergence(
        Convergence.from_columns(HISTORY | {"n_designs": [300, 500, 10**7], "n_front": [3, 5, 4]})
    )
    assert [panel.get_yscale() for panel in figure.axes] == ["linear"] * 3 + ["log"]


def test_a_search_without_generations_has_no_convergence_to_draw():
    proof = Convergence.from_columns({name: values[:2] for name, values in HISTORY.items()})
    with pytest.raises(DataError, match="got 2: exact search settles all designs in one step"):
        draw_convergence(proof)


def test_a_history_without_a_column_or_a_value_is_refused():
    with pytest.raises(DataError, match="a history must have the column 'seconds', got"):
        Convergence.from_columns({name: HISTORY[name] for name in list(HISTORY)[:-1]})
    with pytest.raises(DataError, match="must have a value for every generation, got shapes"):
        Convergence.from_columns(HISTORY | {"seconds": [1]})


def test_pictures_are_written_as_png_and_svg(front, tmp_path):
    png, svg = save_figure(front.plot_cascade(0), tmp_path / "cascade")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in svg.read_text()


def test_a_dot_in_a_file_name_does_not_start_an_ending(front, tmp_path):
    png, svg = save_figure(front.plot_cascade(0), tmp_path / "at 0.75")
    assert (png.name, svg.name) == ("at 0.75.png", "at 0.75.svg")
    assert png.stat().st_size


# existing axes


@pytest.fixture
def panels():
    """Two axes side by side, made with pyplot."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    yield axes
    plt.close(figure)


def test_a_front_and_its_cascade_stand_side_by_side_in_existing_axes(front, panels):
    left, right = panels
    assert front.plot(ax=left, mark=0, on="both") is left.figure
    assert front.plot_cascade(0, ax=right) is left.figure
    words = words_of(left.figure)
    for said in ("3stages", "seenon60rows", "design0", "coverage", "biopsy(40)", "rowsrejected"):
        assert said in words
    assert left.get_legend() is not None
    assert left.figure.get_figwidth() == 8


def test_a_front_in_three_dimensions_is_drawn_into_such_axes(front):
    figure = plt.figure()
    ax = figure.add_subplot(projection="3d")
    assert front.plot("3d", ax=ax) is figure
    assert ax.get_zlabel() == "accuracy"
    plt.close(figure)


@pytest.mark.parametrize("size", [(1.2, 1.0), (3.0, 1.5), (2.6, 9.0), (12.0, 2.0)])
def test_a_diagram_in_axes_of_any_size_stays_inside_them(flow, size):
    figure = plt.figure(figsize=size)
    ax = figure.add_axes((0, 0, 1, 1))
    costs = dict(zip(LONG, (1, 2, 4, 8, 16, 32), strict=True))
    words = words_of(draw_cascade(CascadePicture(flow, costs), ax=ax))
    assert all(f"{name}({costs[name]})".replace(" ", "") in words for name in LONG)
    assert max(text.get_fontsize() for text in ax.texts) <= 7.5
    plt.close(figure)


def test_a_table_of_costs_and_a_convergence_take_axes_too(panels):
    costs = FeatureCosts.from_array([1, 2, 4, 8, 16, 32], LONG)
    assert draw_cost_classes(CostClasses.from_costs(costs), ax=panels[0]) is panels[0].figure
    assert draw_convergence(Convergence.from_columns(HISTORY), ax=panels[1]) is panels[0].figure
    words = words_of(panels[0].figure)
    assert all(name.replace(" ", "") in words for name in LONG)
    drawn = [line.get_ydata().tolist() for line in panels[1].get_lines()]
    assert drawn == [HISTORY["best_coverage"], HISTORY["best_accuracy"]]


def test_axes_that_a_picture_cannot_use_are_refused(front, panels):
    with pytest.raises(ParameterError, match=r'^ax must be left out for kind "pairs", which has'):
        front.plot("pairs", ax=panels[0])
    with pytest.raises(ParameterError, match=r"^ax must have the projection '3d', got 'rectil"):
        front.plot("3d", ax=panels[0])
    with pytest.raises(ParameterError, match=r"^ax must be axes of matplotlib, .* got array\("):
        front.plot_cascade(0, ax=panels)
    with pytest.raises(ParameterError, match=r"^ax must be axes of matplotlib, .* got <Figure"):
        draw_convergence(Convergence.from_columns(HISTORY), ax=panels[0].figure)


def test_costs_that_differ_in_the_seventh_digit_are_classes_of_their_own():
    costs = FeatureCosts.from_array([1234567, 1234568], ["scan", "biopsy"])
    assert CostClasses.from_costs(costs).lines == ("1234567", "1234568")


@pytest.mark.parametrize("width", [3.4, 11.0])
@pytest.mark.parametrize("on", ["scored", "seen"])
def test_a_cascade_is_drawn_with_the_threshold_of_each_stage(width, on):
    front = make_front_of_thresholds().with_seen(make_rows(60), np.arange(60) % 2)
    words = words_of(front.plot_cascade(0, on=on, width=width))
    for rule in ("confidence≥0.9", "confidence≥0.75", "answersall"):
        assert words.count(rule) == 1
    assert "sure:" not in words
    assert words.count("sure?") == 2


def test_a_picture_of_one_stage_for_all_says_so():
    front = make_front_of_thresholds((0, 0, 0))
    picture = cascade_picture(front, 0)
    assert picture.conditions() == ["answers all"]
    assert picture.ending() == "without a label"
    assert cascade_picture(front, 1).ending() == "never sure"
