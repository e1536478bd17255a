"""Differences between decisions: standard errors, repeated rows, weights, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.stats.differences import CodedFigures, Comparison, Difference, RowFigures

NAMES = ("coverage", "accuracy", "cost")


def made(n_rows=400, n_classes=2, seed=0):
    """True classes, and two ways to decide the rows: given labels and costs of each."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    return truth, *(
        (
            np.where(
                rng.random(n_rows) < reject,
                n_classes,
                np.where(rng.random(n_rows) < right, truth, rng.integers(0, n_classes, n_rows)),
            ),
            rng.choice([1.0, 3.0, 10.0], n_rows),
        )
        for reject, right in ((0.2, 0.8), (0.35, 0.9))
    )


def measured(truth, said, cost, weights=None, rows=None, n_classes=2):
    weights = np.ones(len(truth)) if weights is None else weights
    rows = np.arange(len(truth)) if rows is None else rows
    return RowFigures.measure(truth, said, cost, weights, rows, n_classes)


def compared(truth, one, two, **more):
    return measured(truth, *one, **more).minus(measured(truth, *two, **more))


def figures_of(truth, said, cost, weights, n_classes):
    """Coverage, accuracy and cost, then the shares of each class found and missed."""
    answered, right = said < n_classes, said == truth
    figures = [
        weights[answered].sum() / weights.sum(),
        weights[right].sum() / max(weights[answered].sum(), 1e-300),
        (weights * cost).sum() / weights.sum(),
    ]
    for which in (right, answered & ~right):
        for k in range(n_classes):
            of_class = truth == k
            figures.append(weights[of_class & which].sum() / max(weights[of_class].sum(), 1e-300))
    return np.array(figures)


def flat(comparison):
    """Values and errors in the order of `figures_of`."""
    pairs = [getattr(comparison, name) for name in NAMES]
    return np.array([*pairs, *comparison.recall, *comparison.missed]).T


