"""One promise: its figure, interval, evidence and verdict as rows come in."""

import numpy as np
import pytest

from emsco.cascade import monitor as monitoring
from emsco.cascade.monitor import MOST_SOURCES, MOST_STARTS, MonitoredPromise, MonitorState, Source
from emsco.stats.promises import Promise, Verdict

ACCURACY = Promise("accuracy", 0.9)
COST = Promise("cost", 5.0)
COSTS = (0.0, 2.0, 20.0)


def watch(promise=ACCURACY, *looks, delta=0.05):
    one, row = MonitoredPromise.begin(promise, delta, COSTS), 0
    for counts in looks:
        row += sum(counts)
        one = one.add(np.array(counts), row)
    return one


def test_without_rows_nobody_can_tell():
    one = watch()
    assert (one.figure, one.n_rows, one.evidence) == (None, 0, 1.0)
    assert one.verdict is Verdict.TOO_FEW
    assert str(one) == "accuracy at least 0.9: no rows yet"


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [((10, 90), Verdict.TOO_FEW), ((2, 400), Verdict.KEPT), ((60, 140), Verdict.NOT_KEPT)],
)
def test_a_verdict_says_what_the_interval_says(counts, verdict):
    one = watch(ACCURACY, counts)
    low, high = one.interval
    assert one.verdict is verdict
    assert (low >= 0.9, high < 0.9) == (verdict is Verdict.KEPT, verdict is Verdict.NOT_KEPT)


def test_a_ceiling_is_broken_from_below():
    cheap, dear = watch(COST, (50, 150, 0)), watch(COST, (0, 50, 150))
    assert (cheap.figure, cheap.verdict) == (1.5, Verdict.KEPT)
    assert (dear.figure, dear.verdict) == (15.5, Verdict.NOT_KEPT)


def test_a_ceiling_that_no_row_can_exceed_holds_from_the_beginning():
    one = watch(Promise("cost", 20.0), (0, 0, 100))
    assert (one.verdict, one.evidence) == (Verdict.KEPT, 1.0)


def test_one_error_breaks_a_promise_of_no_errors():
    perfect = Promise("accuracy", 1.0)
    assert watch(perfect, (0, 1000)).verdict is Verdict.TOO_FEW
    assert watch(perfect, (1, 1000)).verdict is Verdict.NOT_KEPT


def test_an_alarm_stays_when_better_rows_follow():
    one = watch(ACCURACY, (40, 60))
    later = watch(ACCURACY, (40, 60), *[(0, 500)] * 10)
    assert one.alarm == later.alarm
    assert later.verdict is Verdict.NOT_KEPT
    assert later.log_capital < later.log_evidence == one.log_evidence


def test_the_evidence_of_up_to_100_rows_does_not_depend_on_the_looks():
    rows = np.random.default_rng(0).random(100) < 0.8
    one_by_one = watch(ACCURACY, *[(int(not hit), int(hit)) for hit in rows])
    at_once = watch(ACCURACY, (int((~rows).sum()), int(rows.sum())))
    assert one_by_one.counts == at_once.counts
    assert one_by_one.interval == at_once.interval
    assert one_by_one.log_capital == pytest.approx(at_once.log_capital)
    assert one_by_one.log_evidence >= at_once.log_evidence  # it was looked at more often


def test_an_alarm_names_the_stretch_that_raised_it():
    one = watch(ACCURACY, *[(5, 95)] * 30, *[(30, 70)] * 3)
    assert 3000 < one.alarm.row <= 3300
    assert one.alarm.since == 3000
    assert one.alarm.figure == pytest.approx(0.7)
    assert one.interval.low > 0.9  # over all rows, the promise would hold


def test_starts_are_bounded_and_the_beginning_is_kept():
    rng = np.random.default_rng(1)
    looks = [(100 - k, k) for k in rng.binomial(100, 0.93, MOST_STARTS + 30).tolist()]
    one = watch(ACCURACY, *looks)
    numbers = [start.number for start in one.starts]
    assert len(numbers) == MOST_STARTS
    assert numbers[0] == 0
    assert numbers[-1] == one.n_restarts == MOST_STARTS + 30
    assert numbers == sorted(numbers)


def test_shares_of_the_money_never_exceed_all_of_it():
    one = watch(ACCURACY, *[(10, 90)] * 20)
    shares = sum(np.exp(start.log_share) for start in one.starts)
    assert shares + 0.5 / (one.n_restarts + 1) == pytest.approx(1)


def test_rows_that_do_not_count_change_nothing():
    one = watch(ACCURACY, (1, 9))
    assert one.add(np.array([0, 0]), 50) is one


def test_delta_is_divided_between_promises():
    state = MonitorState.begin([ACCURACY, COST], 0.05, COSTS)
    assert [one.delta for one in state.promises] == [0.025, 0.025]


def test_looks_are_thinned_out_and_the_last_is_kept(monkeypatch):
    monkeypatch.setattr(monitoring, "MOST_LOOKS", 50)
    state = MonitorState.begin([ACCURACY], 0.05, COSTS)
    for _ in range(150):
        state = state.add([np.array([0, 1])], 1, 1, 1)
    rows = [look.n_rows for look in state.looks]
    assert 25 <= len(rows) <= 50
    assert rows[-1] == state.n_rows == 150
    assert rows == sorted(set(rows))
    assert state.looks[-1].counts == ((0, 150),)


def test_only_the_last_files_are_remembered():
    state = MonitorState.begin([ACCURACY], 0.05, COSTS)
    for i in range(MOST_SOURCES + 5):
        state = state.remember(Source(f"{i}.csv", 1, "a", "b"))
    assert len(state.sources) == MOST_SOURCES
    assert state.sources[-1].name == "1004.csv"


def test_plain_values_have_everything():
    found = watch(ACCURACY, (60, 140)).to_dict()
    assert (found["kind"], found["limit"], found["verdict"]) == ("accuracy", 0.9, "not kept")
    assert found["alarm"] == {"row": 200, "since": 0, "n_rows": 200, "figure": 0.7}
    assert watch().to_dict()["alarm"] is None
