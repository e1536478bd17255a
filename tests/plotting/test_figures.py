"""Pictures in files and in axes that exist already."""

import matplotlib.pyplot as plt
import pytest
from support.looks import HISTORY, words_of

from emsco import FeatureCosts
from emsco.plotting import (
    CascadePicture,
    Convergence,
    CostClasses,
    draw_cascade,
    draw_convergence,
    draw_cost_classes,
    save_figure,
)

LONG = (
    "age",
    "left ventricular ejection fraction at rest",
    "creatinine_phosphokinase_in_micrograms_per_litre",
    "$price_of_all$",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
    "x" * 90,
)


def test_pictures_are_written_as_png_and_svg(front, tmp_path):
    png, svg = save_figure(front.plot_cascade(0), tmp_path / "cascade")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in svg.read_text()


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
