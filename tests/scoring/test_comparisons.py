"""Differences between decisions: standard errors, noise, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.handmade import rows_of

from emsco._base.documents import Fields
from emsco.scoring.comparisons import Comparison, Figures
from emsco.scoring.outcomes import Outcomes


def made(seed, n_rows=60, repeats=1, *, weighted=False, priced=False):
    """Two ways to decide rows of three classes: figures, and what they follow from."""
    rng, n = np.random.default_rng(seed), n_rows * repeats
    rows = rng.permutation(np.tile(np.arange(n_rows), repeats))
    truth = rng.integers(0, 3, n_rows)[rows]
    weights = rng.uniform(0.5, 3, n) if weighted else np.full(n, 1 / repeats)
    scored, both = rows_of(truth, 3, weights, rows), []
    for rejected, found in ((0.2, 0.8), (0.4, 0.9)):
        said = np.where(rng.random(n) < found, truth, rng.integers(0, 3, n))
        said = np.where(rng.random(n) < rejected, 3, said)
        stage, after = rng.integers(0, 3, n), np.cumsum(rng.integers(1, 9, 3)).astype(float)
        by_price = rng.uniform(0, 9, n) if priced else None
        outcomes = Outcomes(said, stage, np.ones(n), after, by_price)
        both.append((Figures.of(outcomes, scored), said, outcomes.paid))
    return truth, weights, rows, both


def plain_figures(truth, said, cost, weights):
    """Coverage, accuracy and cost, then the shares of each class found and missed."""
    answered, right = said < 3, said == truth

    def ratio(part, whole):
        return weights[part & whole].sum() / max(weights[whole].sum(), 1e-300)

    single = [ratio(answered, truth >= 0), ratio(right, answered), np.average(cost, None, weights)]
    return [
        *single,
        *(ratio(kind, truth == k) for kind in (right, answered & ~right) for k in range(3)),
    ]


CASES = st.builds(
    made,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 40),
    repeats=st.integers(1, 3),
    weighted=st.booleans(),
    priced=st.booleans(),
)


@given(CASES)
@settings(max_examples=40)
def test_errors_are_the_root_of_squared_changes_as_each_row_counts_a_little_more(case):
    truth, weights, rows, ((one, *first), (other, *second)) = case

    def difference(weight_of_row):
        drawn = weights * weight_of_row[rows]
        return np.subtract(*(plain_figures(truth, *way, drawn) for way in (first, second)))

    every, step = np.eye(rows.max() + 1) * 1e-5, 2e-5
    changes = [(difference(1 + more) - difference(1 - more)) / step for more in every]
    there, back, same = one.minus(other), other.minus(one), one.minus(one)
    assert Comparison.from_dict(Fields(there.to_dict(), "f"), 3) == there
    assert there.values == pytest.approx(difference(np.ones(len(every))), abs=1e-9)
    assert there.errors == pytest.approx(np.linalg.norm(changes, axis=0), rel=1e-4, abs=1e-7)
    assert there.values == pytest.approx(-np.array(back.values), abs=1e-12)
    assert same.shortfall == same.loss == max(same.errors) == 0


@given(CASES, st.floats(0, 9), st.floats(0, 0.3))
@settings(max_examples=40)
def test_better_means_ahead_of_noise_and_of_the_margins(case, errors, margin):
    *_, ((one, *_), (other, *_)) = case
    apart, margins = one.minus(other), np.full(3, margin)
    ahead = apart.values[:3] * np.array([1, 1, -1])
    is_ahead = (ahead > margins) & (ahead > errors * np.array(apart.errors[:3]))
    assert one.beats(other, errors, margins) == is_ahead.any()
    assert not one.beats(one, 0.0, np.zeros(3))


def test_where_nothing_is_answered_or_a_class_has_no_row_shares_are_0_and_sure():
    truth, at_once = np.zeros(4, dtype=int), (np.zeros(4, dtype=int), np.ones(4), np.ones(1))
    scored = rows_of(truth, 2)
    every, nothing = (Figures.of(Outcomes(said, *at_once), scored) for said in (truth, truth + 2))
    assert nothing.values.tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert every.minus(nothing) == Comparison((1, 1, 0, 1, 0, 0, 0), (0,) * 7)


@pytest.mark.parametrize(
    ("place", "difference", "behind", "loss"),
    [
        (0, (-0.2, 0.1), 2, 0.2),
        (2, (9, 0.1), 0, 0),  # cost
        (4, (-0.4, 0.1), 4, 0.4),  # found
        (5, (0.3, 0.1), 3, 0.3),  # missed
        (5, (-0.3, 0.1), 0, 0),
        (1, (-0.3, 0.0), np.inf, 0.3),
        (1, (-1e-15, 0.0), 0, 1e-15),  # rounding is no difference
    ],
)
def test_the_worst_figure_but_cost_says_how_far_behind_it_is(place, difference, behind, loss):
    pairs = np.array([(0.0, 0.1)] * 7)
    pairs[place] = difference
    comparison = Comparison(*map(tuple, pairs.T.tolist()))
    assert comparison.behind == comparison.shortfall == pytest.approx(behind)
    assert comparison.loss == loss
    assert Comparison((0.2,) * 3, (0.1,) * 3).behind == pytest.approx(-2)  # ahead in all
    assert Comparison((0.0,) * 3, (0.0,) * 3).behind == -np.inf
