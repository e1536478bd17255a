"""Expected figures: what luck adds to a choice, and what a fit makes of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from emsco import Design, EMSCOClassifier, ParetoFront, ParetoPoint
from emsco._base.objectives import Estimate, Expected
from emsco.errors import ParameterError
from emsco.front import expected as expected_module
from emsco.front.expected import BagFigures, Bags, ChoiceRules
from emsco.front.rules import PointLimits, choose
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts

pytestmark = pytest.mark.usefixtures("all_bags")

SETTINGS = {
    "estimator": "logistic",
    "search": "evolution",
    "min_confidence": 0.75,
    "max_stages": 2,
    "generations": 3,
    "population_size": 30,
    "cv": 3,
    "random_state": 0,
}


# Bags


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
        figures.add(*shares)
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


def test_luck_with_a_rare_class_is_found_where_accuracy_shows_none():
    """Designs that trade one class for the other are as accurate, but the choice favours one."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [950, 50])
    correct = (truth == 0) | (rng.random((200, 1000)) < 0.5)
    figures = _figures(correct, truth, n_bags=100)
    found = figures.inside_by_class()[0][1]  # of the rare class
    luck = figures.luck(found.argmax(axis=1))
    assert luck[4] > 0.1
    assert luck[3] == pytest.approx(0, abs=1e-6)
    assert luck[1] < 0.02


def test_a_design_without_rivals_has_no_luck():
    rng = np.random.default_rng(1)
    figures = _figures(rng.random((1, 400)) < 0.8, rng.integers(0, 2, 400), n_bags=400)
    assert figures.luck(np.zeros(400, dtype=int)) == pytest.approx([0] * 5, abs=0.02)


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
    figures.add(shares, (truth == 0)[None].astype(np.float32), shares)
    figures.close()
    assert set(figures.accuracy[0].ravel().round(6).tolist()) <= {0.0, 0.5}


# Rules that are followed in each bag

N_ROWS, N_DESIGNS, N_BAGS = 40, 6, 9
COSTS = ErrorCosts.from_parameters([[1, 90], [30, 0]], {"ill": 20, "well": 5}, ("ill", "well"))
COUNTED = ByClass(("ill", "well"), ((10, 3, 2), (4, 15, 6)))


