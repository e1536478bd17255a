"""The paper's trade-off figure: every design of a space, counted."""

import json
from collections import defaultdict

import numpy as np
import pytest
from emsco_lab.paper.landscape import draw_trade_offs, reproduce_landscape, smooth_costs, tally_of
from support.brute import ALIKE, FREE_AND_EXPENSIVE, Instance
from support.looks import words_of

from emsco import ParameterError


@pytest.fixture(scope="module")
def result(request):
    request.getfixturevalue("paper_set")("pima")
    return reproduce_landscape("pima", max_stages=3, n_jobs=1)


@pytest.mark.parametrize("max_stages", [1, 2, 3, 4])
@pytest.mark.parametrize(("n_rows", "costs"), [(20, FREE_AND_EXPENSIVE), (130, ALIKE)])
def test_the_tally_is_that_of_every_design_one_by_one(max_stages, n_rows, costs):
    instance = Instance.random(4, max_stages, n_rows, 0.2, costs, seed=max_stages)
    spent = defaultdict(list)
    for design in instance.every_design():
        accepted, correct, cost = instance.score(design)
        spent[accepted, correct].append(cost)
    tally = tally_of(instance.landscape(), n_jobs=2)
    pairs = list(zip(tally.accepted.tolist(), tally.correct.tolist(), strict=True))
    assert pairs == sorted(spent)
    assert tally.n_designs.tolist() == [len(spent[pair]) for pair in pairs]
    np.testing.assert_allclose(tally.lowest * n_rows, [min(spent[pair]) for pair in pairs])
    np.testing.assert_allclose(tally.mean * n_rows, [np.mean(spent[pair]) for pair in pairs])
    front = {(accepted, correct) for accepted, correct, _ in instance.front()}
    assert {pairs[i] for i in np.flatnonzero(tally.best)} == front


def test_pima_has_the_known_space_and_front(result):
    assert result.tally.n_designs.sum() == 6051
    assert result.tally.best.sum() == 45


def test_tables_hold_the_same_figures(result):
    plain = json.loads(json.dumps(result.to_dict()))
    assert (plain["designs"], plain["front_vectors"], plain["rows"]) == (6051, 45, 192)
    assert sum(plain["points"]["designs"]) == 6051
    text = result.to_markdown()
    assert text.startswith("Trade-offs of all 6,051 designs of pima with at most 3 stages")
    tally = result.tally
    enough = (tally.coverage >= 0.8) & (tally.accuracy >= 0.75)
    line = next(line for line in text.splitlines() if line.startswith("| 0.8 |"))
    assert line.split(" | ")[2] == f"{tally.lowest[enough].min():.4g}"


def test_the_smooth_surface_stays_within_the_costs(result):
    coverage, accuracy, cost = smooth_costs(result.tally)
    known = np.isfinite(cost)
    assert known.any()
    assert coverage.shape == accuracy.shape == cost.shape
    lowest = result.tally.lowest
    assert lowest.min() - 1e-9 <= cost[known].min() <= cost[known].max() <= lowest.max() + 1e-9


def test_the_figure_says_what_it_shows(result):
    words = words_of(draw_trade_offs(result))
    assert "ontheexactfront(45)" in words
    assert "lowestmeancostperrow" in words


def test_a_set_or_space_that_is_out_of_reach_is_refused():
    with pytest.raises(ParameterError, match="name must be one of"):
        reproduce_landscape("synthetic50")
    with pytest.raises(
        ParameterError, match="max_stages must be a whole number from 1 to 4, got 5"
    ):
        reproduce_landscape("pima", max_stages=5)