def plain_errors(truth, one, two, weights, rows, n_classes):
    """Standard errors from what a difference changes by if a row counts a little more."""

    def difference(counted):
        drawn = weights * counted[rows]
        return np.subtract(*(figures_of(truth, *way, drawn, n_classes) for way in (one, two)))

    n, step = rows.max() + 1, 1e-5
    changes = []
    for i in range(n):
        more = np.ones(n)
        more[i] += step
        less = 2 - more
        changes.append((difference(more) - difference(less)) / (2 * step))
    return np.sqrt(np.sum(np.square(changes), axis=0))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_standard_errors_are_those_of_a_plain_twin(n_classes, repeats, weighted):
    truth, one, two = made(60, n_classes, seed=3)
    rows = np.arange(60) // repeats
    truth = truth[rows * repeats]  # decisions about the same row have the same truth
    weights = np.random.default_rng(4).uniform(0.5, 3, 60) if weighted else np.ones(60)
    more = {"weights": weights, "rows": rows, "n_classes": n_classes}
    values, errors = flat(compared(truth, one, two, **more))
    plain = [figures_of(truth, *way, weights, n_classes) for way in (one, two)]
    np.testing.assert_allclose(values, plain[0] - plain[1], atol=1e-12)
    expected = plain_errors(truth, one, two, weights, rows, n_classes)
    np.testing.assert_allclose(errors, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_standard_errors_agree_with_a_bootstrap(n_classes):
    truth, one, two = made(500, n_classes, seed=1)
    _, errors = flat(compared(truth, one, two, n_classes=n_classes))
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(2000):
        weights = np.bincount(rng.integers(0, 500, 500), minlength=500).astype(float)
        ways = [figures_of(truth, *way, weights, n_classes) for way in (one, two)]
        drawn.append(ways[0] - ways[1])
    np.testing.assert_allclose(errors, np.std(drawn, axis=0), rtol=0.1)


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_equal_decisions_have_no_difference_and_no_doubt(seed, n_classes):
    truth, one, _ = made(50, n_classes, seed)
    comparison = compared(truth, one, one, n_classes=n_classes)
    assert not flat(comparison).any()
    assert comparison.shortfall == 0


def test_a_difference_and_its_reverse_are_opposite_and_equally_sure():
    truth, one, two = made()
    there, back = flat(compared(truth, one, two)), flat(compared(truth, two, one))
    assert there[0].tolist() == (-back[0]).tolist()
    assert there[1].tolist() == back[1].tolist()


def test_repeated_decisions_about_a_row_count_once():
    truth, one, two = made(100)
    again = np.tile(np.arange(100), 3)
    ways = [tuple(column[again] for column in way) for way in (one, two)]
    repeated = compared(truth[again], *ways, rows=again)
    np.testing.assert_allclose(flat(repeated), flat(compared(truth, one, two)), atol=1e-12)
    as_others = compared(truth[again], *ways)  # as if they were about rows of their own
    np.testing.assert_allclose(flat(as_others)[1], flat(repeated)[1] / np.sqrt(3))


def test_a_weight_is_so_many_decisions_about_the_row():
    truth, one, two = made(100)
    weights = np.arange(100) % 4 + 1
    again = np.repeat(np.arange(100), weights)
    ways = [tuple(column[again] for column in way) for way in (one, two)]
    weighed = compared(truth, one, two, weights=weights.astype(float))
    repeated = compared(truth[again], *ways, rows=again)
    np.testing.assert_allclose(flat(weighed), flat(repeated), atol=1e-12)


def test_only_the_ratios_of_weights_count():
    truth, one, two = made(100)
    weights = np.random.default_rng(0).uniform(0.1, 5, 100)
    small, large = (compared(truth, one, two, weights=weights * k) for k in (1, 1000))
    np.testing.assert_allclose(flat(small), flat(large), rtol=1e-9, atol=1e-12)


def test_where_nothing_is_answered_every_figure_but_cost_is_0():
    truth = np.array([0, 0, 1, 1])
    nothing = measured(truth, np.full(4, 2), np.ones(4))
    assert nothing.figures.tolist() == [0.0, 0.0, 1.0]
    assert not nothing.by_class.any()
    comparison = measured(truth, truth, np.ones(4)).minus(nothing)
    assert comparison.accuracy == Difference(1.0, 0.0)
    assert [one.value for one in comparison.recall] == [1.0, 1.0]


def test_a_class_without_a_row_has_no_difference():
    truth = np.zeros(4, dtype=int)
    comparison = measured(truth, truth, np.ones(4)).minus(measured(truth, truth + 1, np.ones(4)))
    assert (comparison.recall[1], comparison.missed[1]) == (
        Difference(0.0, 0.0),
        Difference(0.0, 0.0),
    )
    assert (comparison.recall[0].value, comparison.missed[0].value) == (1.0, -1.0)


# What follows from them


def test_a_shortfall_is_counted_in_standard_errors():
    assert Difference(-0.3, 0.1).shortfall() == pytest.approx(3)
    assert Difference(0.3, 0.1).shortfall() == 0
    assert Difference(-0.3, 0.0).shortfall() == np.inf
    assert Difference(-1e-15, 0.0).shortfall() == 0  # rounding is no difference


NOTHING = Difference(0.0, 0.1)


@pytest.mark.parametrize(
    ("changed", "shortfall"),
    [
        ({"coverage": Difference(-0.2, 0.1)}, 2),
        ({"accuracy": Difference(-0.1, 0.1)}, 1),
        ({"cost": Difference(9.0, 0.1)}, 0),
        ({"recall": (NOTHING, Difference(-0.4, 0.1))}, 4),
        ({"missed": (Difference(0.3, 0.1), NOTHING)}, 3),
        ({"missed": (Difference(-0.3, 0.1), NOTHING)}, 0),
        ({"coverage": Difference(-0.2, 0.1), "recall": (Difference(-0.5, 0.1), NOTHING)}, 5),
    ],
)
def test_the_worst_shortfall_in_anything_but_cost_counts(changed, shortfall):
    single = dict.fromkeys(NAMES, NOTHING)
    by_class = {"recall": (NOTHING, NOTHING), "missed": (NOTHING, NOTHING)}
    assert Comparison(**{**single, **by_class, **changed}).shortfall == pytest.approx(shortfall)


def test_better_means_ahead_of_noise_and_of_what_matters():
    truth, one, two = made(400)
    more, less = measured(truth, *one), measured(truth, *two)
    ahead = more.minus(less).coverage
    errors = ahead.value / ahead.error
    none, any_cost = np.zeros(3), np.array([0.0, 1.0, 1e9])
    assert more.beats(less, errors * 0.99, any_cost)
    assert not more.beats(less, errors * 1.01, any_cost)
    assert not more.beats(less, 0.0, any_cost + ahead.value)
    assert not more.beats(more, 0.0, none)
    cheaper = measured(truth, one[0], one[1] - 0.5)
    assert cheaper.beats(more, 1e6, none)  # half less for each row, beyond any noise
    assert not more.beats(cheaper, 0.0, none)


# Files


def in_file(lists):
    return Fields(lists, "'front.json'")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_comparison_comes_back_from_a_file(n_classes):
    comparison = compared(*made(n_classes=n_classes), n_classes=n_classes)
    lists = comparison.to_lists()
    assert Comparison.from_dict(in_file(lists), n_classes) == comparison
    assert lists["coverage"] == list(comparison.coverage)
    assert np.shape(lists["recall"]) == np.shape(lists["missed"]) == (n_classes, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coverage", None),
        ("coverage", [0.1]),
        ("accuracy", ["0", 0]),
        ("accuracy", [True, 0]),
        ("accuracy", [10**400, 0]),
        ("cost", [0.0, float("nan")]),
        ("cost", [0, -0.1]),
        ("recall", [[0, 0]]),
        ("recall", [[0, 0], 3]),
        ("missed", {}),
        ("missed", [[0, 0], [0, -1]]),
    ],
)
def test_what_is_no_comparison_is_refused_by_name(name, value):
    lists = compared(*made()).to_lists()
    with pytest.raises(FileError):
        Comparison.from_dict(in_file(lists | {name: value}), 2)


