"""Expected figures: what luck adds to a choice, and intervals."""

import numpy as np
import pytest

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.stats.bags import BagFigures, Bags, RowShares
from emsco.stats.expected import Estimate, Expected, share_estimate

SOME = Expected(Estimate(0.9, 0.85, 0.94), Estimate(0.8, 0.7, 0.88), Estimate(5, 4, 6))


def _bags(truth, groups=None, n_bags=50, weights=None):
    weights = np.ones(len(truth)) if weights is None else weights
    return Bags.draw(truth, weights, groups, n_bags, 2, np.random.default_rng(0))


def _figures(correct, truth, answered=None, spent=None, **settings):
    n_designs, n_rows = correct.shape
    figures = BagFigures(_bags(truth, **settings))
    answered = np.ones_like(correct) if answered is None else answered
    spent = np.ones((n_designs, n_rows)) if spent is None else spent
    for part in (slice(0, n_designs // 2), slice(n_designs // 2, None)):
        every = (one[part].astype(np.float32) for one in (answered, correct, spent))
        shares = (one[:, figures.bags.order] for one in every)
        figures.add(RowShares(*shares))
    figures.close()
    return figures


def test_the_luck_of_choosing_among_equals_is_found():
    """Of many designs that are right by a coin, the best on few rows is only lucky."""
    rng = np.random.default_rng(0)
    scored, luck = [], []
    for _ in range(40):
        correct = rng.random((200, 100)) < 0.7
        figures = _figures(correct, rng.integers(0, 2, 100))
        scored.append(correct.mean(axis=1).max())
        luck.append(figures.luck(figures.accuracy[0].argmax(axis=1))[1])
    optimism = np.mean(scored) - 0.7
    assert optimism <= np.mean(luck) <= 1.4 * optimism  # rather too much than too little


def test_a_design_without_rivals_has_no_luck():
    rng = np.random.default_rng(1)
    figures = _figures(rng.random((1, 400)) < 0.8, rng.integers(0, 2, 400), n_bags=400)
    assert figures.luck(np.zeros(400, dtype=int)) == pytest.approx([0, 0, 0], abs=0.01)


def test_counts_inside_and_outside_are_those_of_the_rows():
    rng = np.random.default_rng(2)
    truth, correct = rng.integers(0, 2, 30), rng.random((3, 30)) < 0.6
    answered = correct | (rng.random((3, 30)) < 0.5)
    figures = _figures(correct, truth, answered=answered)
    weights = np.zeros_like(figures.bags.weights)
    weights[:, :, figures.bags.order] = figures.bags.weights
    given, right = weights @ answered.T, weights @ correct.T
    assert figures.coverage == pytest.approx(given / weights.sum(axis=2)[:, :, None])
    assert figures.accuracy == pytest.approx(right / np.where(given > 0, given, 1))


def test_a_row_is_inside_a_bag_or_outside():
    bags = _bags(np.array([0, 1, 1, 0, 1]))
    inside, outside = bags.weights
    assert ((inside > 0) != (outside > 0)).all()
    assert (inside.sum(axis=1) == 5).all()


def test_rows_of_a_group_come_together():
    truth, groups = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
    bags = _bags(truth, groups)
    inside = np.zeros_like(bags.weights[0])
    inside[:, bags.order] = bags.weights[0]
    assert (inside[:, ::2] == inside[:, 1::2]).all()


def test_the_choice_beside_a_design_is_no_dearer_and_covers_no_less():
    rng = np.random.default_rng(3)
    answered = rng.random((20, 60)) < 0.8
    correct, spent = answered & (rng.random((20, 60)) < 0.7), rng.random((20, 60))
    figures = _figures(correct, rng.integers(0, 2, 60), answered=answered, spent=spent)
    chosen, bags = figures.best_beside(4), np.arange(50)
    assert (figures.cost[0][bags, chosen] <= figures.cost[0][:, 4] + 1e-6).all()
    assert (figures.coverage[0][bags, chosen] >= figures.coverage[0][:, 4] - 1e-6).all()
    assert (figures.accuracy[0][bags, chosen] >= figures.accuracy[0][:, 4]).all()


def test_balanced_accuracy_is_the_mean_over_classes():
    truth = np.array([0] * 8 + [1] * 2)
    figures = BagFigures(_bags(truth), is_balanced=True)
    shares = np.ones((1, 10), dtype=np.float32)
    figures.add(RowShares(shares, (truth == 0)[None].astype(np.float32), shares))
    figures.close()
    assert set(figures.accuracy[0].ravel().round(6).tolist()) <= {0.0, 0.5}


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_share_lies_in_its_interval(value):
    found = share_estimate(value, 50)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0.05


def test_the_standard_error_of_a_balanced_score_follows_from_intervals():
    rng = np.random.default_rng(4)
    draws = [
        rng.normal(one.value, one.error, 20_000)
        for one in (SOME.coverage, SOME.accuracy, SOME.cost)
    ]
    lengths = np.sqrt(draws[0] ** 2 + draws[1] ** 2 + (1 - draws[2] / 20) ** 2)
    score, error = SOME.balanced(20.0)
    assert score == pytest.approx(lengths.mean(), abs=0.01)
    assert error == pytest.approx(lengths.std(), rel=0.05)


def test_expected_figures_survive_a_file():
    fields = Fields(SOME.to_lists(), "front.json")
    assert Expected.from_fields(fields) == SOME


@pytest.mark.parametrize("bad", [[0.9, 0.95, 1.0], [0.9, 0.8], [0.9, 0.8, "high"], [0.9, -1, 1]])
def test_a_value_outside_its_interval_is_refused(bad):
    fields = Fields({**SOME.to_lists(), "coverage": bad}, "front.json")
    with pytest.raises(FileError, match="'coverage' must be"):
        Expected.from_fields(fields)


def test_expected_figures_are_put_into_words():
    assert str(SOME) == (
        "coverage 90.0% (85.0% to 94.0%), accuracy 80.0% (70.0% to 88.0%), cost 5 (4 to 6)"
    )
