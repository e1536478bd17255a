"""Differences between decisions: standard errors, noise, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.scoring.comparisons import Comparison, Difference, Figures

SINGLE, BY_CLASS = ("coverage", "accuracy", "cost"), ("recall", "missed")


def made(seed, n_rows=60, n_classes=3, repeats=1, *, weighted=False, priced=False):
    """Two ways to decide rows: what `Figures.measure` takes, and what it should say."""
    rng, n = np.random.default_rng(seed), n_rows * repeats
    rows = rng.permutation(np.tile(np.arange(n_rows), repeats))
    truth = rng.integers(0, n_classes, n_rows)[rows]
    weights = rng.uniform(0.5, 3, n) if weighted else np.full(n, 1 / repeats)
    both = []
    for rejected, found in ((0.2, 0.8), (0.4, 0.9)):
        said = np.where(rng.random(n) < found, truth, rng.integers(0, n_classes, n))
        said = np.where(rng.random(n) < rejected, n_classes, said)
        stage, paid = rng.integers(0, 3, n), np.cumsum(rng.integers(1, 9, 3)).astype(float)
        by_price = rng.uniform(0, 9, n) if priced else None
        way = truth, said, stage, paid, weights, rows, n_classes, by_price
        cost = paid[stage] + (0 if by_price is None else by_price)
        both.append((Figures.measure(*way), said, cost))
    return truth, weights, rows, both


def plain_figures(truth, said, cost, weights, n_classes=3):
    """Coverage, accuracy and cost, then the shares of each class found and missed."""
    answered, right = said < n_classes, said == truth

    def ratio(part, whole):
        return weights[part & whole].sum() / max(weights[whole].sum(), 1e-300)

    single = [ratio(answered, truth >= 0), ratio(right, answered), np.average(cost, None, weights)]
    kinds = (right, answered & ~right)
    return [*single, *(ratio(kind, truth == k) for kind in kinds for k in range(n_classes))]


def flat(comparison):
    """Values and errors in the order of `plain_figures`."""
    single = [getattr(comparison, name) for name in SINGLE]
    return np.array([*single, *comparison.recall, *comparison.missed]).T


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_rows": st.integers(1, 40),
        "repeats": st.integers(1, 3),
        "weighted": st.booleans(),
        "priced": st.booleans(),
    }
)


@given(CASES)
@settings(max_examples=40, deadline=None)
def test_errors_are_the_root_of_squared_changes_as_each_row_counts_a_little_more(case):
    truth, weights, rows, ((one, *first), (other, *second)) = made(**case)

    def difference(weight_of_row):
        drawn = weights * weight_of_row[rows]
        return np.subtract(*(plain_figures(truth, *way, drawn) for way in (first, second)))

    every, step = np.eye(case["n_rows"]) * 1e-5, 2e-5
    changes = [(difference(1 + more) - difference(1 - more)) / step for more in every]
    values, errors = flat(one.minus(other))
    assert values == pytest.approx(difference(np.ones(len(every))), abs=1e-9)
    assert errors == pytest.approx(np.linalg.norm(changes, axis=0), rel=1e-4, abs=1e-7)


@given(CASES, st.floats(0, 9), st.floats(0, 0.3))
@settings(max_examples=40, deadline=None)
def test_better_means_ahead_of_noise_and_of_the_margins(case, errors, margin):
    *_, ((one, *_), (other, *_)) = made(**case)
    (values, noise), margins = flat(one.minus(other)), np.full(3, margin)
    ahead = values[:3] * (1, 1, -1)
    is_ahead = (ahead > margins) & (ahead > errors * noise[:3])
    assert one.beats(other, errors, margins) == is_ahead.any()
    assert not one.beats(one, 0.0, np.zeros(3))


@given(CASES)
@settings(max_examples=20, deadline=None)
def test_a_difference_and_its_reverse_are_opposite_and_none_is_from_itself(case):
    *_, ((one, *_), (other, *_)) = made(**case)
    there, back = flat(one.minus(other)), flat(other.minus(one))
    assert there == pytest.approx(back * [[-1], [1]], abs=1e-12)
    same = one.minus(one)
    assert not flat(same).any()
    assert same.shortfall == same.loss == 0


def test_where_nothing_is_answered_or_a_class_has_no_row_shares_are_0_and_sure():
    truth, at_once = np.zeros(4, dtype=int), (np.zeros(4, dtype=int), np.ones(1))
    rest = np.ones(4), np.arange(4), 2
    every, nothing = (Figures.measure(truth, said, *at_once, *rest) for said in (truth, truth + 2))
    assert nothing.figures.tolist() == [0, 0, 1]
    comparison = every.minus(nothing)
    assert comparison.accuracy == Difference(1, 0)
    assert comparison.recall == (Difference(1, 0), Difference(0, 0))


NONE = Difference(0.0, 0.1)


@pytest.mark.parametrize(
    ("changed", "behind", "loss"),
    [
        ({"coverage": Difference(-0.2, 0.1)}, 2, 0.2),
        ({"recall": (NONE, Difference(-0.4, 0.1))}, 4, 0.4),
        ({"missed": (Difference(0.3, 0.1), NONE)}, 3, 0.3),
        ({"missed": (Difference(-0.3, 0.1), NONE)}, 0, 0),
        ({"accuracy": Difference(-0.3, 0.0)}, np.inf, 0.3),
        ({"accuracy": Difference(-1e-15, 0.0)}, 0, 1e-15),  # rounding is no difference
        (dict.fromkeys(BY_CLASS, ()) | dict.fromkeys(SINGLE, Difference(0.2, 0.1)), -2, 0),
        (dict.fromkeys(BY_CLASS, ()) | dict.fromkeys(SINGLE, Difference(0, 0)), -np.inf, 0),
    ],
)
def test_the_worst_figure_but_cost_says_how_far_behind_it_is(changed, behind, loss):
    level = dict.fromkeys(SINGLE, NONE) | dict.fromkeys(BY_CLASS, (NONE, NONE))
    comparison = Comparison(**level | changed)
    assert comparison.behind == pytest.approx(behind)
    assert comparison.shortfall == max(0.0, comparison.behind)
    assert comparison.loss == loss


def lists(**changed):
    *_, ((one, *_), (other, *_)) = made(0, n_classes=3)
    return one.minus(other).to_lists() | changed


def test_a_comparison_comes_back_from_a_file():
    read = Comparison.from_dict(Fields(lists(), "front.json"), 3)
    assert read.to_lists() == lists()
    assert lists()["coverage"] == list(read.coverage)
    assert np.shape(lists()["missed"]) == (3, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coverage", [0.1]),
        ("accuracy", [10**400, 0]),
        ("cost", [0, -0.1]),
        ("recall", [[0, 0]]),
        ("missed", [[0, 0], [0, 0], 3]),
    ],
)
def test_what_is_no_comparison_is_refused_by_name(name, value):
    with pytest.raises(FileError, match=name):
        Comparison.from_dict(Fields(lists(**{name: value}), "front.json"), 3)
