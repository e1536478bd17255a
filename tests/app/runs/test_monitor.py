"""Monitors of runs: files are decided in chunks, recognised, and counted as one look."""

from dataclasses import replace

import numpy as np
import pytest
from support.clinic import patients, write_rows
from support.handmade import make_rich_cascade, make_rich_rows

from emsco import DataError, DataWarning, EMSCOError, FileError, Monitor
from emsco.app.files import parquet
from emsco.app.runs.monitor import monitor_file, open_monitor, target_of
from emsco.app.runs.run import CERTIFICATE

LIMITS = {"min_accuracy": 0.5, "min_coverage": 0.3, "max_cost": 50, "min_recall": {1: 0.3}}


@pytest.fixture(scope="module")
def april(tmp_path_factory):
    X, y = patients(120, 9)
    return write_rows(tmp_path_factory.mktemp("april") / "april.csv", X, y)


@pytest.fixture
def monitor(fitted):
    return Monitor(fitted.cascade, **LIMITS)


def counts_of(monitor):
    return [one.counts for one in monitor.promises]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_counts_as_its_rows_do(monitor, tmp_path, ending):
    X, y = patients(120, 9)
    path = write_rows(tmp_path / f"new{ending}", X, y, order=(4, 2, 0, 3, 1))
    report = monitor_file(monitor, path, "sick")
    assert report.state.promises == monitor.update(monitor.cascade.decide(X), y).state.promises
    assert len(report.state.looks) == 1
    assert report.state.sources[0].name == path.name


def test_chunks_of_a_file_are_one_look(monitor, tmp_path, monkeypatch):
    X, y = patients(120, 9)
    path = write_rows(tmp_path / "new.parquet", X, y)
    whole = monitor_file(monitor, path, "sick")
    monkeypatch.setattr(parquet, "_ROWS", 7)
    told = []
    parts = monitor_file(monitor, path, "sick", report=told.append)
    assert parts.state == whole.state
    assert told[:2] == [7, 14]
    assert told[-1] == 120


def test_a_change_in_the_middle_of_a_file_is_found_if_its_rows_are_in_order(fitted, tmp_path):
    X, y = patients(400, 9)
    y[200:] = 1 - y[200:]
    path = write_rows(tmp_path / "year.parquet", X, y)
    monitor = Monitor(fitted.cascade, min_accuracy=0.4)
    assert not monitor_file(monitor, path, "sick").alarm
    in_order = monitor_file(monitor, path, "sick", in_order=True)
    assert in_order.alarm
    assert len(in_order.state.looks) == 4


def test_a_change_of_unit_is_named_at_once_and_without_labels(monitor, tmp_path):
    X, y = patients(120, 9)
    path = write_rows(tmp_path / "usual.csv", X, y)
    monitor_file(monitor, path)  # without a warning
    path = write_rows(tmp_path / "changed.csv", 1_000 * X, y)
    with pytest.warns(DataWarning):
        monitor_file(monitor, path)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_labels_may_be_missing(monitor, tmp_path, ending):
    X, y = patients(60, 9)
    path = write_rows(tmp_path / f"new{ending}", X, None, sick=[None, *y[1:].tolist()])
    partly = np.array([None, *y[1:].tolist()], dtype=object)
    expected = monitor.update(monitor.cascade.decide(X), partly)
    assert counts_of(monitor_file(monitor, path, "sick")) == counts_of(expected)


def test_a_file_without_labels_counts_for_coverage_and_cost(fitted, monitor, april, tmp_path):
    X, _ = patients(60, 9)
    path = write_rows(tmp_path / "new.csv", X)
    assert target_of(fitted, path, None) is None
    assert target_of(fitted, april, None) == "sick"
    report = monitor_file(monitor, path)
    assert [one.n_rows for one in report.promises] == [0, 60, 0, 60]


def test_all_labels_of_a_file_may_be_missing(monitor, tmp_path):
    X, _ = patients(20, 9)
    path = write_rows(tmp_path / "new.csv", X, None, sick=[""] * 20)
    assert monitor_file(monitor, path, "sick").state.n_labelled == 0