@pytest.fixture(scope="module")
def decided():
    """Truth, what designs do with each row, and the figures of all bags."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, N_ROWS)
    answered = (rng.random((N_DESIGNS, N_ROWS)) < 0.7).astype(np.float32)
    correct = answered * (rng.random((N_DESIGNS, N_ROWS)) < 0.8)
    shares = answered, correct.astype(np.float32), rng.random((N_DESIGNS, N_ROWS)) * 9
    bags = Bags.draw(truth, np.ones(N_ROWS), None, N_BAGS, 2, rng)
    figures = BagFigures(bags)
    figures.add(*(one[:, bags.order] for one in shares))
    figures.close()
    return truth, shares, figures


def totals_of(truth, shares, bags):
    """The total of each design in each bag, row by row."""
    answered, correct, spent = shares
    wrong = COSTS.mean_wrong(COUNTED)[truth]
    cost = (
        spent
        + correct * np.diagonal(COSTS.of_labels)[truth]
        + (answered - correct) * wrong
        + (1 - answered) * COSTS.costs[truth, -1]
    )
    weights = bags.weights[0][:, np.argsort(bags.order)]
    return weights @ cost.T / weights.sum(axis=1, keepdims=True)


def test_each_bag_has_the_lowest_total_of_its_rows(decided):
    truth, shares, figures = decided
    rules = ChoiceRules(figures, np.arange(N_DESIGNS), 9.0)
    totals = totals_of(truth, shares, figures.bags)
    assert rules.cheapest(COSTS, {}, COUNTED).tolist() == totals.argmin(axis=1).tolist()


def test_limits_hold_in_each_bag_where_a_design_is_within_them(decided):
    truth, shares, figures = decided
    rules = ChoiceRules(figures, np.arange(N_DESIGNS), 9.0)
    totals, coverage = totals_of(truth, shares, figures.bags), figures.coverage[0]
    chosen = rules.cheapest(COSTS, {"min_coverage": 0.71}, COUNTED)
    for bag, i in enumerate(chosen):
        within = np.flatnonzero(coverage[bag] >= 0.71)
        best = coverage[bag].argmax() if not len(within) else within[totals[bag, within].argmin()]
        assert i == best


def test_shares_by_class_add_up_to_all_rows(decided):
    parts = decided[2].inside_by_class()
    np.testing.assert_allclose(sum(part.sum(axis=0) for part in parts), 1, rtol=1e-5)


# Fits


def _rows(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = rng.random(n) < 1 / (1 + np.exp(-1.5 * X[:, 0] - X[:, 1]))
    return pd.DataFrame(X, columns=list("abcdef")), np.where(y, "ill", "well")


@pytest.fixture(scope="module")
def clf(all_bags):
    return EMSCOClassifier(**SETTINGS).fit(*_rows())


def test_every_point_has_expected_figures(clf):
    for point in clf.front_:
        for name in ("coverage", "accuracy", "cost"):
            estimate = getattr(point.expected, name)
            assert estimate.low <= estimate.value <= estimate.high
        assert len(point.expected.recall) == 2
        for estimate in point.expected.recall:
            assert estimate.low <= estimate.value <= estimate.high


def test_recall_to_expect_adds_up_to_correct_labels(clf):
    """Shares of the classes, weighted by their rows, are the rows that are labelled correctly."""
    for point in clf.front_:
        rows, expected = point.by_class.rows, point.expected
        recall = np.array([one.value for one in expected.recall])
        found = recall @ rows / rows.sum()
        assert found == pytest.approx(expected.coverage.value * expected.accuracy.value, abs=0.03)


def test_luck_makes_scored_accuracy_too_good_on_average(clf):
    luck = [point.accuracy - point.expected.accuracy.value for point in clf.front_]
    assert np.mean(luck) > 0.005


def test_more_rows_leave_less_to_luck(clf):
    many = EMSCOClassifier(**SETTINGS).fit(*_rows(1000))

    def width(estimate):
        widths = [p.expected.accuracy.high - p.expected.accuracy.low for p in estimate.front_]
        return np.mean(widths)

    assert width(many) < 0.6 * width(clf)


@pytest.mark.parametrize("weights", [None, np.arange(400) % 3 + 1.0], ids=["", "weights"])
def test_blocks_of_rows_vary_as_rows_do(monkeypatch, weights):
    def front(most):
        monkeypatch.setattr(expected_module, "_MOST_UNITS", most)
        return EMSCOClassifier(**SETTINGS).fit(*_rows(400), sample_weight=weights).front_

    rows, blocks = front(400), front(200)
    assert len(rows) == len(blocks) > 3
    for name in ("coverage", "accuracy", "cost"):
        one, other = ([getattr(p.expected, name) for p in front] for front in (rows, blocks))
        spread = np.mean([estimate.error for estimate in one])
        gaps = [a.value - b.value for a, b in zip(one, other, strict=True)]
        assert np.abs(gaps).max() < 1.5 * spread
        assert 0.8 < np.mean([estimate.error for estimate in other]) / spread < 1.25


def test_the_same_seed_expects_the_same(clf):
    again = EMSCOClassifier(**SETTINGS).fit(*_rows())
    assert [p.expected for p in again.front_] == [p.expected for p in clf.front_]


def test_rows_of_a_patient_count_as_one():
    """Rows that come four times over are no more evidence than once."""
    X, y = _rows(80)
    four, truth = pd.concat([X] * 4, ignore_index=True), np.tile(y, 4)
    patients = np.tile(np.arange(80), 4)
    settings = {**SETTINGS, "cv": "auto"}
    grouped = EMSCOClassifier(**settings).fit(four, truth, groups=patients)
    single = EMSCOClassifier(**settings).fit(four, truth)
    wide, narrow = (
        np.median([point.expected.coverage.error for point in clf.front_])
        for clf in (grouped, single)
    )
    assert wide > 1.4 * narrow


def test_expected_figures_survive_a_file(clf, tmp_path):
    clf.front_.save(tmp_path / "front.json")
    loaded = ParetoFront.load(tmp_path / "front.json")
    assert [p.expected for p in loaded] == [p.expected for p in clf.front_]


def test_limits_are_followed_in_every_sample(clf):
    within = EMSCOClassifier(**SETTINGS, prefer={"min_coverage": 0.6}).fit(*_rows())
    assert within.point_.coverage >= 0.6
    assert within.point_.expected.accuracy.value < within.point_.accuracy


# One standard error


def _point(front, n_stages, score, error=0.05, cost=1.0):
    """A point of so many stages, all of whose figures are those of a score."""
    point = next(p for p in front if p.n_stages == n_stages)
    share = Estimate(score, score - 2 * error, score + 2 * error)
    return replace(point, cost=cost, expected=Expected(share, share, Estimate(1.0, 1.0, 1.0)))


def test_one_standard_error_takes_the_simplest_that_is_nearly_the_best(clf):
    best = _point(clf.front_, 2, 0.9)
    simple, poor = _point(clf.front_, 1, 0.88), _point(clf.front_, 1, 0.7, cost=0.1)
    assert choose("one_standard_error", [best, poor, simple], clf.front_.costs) == 2
    assert choose("one_standard_error", [best, poor], clf.front_.costs) == 0


def test_a_fit_deploys_the_lowest_expected_total_and_takes_its_luck_off():
    prefer = {"error_cost": {"ill": 60, "well": 20}, "reject_cost": 10}
    settings = {**SETTINGS, "refit": "first"}  # averages change all totals a little
    clf = EMSCOClassifier(**settings).fit(*_rows())
    chosen = EMSCOClassifier(**settings, prefer=prefer).fit(*_rows())
    totals = chosen.front_.totals(**prefer)
    lowest = min(totals, key=lambda total: total.value)
    assert chosen.point_.total(**prefer) == lowest
    assert lowest.basis == "expected"
    assert lowest.interval.low < lowest.value < lowest.interval.high
    before = {point.design: point.total(**prefer).value for point in clf.front_}
    assert lowest.value >= before[chosen.design_]  # the choice made in samples is luckier
    changed = [
        p.design
        for p, total in zip(chosen.front_, totals, strict=True)
        if total.value != before[p.design]
    ]
    assert chosen.design_ in changed
    assert len(changed) < len(totals) / 2


def test_a_fit_takes_the_lowest_expected_total_within_limits():
    prefer = {"error_cost": 60, "reject_cost": 15, "max_cost": 1.5}
    chosen = EMSCOClassifier(**SETTINGS, prefer=prefer).fit(*_rows())
    assert chosen.point_.cost <= 1.5
    assert chosen.point_ == chosen.front_.select(**prefer)


def test_choose_takes_costs_and_limits_by_name(clf):
    clf.choose(error_cost=60, reject_cost=5)
    assert clf.point_ == clf.front_.select(error_cost=60, reject_cost=5)
    X, y = _rows()
    told = clf.evaluate(X, y, error_cost=60, reject_cost=5).total
    assert clf.evaluate(X, y).total.value == told.value
    assert clf.choose(0).evaluate(X, y).total is None
    clf.choose(error_cost=60, reject_cost=5)
    with pytest.raises(ParameterError):
        clf.choose(0, error_cost=60)
    with pytest.raises(ParameterError):
        clf.choose()


def test_a_classifier_evaluates_with_the_costs_it_was_told():
    prefer = {"error_cost": 60, "reject_cost": 5}
    chosen = EMSCOClassifier(**SETTINGS, prefer=prefer).fit(*_rows())
    evaluation = chosen.evaluate(*_rows(80, seed=3))
    assert evaluation.total.promised == chosen.point_.total(**prefer)
    other = chosen.evaluate(*_rows(80, seed=3), error_cost=1, reject_cost=1)
    assert other.total.value < evaluation.total.value


@pytest.mark.parametrize(
    "limits",
    [
        {"max_cost": 0.6},
        {"min_coverage": 0.7},
        {"min_accuracy": 0.6},
        {"min_accuracy": 0.6, "min_coverage": 0.7},
        {"max_cost": 0.7, "min_coverage": 0.7},
    ],
)
def test_what_limits_mean_is_followed_in_each_bag(limits):
    rng = np.random.default_rng(1)
    n_designs, n_rows = 30, 60
    answered = (rng.random((n_designs, n_rows)) < rng.uniform(0.5, 1.2, n_designs)[:, None]) * 1.0
    correct = answered * (rng.random((n_designs, n_rows)) < 0.7)
    spent = np.repeat(rng.uniform(0.1, 1.0, n_designs)[:, None], n_rows, axis=1)
    figures = _figures(correct, rng.integers(0, 2, n_rows), answered, spent)
    chosen = ChoiceRules(figures, np.arange(n_designs), 1.0)._meant(limits)
    asked = PointLimits(**limits)
    blank = ParetoPoint(0.0, 0.0, 0.0, Design([0], ("age",)), 1, n_rows, (1,), (1,))
    for bag, best in enumerate(chosen.tolist()):
        points = [
            replace(blank, coverage=min(1.0, float(c)), accuracy=float(a), cost=float(s))
            for c, a, s in zip(
                figures.coverage[0, bag].round(6),
                figures.accuracy[0, bag],
                figures.cost[0, bag],
                strict=True,
            )
        ]
        within = asked.within(points)
        if within:
            assert best == asked.best(points, within)


def test_the_economical_rule_is_followed_in_each_bag():
    """The cheapest of many equals that looks as good as everything is partly lucky."""
    rng = np.random.default_rng(3)
    n_designs, n_rows = 200, 150
    correct = rng.random((n_designs, n_rows)) < 0.7
    spent = np.repeat(rng.uniform(0.1, 0.9, n_designs)[:, None], n_rows, axis=1)
    spent[-1] = 1.0  # the last one buys everything
    figures = _figures(correct, rng.integers(0, 2, n_rows), spent=spent)
    rules = ChoiceRules(figures, np.arange(n_designs), 1.0, everything=n_designs - 1)
    accuracy, bags = figures.accuracy[0], np.arange(figures.bags.n_bags)
    for tolerated, ahead in ((0.0, 0.0), (-1.0, 0.05)):
        chosen = rules.economical(n_designs - 1, np.full(3, 0.05), tolerated)
        buys_all = chosen == n_designs - 1
        lead = accuracy[bags, chosen] - accuracy[:, -1]
        assert (lead[~buys_all] >= ahead - 1e-6).all()
        assert figures.cost[0][bags, chosen].mean() < 0.8
        assert figures.luck(chosen)[1] > 0.03


def test_how_far_a_choice_is_behind_everything_is_measured_on_rows_outside():
    truth = np.arange(40) % 4 == 0
    correct = np.stack([np.ones(40), ~truth])  # the other one misses the rarer class
    figures = _figures(correct, truth.astype(int))
    n_bags = figures.bags.n_bags
    accuracy, common, rare = figures.behind_outside(np.ones(n_bags, dtype=int), 0)
    assert (common, rare) == (0, 1)
    assert accuracy == pytest.approx(0.25, abs=0.03)
    assert figures.behind_outside(np.zeros(n_bags, dtype=int), 0).tolist() == [0, 0, 0]
