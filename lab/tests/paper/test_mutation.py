"""The paper's mutation figure."""

import json
from itertools import product

import numpy as np
import pytest
from emsco_lab.paper.mutation import (
    BIASES,
    CHECKED,
    draw_mutation,
    growth_of,
    reproduce_mutation,
)
from scipy.stats import betabinom
from support.looks import words_of

from emsco import ParameterError


@pytest.fixture(scope="module")
def result():
    return reproduce_mutation(mutants=4000, seed=1)


def test_curves_are_those_of_the_paper(result, mutation_figure):
    assert BIASES.tolist() == mutation_figure[:, 0].tolist()
    for curve, column in zip(result.curves, mutation_figure[:, 1:].T, strict=True):
        np.testing.assert_allclose(curve.formula, column, rtol=0, atol=1e-14)


@pytest.mark.parametrize("design", [[0, 0, 1], [0, 1, 2], [0, 0, 0, 0]])
def test_exact_growth_is_the_sum_over_all_mutants(design):
    rate, n_stages = 0.3, max(design) + 1
    drawn = betabinom.pmf(np.arange(n_stages + 1), n_stages, 1, 1.7)
    total = 0.0
    for genes in product(range(n_stages + 1), repeat=len(design)):
        chances = [
            rate * drawn[gene] + (1 - rate) * (gene == old)
            for gene, old in zip(genes, design, strict=True)
        ]
        total += np.prod(chances) * (len(set(genes)) > n_stages)
    assert growth_of(np.array(design), rate, 1.7) == pytest.approx(total)


def test_mutants_grow_as_often_as_the_exact_probability_says(result):
    assert result.largest_difference < 4
    for curve in result.curves:
        at = np.searchsorted(BIASES, CHECKED)
        assert (curve.exact <= curve.formula[at] + 1e-12).all()


def test_tables_hold_the_same_figures(result):
    plain = json.loads(json.dumps(result.to_dict()))
    assert [curve["stages"] for curve in plain["curves"]] == [2, 3, 4]
    assert len(plain["curves"][0]["formula"]) == 300
    first = plain["curves"][0]
    line = f"| 2 | 1 | 0.3986 | {first['exact'][0]:.4f} | {first['simulated'][0]:.4f} |"
    assert line in result.to_markdown()


def test_the_figure_has_the_curves_and_the_mutants(result):
    figure = draw_mutation(result)
    lines = figure.axes[0].get_lines()
    assert lines[0].get_ydata().tolist() == result.curves[0].formula.tolist()
    assert lines[1].get_ydata().tolist() == result.curves[0].simulated.tolist()
    assert "4,000mutantseach" in words_of(figure)


def test_no_mutants_are_refused():
    with pytest.raises(ParameterError, match="mutants must be a whole number from 1 up, got 0"):
        reproduce_mutation(mutants=0)
