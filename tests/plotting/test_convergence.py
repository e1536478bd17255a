"""Pictures of the progress of a search."""

import pytest
from support.looks import HISTORY, words_of

from emsco.errors import DataError
from emsco.plotting import (
    Convergence,
    draw_convergence,
)


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
