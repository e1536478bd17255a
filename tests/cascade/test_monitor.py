"""Monitors: one promise as rows come in, what counts for which, files, bad input, the picture."""

import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.documents import changed, paths_of
from support.handmade import make_cascade, make_rich_cascade, make_rich_rows, make_rows
from support.looks import words_of

from emsco import DataError, Decisions, FileError, Monitor, ParameterError
from emsco._base.documents import document_text
from emsco.cascade import monitor as monitor_module
from emsco.cascade.monitor import (
    FORMAT,
    MOST_SOURCES,
    MOST_STARTS,
    LookCounts,
    MonitoredPromise,
    MonitorState,
    Source,
)
from emsco.stats.promises import Promise, Verdict

CASCADE = make_cascade(classes=("ill", "well"))
ROWS = make_rows(200)
DECISIONS = CASCADE.decide(ROWS)
TRUTH = np.where(np.random.default_rng(0).random(200) < 0.9, DECISIONS.guesses, "ill")
EVERY = {
    "min_accuracy": {None: 0.8, "well": 0.9},
    "min_coverage": 0.5,
    "max_cost": 30,
    "min_recall": {"ill": 0.4},
}
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
    monkeypatch.setattr(monitor_module, "MOST_LOOKS", 50)
    state = MonitorState.begin([ACCURACY], 0.05, COSTS)
    for _ in range(150):
        state = state.add(LookCounts(1, 1, 1, (np.array([0, 1]),)))
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
    values = watch(ACCURACY, (60, 140)).to_dict()
    assert (values["kind"], values["limit"], values["verdict"]) == ("accuracy", 0.9, "not kept")
    assert values["alarm"] == {"row": 200, "since": 0, "n_rows": 200, "figure": 0.7}
    assert watch().to_dict()["alarm"] is None


def given(accepted, labels, costs, cascade=CASCADE):
    """Decisions by hand."""
    n = len(labels)
    stage = np.ones(n, dtype=int)
    return Decisions(
        np.array(labels), np.array(accepted), np.full(n, 0.9), stage, np.array(costs, dtype=float)
    )


def counts_of(monitor):
    return {str(one.promise): one.counts for one in monitor.promises}


class TestCounting:
    decisions = given(
        [True, True, True, False, False],
        ["ill", "well", "well", "ill", "well"],
        [3.5, 3.5, 13.5, 53.5, 0],
    )

    def test_every_promise_counts_its_own_rows(self):
        y = ["ill", "ill", "well", "ill", None]
        monitor = Monitor(CASCADE, **EVERY).update(self.decisions, y)
        assert counts_of(monitor) == {
            "accuracy at least 0.8": (1, 2),
            "accuracy of 'well' at least 0.9": (1, 1),
            "coverage at least 0.5": (2, 3),
            "recall of 'ill' at least 0.4": (2, 1),
            "mean cost at most 30": (1, 2, 1, 1),  # before any stage, then after each
        }
        assert (monitor.n_rows, monitor.state.n_answered, monitor.state.n_labelled) == (5, 3, 4)

    def test_rows_without_labels_count_for_coverage_and_cost(self):
        monitor = Monitor(CASCADE, **EVERY).update(self.decisions)
        assert [one.n_rows for one in monitor.promises] == [0, 0, 5, 0, 5]
        assert monitor.state.n_labelled == 0

    def test_labels_of_rows_that_were_never_counted_are_refused(self):
        y = CASCADE.classes[np.zeros(len(self.decisions), dtype=int)]
        with pytest.raises(DataError):
            Monitor(CASCADE, **EVERY).update(self.decisions, y, late=True)

    def test_late_labels_count_only_as_labels(self):
        y = ["ill", "ill", "well", "ill", "well"]
        at_once = Monitor(CASCADE, **EVERY).update(self.decisions, y)
        late = Monitor(CASCADE, **EVERY).update(self.decisions)
        late = late.update(self.decisions, y, late=True)
        assert counts_of(late) == counts_of(at_once)
        assert (late.n_rows, late.state.n_labelled) == (5, 5)

    @pytest.mark.parametrize(
        "y",
        [
            ["ill", None, "well", float("nan"), None],
            np.array(["ill", None, "well", np.nan, None], dtype=object),
            pd.Series(["ill", None, "well", None, None]),
            pd.Series(["ill", None, "well", None, None], dtype="string"),
            pd.Series(["ill", None, "well", None, None], dtype="category"),
            np.ma.MaskedArray(["ill", "x", "well", "x", "x"], mask=[0, 1, 0, 1, 1]),
        ],
    )
    def test_labels_may_be_missing_in_any_way(self, y):
        monitor = Monitor(CASCADE, min_accuracy=0.8).update(self.decisions, y)
        assert monitor.promises[0].counts == (0, 2)

    def test_numbers_may_be_missing_too(self):
        cascade = make_cascade()
        decisions = cascade.decide(ROWS)
        y = np.where(np.arange(200) < 50, np.nan, decisions.guesses)
        monitor = Monitor(cascade, min_accuracy=0.8).update(decisions, y)
        assert monitor.promises[0].counts == (0, decisions.accepted[50:].sum())

    def test_decisions_that_stopped_at_a_budget_count(self):
        def acquire(names, ids):
            return pd.DataFrame(ROWS, columns=CASCADE.costs.names).loc[list(ids), list(names)]

        decisions = CASCADE.run(range(200), acquire, budget=20)
        monitor = Monitor(CASCADE, max_cost=30).update(decisions)
        assert monitor.promises[0].figure == pytest.approx(decisions.cost.mean())

    def test_figures_are_those_of_an_evaluation(self):
        cascade, table = make_rich_cascade(), make_rich_rows(300)
        y = np.random.default_rng(1).choice(cascade.classes, 300)
        seen = cascade.evaluate(table, y)
        recall = dict(zip(cascade.classes.tolist(), [0.1, 0.1, 0.1], strict=True))
        accuracy = {None: 0.1, **recall}
        limits = {"min_coverage": 0.5, "max_cost": 9, "min_recall": recall}
        monitor = Monitor(cascade, min_accuracy=accuracy, **limits)
        figures = [one.figure for one in monitor.update(cascade.decide(table), y).promises]
        shares = [seen.accuracy, *seen.by_class.precision, seen.coverage, *seen.by_class.recall]
        assert figures == pytest.approx([*shares, seen.cost])