class TestRowsGivenTwice:
    def test_are_refused_also_in_another_format_and_order_of_columns(
        self, monitor, april, tmp_path
    ):
        report = monitor_file(monitor, april, "sick")
        X, y = patients(120, 9)
        same = write_rows(tmp_path / "same.parquet", X, y, order=(4, 2, 0, 3, 1))
        with pytest.raises(DataError):
            monitor_file(report, same, "sick")
        assert monitor_file(report, same, "sick", again=True).n_rows == 240

    def test_are_others_if_a_column_differs_that_is_not_bought(self, tmp_path):
        monitor, table = Monitor(make_rich_cascade(), min_coverage=0.1), make_rich_rows(3)
        without = table.drop(columns="smokes")
        tables = [table, table.assign(smokes=~table.smokes), table.assign(smokes=["?", 1, "no"])]
        for i, one in enumerate([*tables, without]):
            one.to_csv(tmp_path / f"{i}.csv", index=False)
            monitor = monitor_file(monitor, tmp_path / f"{i}.csv")
        assert monitor.n_rows == 12
        table.to_parquet(tmp_path / "same.parquet")
        with pytest.raises(DataError, match=r"'0\.csv'"):
            monitor_file(monitor, tmp_path / "same.parquet")

    def test_are_recognised_at_the_beginning_of_a_longer_file(
        self, monitor, april, tmp_path, monkeypatch
    ):
        report = monitor_file(monitor, april, "sick")
        X, y = patients(120, 9)
        more, labels = patients(30, 10)
        both = np.concatenate([X, more]), np.concatenate([y, labels])
        path = write_rows(tmp_path / "grown.parquet", *both)
        for n_rows in (2**17, 50):
            monkeypatch.setattr(parquet, "_ROWS", n_rows)
            with pytest.raises(DataError):
                monitor_file(report, path, "sick")
        new = write_rows(tmp_path / "new.parquet", more, labels)
        assert monitor_file(report, new, "sick").n_rows == 150

    def test_may_come_again_with_late_labels_once(self, monitor, april, tmp_path):
        X, _ = patients(120, 9)
        before = monitor_file(monitor, write_rows(tmp_path / "early.csv", X))
        with pytest.raises(DataError, match=r"'early\.csv'"):
            monitor_file(before, april, "sick")
        after = monitor_file(before, april, "sick", late=True)
        assert counts_of(after) == counts_of(monitor_file(monitor, april, "sick"))
        assert after.n_rows == 120
        with pytest.raises(DataError, match=r"'april\.csv'"):
            monitor_file(after, april, "sick", late=True)

    def test_are_remembered_in_the_file_of_the_monitor(self, monitor, april, tmp_path):
        monitor_file(monitor, april, "sick").save(tmp_path / "monitor.json")
        loaded = Monitor.load(tmp_path / "monitor.json", monitor.cascade)
        with pytest.raises(DataError):
            monitor_file(loaded, april, "sick")


class TestOpening:
    @pytest.fixture
    def state(self, fitted, tmp_path):
        path = tmp_path / "monitor.json"
        Monitor(fitted.cascade, **LIMITS, delta=0.1).save(path)
        return path

    def test_goes_on_with_the_promises_of_the_first_call(self, fitted, state):
        assert open_monitor(fitted, state, {}, None).limits == LIMITS
        assert open_monitor(fitted, state, LIMITS, 0.1).delta == 0.1

    def test_refuses_the_state_of_another_cascade(self, fitted, state):
        number = 1 if fitted.chosen == 0 else 0
        other = replace(fitted, cascade=fitted.front.cascade(number))
        with pytest.raises(FileError):
            open_monitor(other, state, {}, None)

    @pytest.fixture
    def certified(self, fitted, tmp_path):
        """A run with a certificate for the design that it deploys."""
        X, y = patients(300, 12)
        limits = {"min_accuracy": 0.6, "min_recall": {1: 0.3}, "max_cost": 50}
        certificate = fitted.front.certify(X, y, **limits, delta=0.1, order=fitted.chosen)
        certificate.save(tmp_path / CERTIFICATE)
        return replace(fitted, folder=tmp_path)

    def test_takes_the_promises_of_a_certificate(self, certified, tmp_path):
        monitor = open_monitor(certified, tmp_path / "none.json", {}, None)
        expected = {"min_accuracy": 0.6, "min_recall": {1: 0.3}, "max_cost": 50}
        assert (monitor.limits, monitor.delta) == (expected, 0.1)
        assert open_monitor(certified, tmp_path / "none.json", {}, 0.2).delta == 0.2
        with_limits = open_monitor(certified, tmp_path / "none.json", {"min_coverage": 0.5}, None)
        assert (with_limits.limits, with_limits.delta) == ({"min_coverage": 0.5}, 0.05)

    def test_refuses_a_certificate_of_another_cascade_or_a_damaged_one(self, certified, tmp_path):
        other = certified.front.cascade(1 if certified.chosen == 0 else 0)
        with pytest.raises(EMSCOError):
            open_monitor(replace(certified, cascade=other), tmp_path / "none.json", {}, None)
        (tmp_path / CERTIFICATE).write_text("[]")
        with pytest.raises(FileError):
            open_monitor(certified, tmp_path / "none.json", {}, None)