@pytest.mark.parametrize("name", [*NAMES, "recall", "missed"])
def test_a_comparison_that_lacks_something_is_refused_by_name(name):
    lists = compared(*made()).to_lists()
    del lists[name]
    with pytest.raises(FileError):
        Comparison.from_dict(in_file(lists), 2)


@pytest.mark.parametrize(("seed", "n_stages"), [(0, 3), (1, 3), (2, 100)])
def test_counts_of_what_happened_give_the_figures_of_rows(seed, n_stages):
    rng = np.random.default_rng(seed)
    n, paid = 300, np.cumsum(rng.integers(1, 9, n_stages)).astype(float)
    truth, rows = rng.integers(0, 3, n), np.arange(n)
    both = []
    for _ in range(2):
        given = rng.integers(0, 4, n).astype(np.uint8)
        stage = np.where(given == 3, n_stages - 1, rng.integers(0, n_stages, n))
        sure = rng.random(n).astype(np.float32)
        coded = CodedFigures.measure(truth, given, stage, sure, paid, 3)
        both.append((coded, RowFigures.measure(truth, given, paid[stage], np.ones(n), rows, 3)))
        answered = given < 3
        assert coded.exits.tolist() == np.bincount(stage[answered], minlength=n_stages).tolist()
        assert np.allclose(coded.sure, np.bincount(stage[answered], sure[answered], n_stages))
    (one, plain), (other, plain_other) = both
    figures, expected = one.minus(other).to_lists(), plain.minus(plain_other).to_lists()
    for name, pairs in expected.items():
        assert np.allclose(figures[name], pairs, atol=1e-12)
    assert np.allclose(one.errors, np.linalg.norm(plain.influence[:3], axis=1))
    for errors in (0.5, 1.0, 2.0, 50.0):
        for least in (0.0, 0.05):
            given = errors, np.full(3, least)
            assert one.beats(other, *given) == plain.beats(plain_other, *given)
            assert other.beats(one, *given) == plain_other.beats(plain, *given)
