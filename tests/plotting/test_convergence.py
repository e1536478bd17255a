"""Pictures of the progress of a search."""

from support.looks import HISTORY, words_of

from emsco.plotting import (
    Convergence,
    draw_convergence,
)


def test_convergence_draws_its_columns():
    figure = draw_convergence(Convergence.from_columns(HISTORY))
    drawn = [line.get_ydata().tolist() for panel in figure.axes for line in panel.get_lines()]
    names = ("best_coverage", "best_accuracy", "best_cost", "n_front", "n_designs", "n_subsets")
    assert drawn == [HISTORY[name] for name in names]
    assert "generation(0.4sinall)" in words_of(figure)