def test_a_monitor_never_changes():
    monitor = Monitor(CASCADE, min_accuracy=0.8)
    later = monitor.update(DECISIONS, TRUTH)
    assert (monitor.n_rows, later.n_rows) == (0, 200)
    assert later.update(CASCADE.decide(ROWS[:0])) is later


def test_the_order_of_rows_within_an_update_does_not_matter():
    order = np.argsort(DECISIONS.guesses == TRUTH)  # all errors first
    some = Monitor(CASCADE, **EVERY).update(DECISIONS, TRUTH)
    other = Monitor(CASCADE, **EVERY).update(CASCADE.decide(ROWS[order]), TRUTH[order])
    assert counts_of(some) == counts_of(other)
    assert some.state == other.state


def test_parts_of_any_size_give_the_same_counts_and_intervals():
    whole, parts = Monitor(CASCADE, **EVERY).update(DECISIONS, TRUTH), Monitor(CASCADE, **EVERY)
    for some in np.array_split(np.arange(200), 23):
        parts = parts.update(CASCADE.decide(ROWS[some]), TRUTH[some])
    assert counts_of(parts) == counts_of(whole)
    assert [one.interval for one in parts.promises] == [one.interval for one in whole.promises]
    assert len(parts.state.looks) == 23


def test_an_alarm_comes_when_labels_turn_wrong():
    monitor = Monitor(CASCADE, min_accuracy=0.8).update(DECISIONS, DECISIONS.guesses)
    assert not monitor.alarm
    wrong = np.where(DECISIONS.guesses == "ill", "well", "ill")
    monitor = monitor.update(DECISIONS, wrong)
    assert monitor.alarm
    assert monitor.promises[0].alarm.row == 400
    assert repr(monitor).startswith("Monitor on 400 rows, 400 with a true label: ALARM\n  accuracy")
    assert "not kept" in monitor._repr_html_()


