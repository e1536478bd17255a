from __future__ import annotations

import numpy as np
import pytest
from emsco_lab.standings import Standing, duels
from emsco_lab.trials import ANYTHING, Offer, Seen
from scipy import stats

from emsco._base.objectives import Objectives
from emsco.stats.tests import holm, margin


def seen_by_split(tests):
    """A standing of figures on test rows, by split."""
    return Standing(
        {
            split: [Offer(ANYTHING, "", Objectives(*one), Seen(*one)) for one in repeats]
            for split, repeats in tests.items()
        }
    )


def standing(table):
    return seen_by_split({i: [row] for i, row in enumerate(np.asarray(table).tolist())})


@pytest.fixture
def base():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(0.5, 0.7, (10, 2)), rng.uniform(10, 20, 10)])


def test_a_standing_averages_repeats_first_and_then_splits():
    seen = seen_by_split({0: [(1, 0.5, 10), (1, 0.7, 20)], 1: [(1, 0.8, 5)] * 2})
    assert seen.mean == Objectives(1.0, pytest.approx(0.7), 10.0)
    assert seen.by_split[:, 2].tolist() == [15.0, 5.0]
    assert seen.n_repeats == 2


def test_a_contestant_that_is_better_on_every_split_dominates(base):
    better = base + np.array([0, 0.05, -1.0])
    (duel,) = duels(standing(better), [standing(base)])
    assert duel.verdict == "dominates"
    assert (duel.n_won, duel.n_lost, duel.n_splits) == (10, 0, 10)
    assert duels(standing(base), [standing(better)])[0].verdict == "is dominated"


def test_a_contestant_that_pays_for_its_gains_trades(base):
    (duel,) = duels(standing(base + np.array([0, 0.05, 3.0])), [standing(base)])
    assert duel.verdict == "trades"
    assert duel.gains[1] > 0 > duel.gains[2]


def test_equal_contestants_do_not_differ(base):
    (duel,) = duels(standing(base), [standing(base)])
    assert duel.p_values == (1.0, 1.0, 1.0)
    assert duel.verdict == "no difference"


def test_only_splits_that_both_have_are_paired(base):
    some = seen_by_split({i: [base[i].tolist()] for i in (3, 7)})
    (duel,) = duels(standing(base), [some])
    assert duel.n_splits == 2
    assert duel.gains == (0.0, 0.0, 0.0)


def test_p_values_are_those_of_students_test_with_wider_errors_and_holms_correction(base):
    rng = np.random.default_rng(1)
    other = base + rng.normal(0, 0.03, base.shape)
    (duel,) = duels(standing(base), [standing(other)])
    plain = stats.ttest_rel(base, other)
    t = plain.statistic / np.sqrt(1 + 10 / 3)  # variance 1/10 + 1/3 instead of 1/10
    raw = 2 * stats.t.sf(np.abs(t), 9)
    assert duel.p_values == pytest.approx(holm(raw).tolist())
    assert (raw > plain.pvalue).all()


def test_margins_over_splits_allow_for_shared_rows(base):
    wide, plain = standing(base).margin, margin(base)
    assert [wide.coverage, wide.accuracy, wide.cost] == pytest.approx(plain * np.sqrt(1 + 10 / 3))


def test_random_splits_of_equal_methods_seldom_differ_significantly():
    rng, p_values = np.random.default_rng(2), []
    for _ in range(200):
        correct = rng.random((2, 300)) < 0.8  # rows that each method labels correctly
        rows = [rng.permutation(300)[:75] for _ in range(10)]
        first, second = (
            standing([[1.0, one[some].mean(), 1.0] for some in rows]) for one in correct
        )
        p_values.append(duels(first, [second])[0].verdict != "no difference")
    assert np.mean(p_values) < 0.05  # without the wider errors: 0.27


def test_the_same_gain_on_every_split_is_significant(base):
    (duel,) = duels(standing(base + np.array([0.25, 0, 0])), [standing(base)])
    assert duel.p_values == pytest.approx((0.0, 1.0, 1.0), abs=1e-9)


def test_one_split_proves_nothing(base):
    (duel,) = duels(standing(base[:1] + 1), [standing(base[:1])])
    assert duel.p_values == (1.0, 1.0, 1.0)


def test_equal_repeats_do_not_differ_from_one_despite_rounding():
    tests = [(1.0, k / 75, 0.1 * k) for k in range(40, 50)]
    one = seen_by_split({i: [test] for i, test in enumerate(tests)})
    many = seen_by_split({i: [test] * 50 for i, test in enumerate(tests)})
    assert not np.array_equal(one.by_split, many.by_split)
    (duel,) = duels(many, [one])
    assert duel.p_values == (1.0, 1.0, 1.0)
    assert (duel.gains, duel.n_won, duel.n_lost) == ((0.0, 0.0, 0.0), 0, 0)
