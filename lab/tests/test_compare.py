"""Comparisons on your own data: jobs, standings, duels and promises."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from emsco_lab import methods, rivals
from emsco_lab.compare import (
    EVERYONE,
    MOST,
    TASKS,
    TESTED,
    TrialJob,
    TuningEffort,
    compare_methods,
    run_trials,
    try_job,
)
from emsco_lab.compare_report import ComparisonReport
from emsco_lab.jobs import ResultStore
from emsco_lab.methods import answer_with_rival, label_of
from emsco_lab.trials import QUESTIONS, Answers, CostedRows, LabelledRows
from scipy import stats
from support.comparisons import (
    NOISE,
    FirstColumns,
    made_answers,
    made_comparison,
    over_splits,
    small_set,
    two_methods,
)

from emsco._base.documents import Fields
from emsco.costs import FeatureCosts
from emsco.errors import DataError, ParameterError
from emsco.stats.error_costs import ErrorCosts
from emsco.stats.tests import holm

TINY = TuningEffort(2, 2)


@pytest.fixture(scope="module")
def data():
    made = small_set()
    return CostedRows(LabelledRows(made.X, made.y), made.costs)


@pytest.fixture
def made_rivals(monkeypatch):
    """Rivals of few lines, one of which fails."""
    for name, rival in (("First", FirstColumns), ("Broken", Broken)):
        monkeypatch.setattr(rivals, name, rival, raising=False)
    monkeypatch.setitem(methods.RIVALS, "cstc", ("First", "First"))
    monkeypatch.setitem(methods.RIVALS, "astc", ("Broken", "Broken"))


class Broken(FirstColumns):
    def _fit(self, rows, labels, weights):  # noqa: ARG002
        raise ZeroDivisionError("nothing to divide by")


def test_every_method_answers_on_every_split(data, made_rivals):
    comparison = compare_methods(data, "own", ("cstc", "cost_ordered"), 2, TINY, n_jobs=1)
    assert (comparison.name, comparison.methods, comparison.splits) == (
        "own",
        ("cstc", "cost_ordered"),
        (0, 1),
    )
    assert (comparison.n_rows, comparison.total_cost) == ((120, 40), 12.0)
    assert str(comparison.error_costs) == "12 for an error and 0 for a rejection"
    assert comparison.complete
    assert set(comparison.baselines) == {0, 1}


def test_given_test_rows_make_one_split(data, made_rivals):
    given = replace(data, test=np.arange(140, 160))
    comparison = compare_methods(given, methods=("cstc",), splits=3, effort=TINY, n_jobs=1)
    assert (comparison.splits, comparison.n_rows) == ((0,), (140, 20))


def test_a_method_that_fails_is_left_out_with_the_reason(data, made_rivals):
    comparison = compare_methods(data, methods=("astc", "cstc"), splits=1, effort=TINY, n_jobs=1)
    assert comparison.methods == ("cstc",)
    why = "it failed with ZeroDivisionError: nothing to divide by."
    assert ComparisonReport(comparison).summary()[-1] == f"Broken was left out: {why}"


def test_a_method_that_failed_is_asked_again(data, made_rivals, tmp_path, monkeypatch):
    some = {"methods": ("astc", "cstc"), "splits": 1, "effort": TINY}
    compare_methods(data, folder=tmp_path, n_jobs=1, **some)
    monkeypatch.setitem(methods.RIVALS, "astc", methods.RIVALS["cstc"])
    assert compare_methods(data, folder=tmp_path, n_jobs=1, **some).methods == ("astc", "cstc")


def test_a_folder_keeps_results_for_more_splits_later(data, made_rivals, tmp_path, monkeypatch):
    some = {"methods": ("cstc",), "effort": TINY, "folder": tmp_path, "n_jobs": 1}
    told = []
    compare_methods(data, "own", splits=1, report=lambda *one: told.append(one), **some)
    compare_methods(data, "own", splits=2, report=lambda *one: told.append(one), **some)
    assert told == [
        (1, 1, "split 0 First"),
        (1, 2, "split 0 First (known)"),
        (2, 2, "split 1 First"),
    ]


def test_other_data_share_no_results(data, made_rivals, tmp_path):
    some = {"methods": ("cstc",), "splits": 1, "effort": TINY, "folder": tmp_path, "n_jobs": 1}
    compare_methods(data, **some)
    compare_methods(replace(data, rows=replace(data.rows, y=1 - data.rows.y)), **some)
    assert len(list(tmp_path.iterdir())) == 2


def test_jobs_can_be_sent_to_other_processes(data):
    job = TrialJob("own", 0, "cost_ordered", 0, 2, 2)
    sent = pickle.loads(pickle.dumps(partial(try_job, data=data)))
    here, there = try_job(job, data), sent(job)
    assert there["offers"] == here["offers"]


def test_whole_weights_count_as_repeated_test_rows(data, made_rivals):
    weights = np.where(np.arange(160) < 140, 1, 3)
    heavy = replace(data, rows=replace(data.rows, weights=weights.astype(float)))
    many = CostedRows(
        LabelledRows(np.repeat(data.rows.X, weights, axis=0), np.repeat(data.rows.y, weights)),
        data.costs,
    )
    some = {"methods": ("cstc",), "effort": TINY, "n_jobs": 1}
    one = compare_methods(replace(heavy, test=np.arange(140, 160)), **some)
    two = compare_methods(replace(many, test=np.arange(140, 200)), **some)
    ours, theirs = (comparison.answers["cstc"][0].offers for comparison in (one, two))
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
    with pytest.raises(ParameterError, match=r"error_cost must be .*2 lines of 2 numbers.*, got"):
        compare_methods(data, error_cost=[[0, 5]])


def test_errors_about_each_class_may_have_a_price(data, made_rivals):
    prices = {"error_cost": {0: 900, 1: 5}, "reject_cost": 3}
    comparison = compare_methods(data, "own", ("cstc",), 1, TINY, n_jobs=1, **prices)
    answer = comparison.answers["cstc"][0].offers[0].seen
    by_class = answer.cost + 900 * answer.wrong[0] + 5 * answer.wrong[1]
    total = by_class + 3 * (1 - answer.coverage)
    assert answer.money(comparison.error_costs) == pytest.approx(total)
    assert sum(answer.wrong) == pytest.approx(answer.coverage * (1 - answer.accuracy))
    plain = ComparisonReport(comparison).to_dict()
    assert (plain["error_cost"], plain["reject_cost"]) == ({"0": 900, "1": 5}, 3)


def test_costs_of_errors_may_be_a_matrix(data, made_rivals):
    prices = {"error_cost": [[0, 90], [20, 1]], "reject_cost": 9}  # a correct 1 has a cost too
    comparison = compare_methods(data, "own", ("cstc",), 1, TINY, n_jobs=1, **prices)
    _, share = comparison.baselines[0].class_shares
    for offer in comparison.answers["cstc"][0].offers:
        seen = offer.seen
        correct = share - seen.wrong[1] - seen.rejected[1]
        losses = 90 * seen.wrong[0] + 20 * seen.wrong[1] + correct + 9 * sum(seen.rejected)
        assert seen.money(comparison.error_costs) == pytest.approx(seen.cost + losses)
    plain = ComparisonReport(comparison).to_dict()
    assert plain["error_cost"] == {"0": {"0": 0, "1": 90}, "1": {"0": 20, "1": 1}}


def test_recall_adds_up_to_the_share_of_correct_labels(data, made_rivals):
    comparison = compare_methods(data, "own", ("cstc",), 2, TINY, n_jobs=1)
    shares = np.array([comparison.baselines[split].class_shares for split in (0, 1)])
    for standing in comparison.standings.values():
        correct = (comparison.recall(standing) * shares).sum(axis=1)
        assert correct == pytest.approx(standing.by_split[:, 0] * standing.accuracy)
    assert sorted(comparison.recall(comparison.commonest)[0]) == [0, 1]


def test_methods_are_ranked_by_the_lowest_total_if_errors_have_a_price(data, made_rivals):
    prices = {"error_cost": {0: 90, 1: 20}, "reject_cost": 9}
    comparison = compare_methods(data, "own", ("cstc", "astc"), 2, TINY, n_jobs=1, **prices)
    assert list(comparison.lowest_totals) == ["cstc"]
    offers = [answers.offers for answers in comparison.answers["cstc"].values()]
    assert {len(some) for some in offers} == {len(QUESTIONS) + 1}
    assert len(comparison.standings) == len(QUESTIONS)  # the last is of its own
    totals = [some[-1].seen.money(comparison.error_costs) for some in offers]
    (plain,) = ComparisonReport(comparison).to_dict()["totals"]
    assert plain["by_split"] == pytest.approx(totals)
    assert not compare_methods(data, "own", ("cstc",), 1, TINY, n_jobs=1).lowest_totals


@pytest.fixture
def first_columns(monkeypatch):
    monkeypatch.setattr(rivals, "FirstColumns", FirstColumns, raising=False)
    monkeypatch.setitem(methods.RIVALS, "cstc", ("FirstColumns", "First"))


def test_a_job_is_done_by_name_and_its_result_can_be_read(data, first_columns):
    job, trial = TrialJob("small", 0, "cstc", 0, 5, 1), data.trial(0, 0)
    offers = answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5)
    answers = Answers.from_dict(Fields(json.loads(json.dumps(try_job(job, data))), "here"))
    assert answers.offers == tuple(offers)
    assert answers.seconds > 0
    assert job.title == "small split 0 First"
    assert label_of("emsco") == "EMSCO"


class OfTwo(FirstColumns):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@pytest.mark.parametrize("n_features", [40, 41])
def test_a_rival_that_would_take_hours_says_so(n_features, monkeypatch):
    monkeypatch.setattr(rivals, "FirstColumns", FirstColumns, raising=False)
    monkeypatch.setitem(methods.RIVALS, "aaco", ("FirstColumns", "AACO"))
    rows = np.random.default_rng(0).normal(size=(40, n_features))
    costs = FeatureCosts.from_array(np.ones(n_features))
    wide = CostedRows(LabelledRows(rows, np.arange(40) % 2), costs)
    answers = try_job(TrialJob("wide", 0, "aaco", 0, 1, 1), wide)
    told = "data must have at most 40 features for AACO, got 41; it would take hours."
    assert (bool(answers["offers"]), answers["note"]) == ((True, ""), (False, told))[
        n_features - 40
    ]


def test_a_method_that_refuses_the_data_says_why(data, monkeypatch):
    monkeypatch.setattr(rivals, "OfTwo", OfTwo, raising=False)
    monkeypatch.setitem(methods.RIVALS, "cstc", ("OfTwo", "Two"))
    three = replace(data, rows=replace(data.rows, y=np.arange(160) % 3))
    answers = try_job(TrialJob("three", 0, "cstc", 0, 2, 1), three)
    assert not answers["offers"]
    assert answers["note"].startswith("Only binary classification")


def test_a_comparison_goes_on_where_it_was(tmp_path):
    jobs = [TrialJob("made", split, "cstc", 0, 1, 1) for split in range(3)]
    store = ResultStore(tmp_path)
    answers, complete = run_trials(jobs[:2], lambda _: made_answers(0.8).to_dict(), store)
    assert (len(answers), complete) == (2, True)
    more, _ = run_trials(jobs, lambda _: made_answers(0.7).to_dict(), store)
    assert [more[job].offers[0].seen.accuracy for job in jobs] == [0.8, 0.8, 0.7]


@pytest.fixture
def level():
    return two_methods(0.8, 0.8)


def test_means_and_margins_are_over_splits(level):
    one = level.standing("emsco", 1.0, 0.05)
    assert one.mean.accuracy == pytest.approx(0.8 + NOISE.mean())
    error = NOISE.std(ddof=1) * np.sqrt(1 / 10 + 1 / 3)
    assert one.margin.accuracy == pytest.approx(stats.t.ppf(0.975, 9) * error)
    assert one.by_split[:, 2] == pytest.approx(0.025)
    prices = ErrorCosts.from_parameters(10.0, 0.0)
    assert one.money(prices) == pytest.approx(0.25 + 10 * (1 - one.accuracy))


def test_overruns_count_only_where_limits_are_broken():
    answers = {0: made_answers(0.8, cost=0.5), 1: made_answers(0.8, cost=1.5, coverage=0.9)}
    one = made_comparison({"emsco": answers}).standing("emsco", 0.9, 0.2)
    assert one.overspent == pytest.approx(0.1 / 2)
    assert one.short == pytest.approx(0.09 / 2)


def test_p_values_are_corrected_over_rivals_and_budgets():
    comparison = made_comparison(
        {
            "emsco": over_splits(0.82),
            "cstc": over_splits(0.81, NOISE[::-1]),
            "astc": over_splits(0.8, -NOISE),
        },
        n_test=10_000,
    )
    raw = []
    for rival in ("cstc", "astc"):
        for question in EVERYONE.questions:
            mine, their = (comparison.standings[one, question].accuracy for one in ("emsco", rival))
            t = stats.ttest_rel(mine, their).statistic / np.sqrt(1 + 10 / 3)
            raw.append(2 * stats.t.sf(abs(t), 9))
    duels = comparison.duels[EVERYONE.key]
    assert [duel.p_value for duel in duels] == pytest.approx(holm(raw).tolist())
    assert [duel.budget for duel in duels] == [*TESTED, *TESTED]


@pytest.mark.parametrize(
    ("emsco", "cstc", "verdict"), [(0.9, 0.8, "ahead"), (0.8, 0.8, "level"), (0.7, 0.8, "behind")]
)
def test_a_verdict_needs_a_lead_beyond_chance(emsco, cstc, verdict):
    comparison = two_methods(emsco, cstc)
    assert {duel.verdict for task in TASKS for duel in comparison.duels[task.key]} == {verdict}
    assert [duel.verdict for duel in comparison.duels["volume"]] == [verdict]


@pytest.mark.parametrize("n_splits", [1, 3])
def test_a_row_more_on_a_few_splits_may_be_chance(n_splits):
    answers = {
        "emsco": over_splits(0.81, np.zeros(n_splits)),
        "cstc": over_splits(0.80, np.zeros(n_splits)),
    }
    duels = made_comparison(answers).duels[EVERYONE.key]
    assert [duel.gain for duel in duels] == pytest.approx([0.01] * 5)
    assert {duel.verdict for duel in duels} == {"level"}


def test_equal_methods_share_ranks():
    answers = {
        "emsco": over_splits(0.9),
        "cstc": over_splits(0.8),
        "astc": over_splits(0.8),
        "cost_ordered": over_splits(0.7),
    }
    ranks = made_comparison(answers).ranks[MOST.key]
    assert list(ranks) == [f"{budget:g}" for budget in TESTED]
    assert set(map(tuple, (cell.items() for cell in ranks.values()))) == {
        (("emsco", 1.0), ("cstc", 2.5), ("astc", 2.5), ("cost_ordered", 4.0))
    }


def test_the_hypervolume_is_that_of_what_test_rows_saw():
    one = made_answers(0.8)
    both = [offer for offer in one.offers if offer.question.budget == 0.4][::5]
    comparison = made_comparison({"emsco": {0: replace(one, offers=tuple(both))}})
    assert [offer.question.coverage for offer in both] == [1.0, 0.5]
    assert comparison.volumes["emsco"] == pytest.approx(1.0 * 0.8 * 0.8)


def test_promises_are_compared_with_what_was_kept():
    comparison = made_comparison({"emsco": over_splits(0.8, promised=0.85)})
    promise = comparison.promises["emsco"]
    assert promise.gap == pytest.approx(0.05 - NOISE.mean())
    assert promise.in_errors == pytest.approx(
        promise.gap / (NOISE.std(ddof=1) * np.sqrt(1 / 10 + 1 / 3))
    )
    alone = made_comparison({"emsco": {0: made_answers(0.8, promised=0.85)}})
    assert alone.promises["emsco"].in_errors is None