class TestFiles:
    @pytest.fixture
    def monitor(self):
        watching = Monitor(CASCADE, **EVERY, delta=0.1)
        for some in np.array_split(np.arange(200), 7):
            watching = watching.update(CASCADE.decide(ROWS[some]), TRUTH[some])
        return watching

    def test_a_monitor_comes_back_and_goes_on_as_if_nothing_was(self, monitor, tmp_path):
        monitor.save(tmp_path / "monitor.json")
        loaded = Monitor.load(tmp_path / "monitor.json", CASCADE)
        assert loaded.state == monitor.state
        assert (loaded.limits, loaded.delta) == (monitor.limits, 0.1)
        again = [one.update(DECISIONS, TRUTH).state for one in (loaded, monitor)]
        assert again[0] == again[1]

    def test_an_alarm_comes_back(self, tmp_path):
        monitor = Monitor(CASCADE, min_coverage=0.999, max_cost=1).update(DECISIONS)
        assert monitor.alarm
        monitor.save(tmp_path / "monitor.json")
        assert Monitor.load(tmp_path / "monitor.json", CASCADE).state == monitor.state

    def test_a_kill_while_writing_leaves_the_earlier_state(self, monitor, tmp_path, monkeypatch):
        def die(handle):
            raise KeyboardInterrupt

        path = tmp_path / "monitor.json"
        monitor.save(path)
        before = path.read_bytes()
        monkeypatch.setattr(os, "fsync", die)
        with pytest.raises(KeyboardInterrupt):
            monitor.update(DECISIONS).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_another_cascade_is_refused(self, monitor, tmp_path):
        monitor.save(tmp_path / "one.json")
        with pytest.raises(FileError):
            Monitor.load(tmp_path / "one.json", make_cascade(classes=("ill", "well"), seed=1))

    def test_a_damaged_file_is_refused(self, monitor, tmp_path):
        path = tmp_path / "one.json"
        monitor.save(path)
        path.write_bytes(path.read_bytes().replace(b'"n_rows": 200', b'"n_rows": 300'))
        with pytest.raises(FileError):
            Monitor.load(path, CASCADE)

    @pytest.mark.usefixtures("without_fsync")
    def test_false_values_are_refused_or_do_no_harm(self, tmp_path):
        path, accuracy = tmp_path / "one.json", {None: 0.99, "well": 0.9}
        monitor = Monitor(CASCADE, min_accuracy=accuracy, max_cost=30).update(DECISIONS, TRUTH)
        monitor = replace(monitor, state=monitor.state.remember(Source("a.csv", 200, "x", "y")))
        monitor.save(path)
        assert monitor.alarm
        body = json.loads(path.read_bytes())["body"]
        n_refused = 0
        for i, place in enumerate(paths_of(body)):
            for value in ((None, -1), ("x", [1e300]))[i % 2]:
                path.write_text(document_text("monitor", FORMAT, changed(body, place, value)))
                try:
                    Monitor.load(path, CASCADE).update(DECISIONS, TRUTH)
                except FileError:
                    n_refused += 1
        assert n_refused > 100

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("promises", 0, "counts", 0), 10**400),
            (("promises", 0, "counts"), [150, 150]),
            (("looks", 0, 1, 0, 0), 10**400),
            (("n_labelled",), 201),
        ],
    )
    def test_counts_of_more_rows_than_came_are_refused(self, tmp_path, place, value):
        path = tmp_path / "one.json"
        Monitor(CASCADE, min_accuracy=0.9).update(DECISIONS, TRUTH).save(path)
        body = json.loads(path.read_bytes())["body"]
        path.write_text(document_text("monitor", FORMAT, changed(body, place, value)))
        with pytest.raises(FileError):
            Monitor.load(path, CASCADE)


class TestRefusals:
    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"min_recall": {}},
            {"min_accuracy": 0.0},
            {"min_accuracy": 95},
            {"min_coverage": -0.1},
            {"max_cost": -1},
            {"max_cost": np.nan},
            {"min_recall": 0.9},
            {"min_recall": {"dead": 0.9}},
            {"min_recall": {None: 0.9}},
            {"min_accuracy": {"ill": 2}},
            {"min_accuracy": 0.9, "delta": 0},
            {"min_accuracy": 0.9, "delta": 1},
        ],
    )
    def test_of_promises_are_one_sentence(self, settings):
        with pytest.raises(ParameterError):
            Monitor(CASCADE, **settings)

    def test_of_decisions_are_one_sentence(self):
        monitor = Monitor(CASCADE, min_accuracy=0.9)
        with pytest.raises(ParameterError):
            monitor.update([1, 2])
        with pytest.raises(DataError):
            monitor.update(given([True], [1], [3.5]))
        with pytest.raises(DataError):
            monitor.update(given([True], ["ill"], [7]))


class TestPicture:
    def test_every_promise_has_a_panel_with_its_limit_and_alarm(self):
        monitor = Monitor(CASCADE, min_coverage=0.999, max_cost=30)
        for some in np.array_split(np.arange(200), 8):
            monitor = monitor.update(CASCADE.decide(ROWS[some]))
        figure = monitor.plot()
        assert len(figure.axes) == 2
        words = words_of(figure)
        assert "coverageatleast0.999;alarmatrow" in words
        assert "meancostatmost30" in words

    def test_a_monitor_without_rows_shows_its_limits(self):
        assert "accuracyatleast0.9" in words_of(Monitor(CASCADE, min_accuracy=0.9).plot())

    def test_many_looks_are_thinned_out_and_the_last_is_shown(self):
        monitor, row = Monitor(CASCADE, min_coverage=0.3), CASCADE.decide(ROWS[:1])
        for _ in range(450):
            monitor = monitor.update(row)
        (track,) = monitor.tracks()
        assert len(track.rows) <= 100
        assert track.rows[-1] == 450
        assert (track.low <= track.figure).all()
