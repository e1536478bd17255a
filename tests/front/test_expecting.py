"""Expected figures of a front, from a fit to files, tables and plots."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from emsco import EMSCOClassifier, ParetoFront
from emsco.errors import ParameterError
from emsco.front import expected as expecting
from emsco.front.rules import one_standard_error_of
from emsco.stats.expected import Estimate, Expected

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
            found = getattr(point.expected, name)
            assert found.low <= found.value <= found.high


def test_luck_makes_scored_accuracy_too_good_on_average(clf):
    luck = [point.accuracy - point.expected.accuracy.value for point in clf.front_]
    assert np.mean(luck) > 0.005


def test_more_rows_leave_less_to_luck(clf):
    many = EMSCOClassifier(**SETTINGS).fit(*_rows(1000))

    def width(found):
        widths = [p.expected.accuracy.high - p.expected.accuracy.low for p in found.front_]
        return np.mean(widths)

    assert width(many) < 0.6 * width(clf)


@pytest.mark.parametrize("weights", [None, np.arange(400) % 3 + 1.0], ids=["", "weights"])
def test_blocks_of_rows_vary_as_rows_do(monkeypatch, weights):
    def front(most):
        monkeypatch.setattr(expecting, "_MOST_UNITS", most)
        return EMSCOClassifier(**SETTINGS).fit(*_rows(400), sample_weight=weights).front_

    rows, blocks = front(400), front(200)
    assert len(rows) == len(blocks) > 3
    for name in ("coverage", "accuracy", "cost"):
        one, other = ([getattr(p.expected, name) for p in front] for front in (rows, blocks))
        spread = np.mean([found.error for found in one])
        gaps = [a.value - b.value for a, b in zip(one, other, strict=True)]
        assert np.abs(gaps).max() < 1.5 * spread
        assert 0.8 < np.mean([found.error for found in other]) / spread < 1.25


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
        np.median([point.expected.coverage.error for point in found.front_])
        for found in (grouped, single)
    )
    assert wide > 1.4 * narrow


def test_expected_figures_survive_a_file(clf, tmp_path):
    clf.front_.save(tmp_path / "front.json")
    loaded = ParetoFront.load(tmp_path / "front.json")
    assert [p.expected for p in loaded] == [p.expected for p in clf.front_]


def test_a_file_without_expected_figures_still_loads(clf, tmp_path):
    bare = tuple(replace(point, expected=None) for point in clf.front_)
    replace(clf.front_, points=bare).save(tmp_path / "front.json")
    assert all(point.expected is None for point in ParetoFront.load(tmp_path / "front.json"))


def test_tables_have_expected_figures_with_their_limits(clf):
    table = clf.front_.to_pandas()
    assert table["expected accuracy"][0] == clf.front_[0].expected.accuracy.value
    assert (table["expected cost low"] <= table["expected cost high"]).all()
    assert "expected" in repr(clf.front_).splitlines()[1]
    assert "expected accuracy" in clf.front_._repr_html_()
    assert clf.front_.to_dicts()[0]["expected"]["cost"].keys() == {"value", "low", "high"}


def test_expected_figures_can_be_drawn(clf):
    figure = clf.front_.plot(on="expected")
    assert "expected on new rows" in figure.legends[0].get_title().get_text()


def test_a_front_without_expected_figures_cannot_draw_them(clf):
    bare = tuple(replace(point, expected=None) for point in clf.front_)
    with pytest.raises(ParameterError, match="'scored' for a front without expected figures"):
        replace(clf.front_, points=bare).plot(on="expected")


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
    assert one_standard_error_of([best, poor, simple], 10.0) == 2
    assert one_standard_error_of([best, poor], 10.0) == 0


def test_one_standard_error_is_a_rule_to_deploy_by():
    deployed = EMSCOClassifier(**SETTINGS, prefer="one_standard_error").fit(*_rows())
    assert deployed.point_ == deployed.front_.one_standard_error()
    assert deployed.point_.n_stages <= deployed.front_.balanced().n_stages


def test_a_fit_deploys_the_lowest_expected_total_and_takes_its_luck_off(clf):
    prefer = {"error_cost": {"ill": 60, "well": 20}, "reject_cost": 5}
    chosen = EMSCOClassifier(**SETTINGS, prefer=prefer).fit(*_rows())
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
    prefer = {"error_cost": 60, "reject_cost": 5, "max_cost": 1.5}
    chosen = EMSCOClassifier(**SETTINGS, prefer=prefer).fit(*_rows())
    assert chosen.point_.cost <= 1.5
    assert chosen.point_ == chosen.front_.select(**prefer)


def test_a_fit_takes_the_lowest_expected_total_within_limits_on_delays():
    prefer = {"error_cost": 60, "reject_cost": 5, "max_worst_delay": 1}
    delays = {"a": 1, "f": 4}
    slow = EMSCOClassifier(**SETTINGS, prefer=prefer, delays=delays).fit(*_rows())
    assert slow.point_.worst_delay <= 1
    assert slow.point_ == slow.front_.select(**prefer)
    assert slow.choose(max_worst_delay=4, error_cost=60, reject_cost=5).point_.worst_delay <= 4


def test_choose_takes_costs_and_limits_by_name(clf):
    clf.choose(error_cost=60, reject_cost=5)
    assert clf.point_ == clf.front_.select(error_cost=60, reject_cost=5)
    X, y = _rows()
    told = clf.evaluate(X, y, error_cost=60, reject_cost=5).total
    assert clf.evaluate(X, y).total.value == told.value
    assert clf.choose(0).evaluate(X, y).total is None
    clf.choose(error_cost=60, reject_cost=5)
    with pytest.raises(ParameterError, match="error_cost must be left out where a point or a rule"):
        clf.choose(0, error_cost=60)
    with pytest.raises(ParameterError, match="which must be a point"):
        clf.choose()


def test_choose_deploys_a_cascade_with_the_cheapest_labels(clf):
    X, _ = _rows(60, seed=5)
    costs = {"error_cost": {"ill": 90, "well": 1}, "reject_cost": 5}
    likely = clf.choose(**costs).decide(X)
    cheap = clf.choose(**costs, cheapest_label=True).decide(X)
    assert cheap.stage.tolist() == likely.stage.tolist()
    assert (cheap.labels == "ill").sum() > (likely.labels == "ill").sum()
    clf.choose(0, cheapest_label=False)
    assert clf.cascade_.label_costs is None
    with pytest.raises(ParameterError, match="cheapest_label must be False where errors have no"):
        clf.choose(0, cheapest_label=True)


def test_a_classifier_evaluates_with_the_costs_it_was_told():
    prefer = {"error_cost": 60, "reject_cost": 5}
    chosen = EMSCOClassifier(**SETTINGS, prefer=prefer).fit(*_rows())
    found = chosen.evaluate(*_rows(80, seed=3))
    assert found.total.promised == chosen.point_.total(**prefer)
    other = chosen.evaluate(*_rows(80, seed=3), error_cost=1, reject_cost=1)
    assert other.total.value < found.total.value
