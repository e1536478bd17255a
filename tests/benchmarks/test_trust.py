"""Monitors in simulations: false alarms are rare, drops are noticed, and the twin is a twin."""

import numpy as np
import pytest
from scipy import stats
from trust import DELTA, MONITORED, Gamblers, Kind, delays, false_alarms

from emsco.cascade import monitor as monitor_module
from emsco.cascade.monitor import MonitoredPromise
from emsco.stats.promises import Promise


def watched(kind):
    promise = Promise("cost" if kind.is_ceiling else "accuracy", kind.limit)
    return MonitoredPromise.begin(promise, DELTA, kind.values)


@pytest.mark.parametrize("kind", MONITORED, ids=lambda kind: kind.name)
def test_many_monitors_side_by_side_are_the_one_that_users_have(kind, monkeypatch):
    monkeypatch.setattr("trust.MOST_STARTS", 5)
    monkeypatch.setattr(monitor_module, "MOST_STARTS", 5)
    rng, one = np.random.default_rng(1), watched(kind)
    gamblers = Gamblers(kind, kind.limit, 3)
    for look in range(30):
        counts = rng.multinomial(40, kind.chances, 3)
        gamblers.add(counts)
        one = one.add(counts[1], 40 * (look + 1))
        assert np.exp(one.log_capital) == pytest.approx(gamblers.capital[1])
    assert one.evidence == pytest.approx(gamblers.peak[1])
    assert one.n_restarts == 10


@pytest.mark.parametrize("kind", MONITORED, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("rows", "n_looks"), [(1, 120), (25, 30)])
def test_false_alarms_are_rare_with_the_truth_exactly_on_the_promise(kind, rows, n_looks):
    n_paths = 200
    share = false_alarms(kind, n_paths, n_looks, rows)
    assert share <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / n_paths)


def test_false_alarms_are_rare_for_all_promises_together():
    rng, n_paths = np.random.default_rng(2), 200
    both = [Gamblers(kind, kind.limit, n_paths) for kind in MONITORED]
    for _ in range(30):
        for kind, gamblers in zip(MONITORED, both, strict=True):
            gamblers.add(rng.multinomial(25, kind.chances, n_paths))
    alarms = [gamblers.peak >= len(MONITORED) / DELTA for gamblers in both]
    assert np.any(alarms, axis=0).mean() <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / n_paths)


def test_a_fair_game_with_restarts_makes_no_money_on_average(monkeypatch):
    monkeypatch.setattr("trust.ROWS_BETWEEN_STARTS", 6)
    hits = np.stack(np.meshgrid(*[np.arange(7)] * 4), axis=-1).reshape(-1, 4)  # all that can come
    gamblers = Gamblers(Kind("", (0, 1), (0.2, 0.8)), 0.8, len(hits))
    for look in hits.T:
        gamblers.add(np.column_stack([6 - look, look]))
    chances = stats.binom.pmf(hits, 6, 0.8).prod(axis=1)
    assert chances @ gamblers.capital == pytest.approx(1)


@pytest.mark.parametrize(
    ("drop", "before", "most"), [(0.1, 0, 250), (0.05, 0, 700), (0.1, 5000, 450)]
)
def test_nine_of_ten_alarms_come_soon_after_a_drop(drop, before, most):
    waits = delays(0.95, drop, before, n_paths=60, max_rows=1000)
    assert np.quantile(waits, 0.9) <= most


def test_restarts_notice_what_a_mean_over_all_rows_hides():
    with_them, without = (
        np.median(delays(0.95, 0.1, 10_000, 40, 4000, restarts=restarts))
        for restarts in (True, False)
    )
    assert with_them < without / 5
