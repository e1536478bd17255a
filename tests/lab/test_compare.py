"""Comparisons on your own data."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.contests import FirstColumns, small_set

from emsco.errors import DataError, ParameterError
from emsco.lab import contests
from emsco.lab import rivals as baselines
from emsco.lab.answering import LabelledRows
from emsco.lab.compare import compare_methods, try_job
from emsco.lab.contest_words import summary_of
from emsco.lab.contests import ContestJob, CostedRows, Effort

TINY = Effort(2, 2)


@pytest.fixture(scope="module")
def data():
    made = small_set()
    return CostedRows(LabelledRows(made.X, made.y), made.costs)


@pytest.fixture
def rivals(monkeypatch):
    """Rivals of few lines, one of which fails."""
    for name, rival in (("First", FirstColumns), ("Broken", Broken)):
        monkeypatch.setattr(baselines, name, rival, raising=False)
    monkeypatch.setitem(contests.RIVALS, "cstc", ("First", "First"))
    monkeypatch.setitem(contests.RIVALS, "astc", ("Broken", "Broken"))


class Broken(FirstColumns):
    def _fit(self, rows, labels, weights):  # noqa: ARG002
        raise ZeroDivisionError("nothing to divide by")


def test_every_method_answers_on_every_split(data, rivals):
    found = compare_methods(data, "own", ("cstc", "cost_ordered"), 2, TINY, n_jobs=1)
    assert (found.name, found.methods, found.splits) == ("own", ("cstc", "cost_ordered"), (0, 1))
    assert (found.n_rows, found.total_cost, found.error_cost) == ((120, 40), 12.0, 12.0)
    assert found.complete
    assert set(found.commonest) == {0, 1}


def test_given_test_rows_make_one_split(data, rivals):
    given = replace(data, test=np.arange(140, 160))
    found = compare_methods(given, methods=("cstc",), splits=3, effort=TINY, n_jobs=1)
    assert (found.splits, found.n_rows) == ((0,), (140, 20))


def test_a_method_that_fails_is_left_out_with_the_reason(data, rivals):
    found = compare_methods(data, methods=("astc", "cstc"), splits=1, effort=TINY, n_jobs=1)
    assert found.methods == ("cstc",)
    why = "it failed with ZeroDivisionError: nothing to divide by."
    assert summary_of(found)[-1] == f"Broken was left out: {why}"


def test_a_method_that_failed_is_asked_again(data, rivals, tmp_path, monkeypatch):
    some = {"methods": ("astc", "cstc"), "splits": 1, "effort": TINY}
    compare_methods(data, folder=tmp_path, n_jobs=1, **some)
    monkeypatch.setitem(contests.RIVALS, "astc", contests.RIVALS["cstc"])
    assert compare_methods(data, folder=tmp_path, n_jobs=1, **some).methods == ("astc", "cstc")


def test_a_folder_keeps_results_for_more_splits_later(data, rivals, tmp_path, monkeypatch):
    some = {"methods": ("cstc",), "effort": TINY, "folder": tmp_path, "n_jobs": 1}
    told = []
    compare_methods(data, "own", splits=1, report=lambda *one: told.append(one), **some)
    compare_methods(data, "own", splits=2, report=lambda *one: told.append(one), **some)
    assert told == [
        (1, 1, "split 0 First"),
        (1, 2, "split 0 First (known)"),
        (2, 2, "split 1 First"),
    ]


def test_other_data_share_no_results(data, rivals, tmp_path):
    some = {"methods": ("cstc",), "splits": 1, "effort": TINY, "folder": tmp_path, "n_jobs": 1}
    compare_methods(data, **some)
    compare_methods(replace(data, rows=replace(data.rows, y=1 - data.rows.y)), **some)
    assert len(list(tmp_path.iterdir())) == 2


def test_jobs_can_be_sent_to_other_processes(data):
    job = ContestJob("own", 0, "cost_ordered", 0, 2, 2)
    sent = pickle.loads(pickle.dumps(partial(try_job, data=data)))
    here, there = try_job(job, data), sent(job)
    assert there["offers"] == here["offers"]


def test_whole_weights_count_as_repeated_test_rows(data, rivals):
    weights = np.where(np.arange(160) < 140, 1, 3)
    heavy = replace(data, rows=replace(data.rows, weights=weights.astype(float)))
    many = CostedRows(
        LabelledRows(np.repeat(data.rows.X, weights, axis=0), np.repeat(data.rows.y, weights)),
        data.costs,
    )
    some = {"methods": ("cstc",), "effort": TINY, "n_jobs": 1}
    one = compare_methods(replace(heavy, test=np.arange(140, 160)), **some)
    two = compare_methods(replace(many, test=np.arange(140, 200)), **some)
    ours, theirs = (found.answers["cstc"][0].offers for found in (one, two))
    for a, b in zip(ours, theirs, strict=True):
        assert a.seen.accuracy == pytest.approx(b.seen.accuracy)
        assert a.seen.log_loss == pytest.approx(b.seen.log_loss, rel=1e-6)
    assert one.n_effective == pytest.approx(20)


@pytest.mark.parametrize(
    ("zero", "says"),
    [
        (slice(140, 160), "weights must be above 0 for some test row, got none"),
        (
            slice(0, 140),
            "weights must be above 0 for some fitted row of every class, got none of 0",
        ),
    ],
)
def test_weights_that_leave_nothing_to_learn_or_to_test_are_refused(data, zero, says):
    weights = np.ones(160)
    weights[zero] = 0
    given = CostedRows(replace(data.rows, weights=weights), data.costs, np.arange(140, 160))
    with pytest.raises(DataError, match=says):
        compare_methods(given)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (None, "^DATA must have 10 rows or more of every class, got 9 of 1.$"),
        (np.arange(5), "^the rows to fit on must have 5 or more of every class, got 4 of 1.$"),
    ],
)
def test_a_class_of_too_few_rows_is_refused(data, test, says):
    y = np.arange(160) < 9
    given = CostedRows(replace(data.rows, y=y.astype(int)), data.costs, test)
    with pytest.raises(DataError, match=says):
        compare_methods(given, begin=lambda _: pytest.fail("work began"))


def test_false_settings_are_refused_before_any_work(data):
    with pytest.raises(ParameterError, match=r"methods must be one of .*got 'svm'"):
        compare_methods(data, methods=("svm",))
    with pytest.raises(ParameterError, match=r"methods must name one method or more, got none"):
        compare_methods(data, methods=())
    with pytest.raises(ParameterError, match=r"seed must be .*4294966.*got 4294967"):
        compare_methods(data, seed=4_294_967)
    with pytest.raises(ParameterError, match=r"splits must be .*got 0"):
        compare_methods(data, splits=0)
    with pytest.raises(ParameterError, match=r"error_cost must be .*got -1"):
        compare_methods(data, error_cost=-1)
    with pytest.raises(ParameterError, match=r"reject_cost must be .*got inf"):
        compare_methods(data, reject_cost=float("inf"))
