"""Findings of a bake-off over sets, from answers made by hand."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial

import bakeoff
import numpy as np
import pytest
from bakeoff import League, Plan, reports_of
from support.comparisons import FirstColumns, made_answers, made_comparison, small_set

from emsco_lab import ComparisonReport, TuningEffort, datasets, methods, rivals
from emsco_lab.jobs import ResultStore
from emsco_lab.trials import Answers

NOISE = (0.0, 0.004, -0.004, 0.002, -0.002, 0.001)


def report(n_test=100, **accuracies):
    answers = {
        method: {i: made_answers(accuracy + e * (-1) ** k) for i, e in enumerate(NOISE)}
        for k, (method, accuracy) in enumerate(accuracies.items())
    }
    return ComparisonReport(made_comparison(answers, n_test))


@pytest.fixture
def league():
    return League(
        {
            "easy": report(emsco=0.9, cstc=0.7, astc=0.6),
            "large": report(400, emsco=0.7, cstc=0.9),
        }
    )


def test_ranks_are_averaged_over_the_cells_that_a_method_is_in(league):
    assert league.ranks() == {"emsco": 1.5, "cstc": 1.5, "astc": 3.0}
    assert league.ranks("volume") == league.ranks("everyone")


def test_ranks_of_large_sets_stand_beside_those_of_all(league):
    assert league.ranks(sets=league.large) == {"cstc": 1.0, "emsco": 2.0}
    assert "| CSTC | 1.50 | 1.50 | 1.50 | 1.50 | 1.00 | 2.00 | 2 |" in league.to_markdown()


def test_ranks_may_leave_out_cells_in_which_nobody_beats_the_commonest_class(league):
    assert league.idle == set()
    commonest = league.reports["easy"].comparison.commonest.mean.accuracy
    below = report(emsco=commonest - 0.01, cstc=commonest - 0.1)
    level = League({**league.reports, "level": below})
    assert {name for name, _, _ in level.idle} == {"level"}
    assert len(level.idle) == 10  # five budgets of two tasks
    assert level.ranks("everyone", ["level"]) == {"emsco": 1.0, "cstc": 2.0}
    assert level.ranks("everyone", ["level"], bought=True) == {}
    assert "In 10 cells no method beats the commonest class." in level.to_markdown()


def test_wins_and_losses_are_counted_by_rival_task_and_size(league):
    plain = league.to_dict()["duels"]
    assert plain["all"]["cstc"]["everyone"] == {"ahead": 5, "level": 0, "behind": 5}
    assert plain["all"]["astc"]["volume"] == {"ahead": 1, "level": 0, "behind": 0}
    assert plain["large"]["cstc"]["everyone"] == {"ahead": 0, "level": 0, "behind": 5}


def test_the_best_rival_of_a_cell_is_the_one_with_the_highest_mean_there(league):
    assert {duel.rival for duel in league.hardest()} == {"cstc"}
    assert league.to_dict()["hardest"]["all"]["volume"] == {"ahead": 1, "level": 0, "behind": 1}
    assert "| the best rival | 5 / 0 / 5 | 5 / 0 / 5 | 1 / 0 / 1 | 11 / 0 / 11 |" in (
        league.to_markdown()
    )


def test_wins_over_weak_rivals_and_cells_with_a_better_mean_are_told(league):
    weak = League({"easy": report(emsco=0.9, cstc=0.7, astc=0.5)})
    assert "Of 20 wins at budgets, 10 are over a rival no more accurate than" in weak.to_markdown()
    assert {duel.rival for duel in weak.weak_wins()} == {"astc"}
    assert "In 10 of 20 cells at budgets, some rival has a higher mean" in league.to_markdown()


def test_promises_too_high_and_too_low_do_not_cancel_in_their_distance():
    def promising(promised):
        kept = (0.804, 0.796, 0.802, 0.798)
        answers = {i: made_answers(one, promised=promised) for i, one in enumerate(kept)}
        return ComparisonReport(made_comparison({"emsco": answers}))

    promise = League({"high": promising(0.9), "low": promising(0.7)}).promise("emsco")
    assert promise["in_errors"] == pytest.approx(0, abs=1e-6)
    assert promise["distance"] > 10


def test_the_tables_and_values_cover_every_set(league):
    text = league.to_markdown()
    assert "2 sets, 6 splits of each" in text
    assert "| CSTC | 5 / 0 / 5 | 5 / 0 / 5 | 1 / 0 / 1 | 11 / 0 / 11 |" in text
    assert "| easy | 2 / 0 / 0 |" in text
    assert "## Methods on made up: 6 splits" in text
    assert list(json.loads(json.dumps(league.to_dict(), allow_nan=False))["sets"]) == [
        "easy",
        "large",
    ]


def branching(answers):
    """The same answers, by designs that branch."""
    return replace(
        answers, offers=tuple(replace(one, setting="a → {b | c}") for one in answers.offers)
    )


def test_chains_alone_have_a_table_and_no_rank(league):
    branched = {split: branching(made_answers(0.8 + 0.001 * split)) for split in range(5)}
    branched[5] = made_answers(0.8)
    tree = ComparisonReport(made_comparison({"emsco": branched, "cstc": branched}))
    chains = {"tree": {split: made_answers(0.75 + 0.001 * split) for split in range(4)}}
    trees = League({**league.reports, "tree": tree}, chains)
    text = trees.to_markdown()
    assert "| easy | 6 | no design branches |" in text
    # The fifth has no chains yet, and the sixth has no branches.
    assert "| tree | 5 | 5 | 80.1 / 76.1 (+4.00 ± " in text
    assert "| tree | 0 | 5, chains not run yet |" in League({"tree": tree}).to_markdown()
    assert "chains" not in " ".join(trees.ranks())
    assert trees.to_dict()["chains"]["tree"]["splits"] == [0, 1, 2, 3, 5]
    assert "| compared | 6 | 6 | 6 |" in text


def test_chains_run_only_where_emsco_branches_or_has_no_result(tmp_path):
    plan = Plan(("heart",), ("emsco", "emsco_chains"), 0, 3, 0, TuningEffort(1, 1))
    first, second, _ = plan.jobs()
    store = ResultStore(tmp_path)
    store.keep(first, made_answers(0.8).to_dict())
    store.keep(second, branching(made_answers(0.8)).to_dict())
    chains = plan.chain_jobs(store)
    assert {job.method for job in chains} == {"emsco_chains"}
    assert [job.split for job in chains] == [1, 2]


def test_jobs_go_split_by_split():
    plan = Plan(("heart", "pima"), ("emsco", "cstc"), 3, 2, 0, TuningEffort(1, 1))
    order = [(job.split, job.data, job.method) for job in plan.jobs()]
    assert order == sorted(order, key=lambda one: one[0])
    assert order[:3] == [(3, "heart", "emsco"), (3, "heart", "cstc"), (3, "pima", "emsco")]


def test_a_set_that_cannot_be_loaded_is_refused(monkeypatch, tmp_path, capsys):
    words = ["bakeoff", "--out", str(tmp_path), "--sets", "synthetic15:7,hart"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match="2"):
        bakeoff.main()
    assert "--sets must be some of heart, " in (told := capsys.readouterr().err)
    assert "got 'hart'" in told


def test_fresh_rows_test_what_all_rows_of_a_draw_have_fitted():
    bakeoff.costed_rows.cache_clear()
    draw, other = (bakeoff.costed_rows(f"regions:{seed}:4000") for seed in (1, 2))
    bakeoff.costed_rows.cache_clear()
    trial = draw.trial(0, 0)
    assert (len(trial.fitted.y), len(trial.test.y)) == (3000, 6000)
    assert np.array_equal(trial.fitted.X, datasets.load("regions", 1).X)
    assert np.array_equal(trial.test.X, other.trial(3, 0).test.X)


def test_a_set_without_answers_has_no_report(monkeypatch):
    monkeypatch.setattr(datasets, "load", small_set)
    (job,) = Plan(("pima",), ("cstc",), 0, 1, 0, TuningEffort(1, 1)).jobs()
    bakeoff.costed_rows.cache_clear()
    assert reports_of({job: Answers((), "no.", 0.1)}, ("pima",), ("cstc",)) == {}
    bakeoff.costed_rows.cache_clear()


def test_a_bake_off_runs_reports_and_continues(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(datasets, "load", small_set)
    monkeypatch.setattr(rivals, "First", FirstColumns, raising=False)
    monkeypatch.setitem(methods.RIVALS, "cstc", ("First", "First"))
    monkeypatch.setattr(bakeoff, "FULL", TuningEffort(6, 30))
    bakeoff.costed_rows.cache_clear()
    words = ["bakeoff", "--out", str(tmp_path), "--sets", "pima", "--methods", "cstc,cost_ordered"]
    monkeypatch.setattr(sys, "argv", [*words, "--jobs", "1", "--splits", "1"])
    bakeoff.main()
    first = capsys.readouterr().out
    assert "## Mean ranks" in first
    assert {path.name for path in tmp_path.iterdir()} == {
        *("bakeoff.md", "bakeoff.json", "pima.png", "pima.svg", "results")
    }
    monkeypatch.setattr(bakeoff, "run_trials", partial(pytest.fail, "it runs nothing"))
    monkeypatch.setattr(sys, "argv", [*words, "--known"])
    bakeoff.main()
    assert capsys.readouterr().out == first
    bakeoff.costed_rows.cache_clear()
