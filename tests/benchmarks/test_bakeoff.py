"""Findings of a bake-off over sets, from answers made by hand."""

from __future__ import annotations

import sys
from dataclasses import replace

import bakeoff
import numpy as np
import pytest
from emsco_lab.jobs import ResultStore
from support.comparisons import FirstColumns, made_answers, made_comparison, small_set

from emsco_lab import TuningEffort, datasets, methods, rivals
from emsco_lab.compare import TrialJob

NOISE = (0.0, 0.004, -0.004, 0.002, -0.002, 0.001)


def comparison(n_test=100, **accuracies):
    answers = {
        method: {i: made_answers(accuracy + e * (-1) ** k) for i, e in enumerate(NOISE)}
        for k, (method, accuracy) in enumerate(accuracies.items())
    }
    return made_comparison(answers, n_test)


@pytest.fixture
def comparisons():
    return {
        "easy": comparison(emsco=0.9, cstc=0.7, astc=0.5),
        "large": comparison(400, emsco=0.7, cstc=0.9),
    }


def test_ranks_are_means_over_the_cells_that_a_method_is_in(comparisons):
    table = bakeoff.rank_table(bakeoff.cells_of(comparisons))
    assert table["all"].to_dict() == {"EMSCO": 1.5, "CSTC": 1.5, "ASTC": 3.0}
    assert table["1,000 rows or more"].dropna().to_dict() == {"EMSCO": 2.0, "CSTC": 1.0}
    assert table["sets"].to_dict() == {"EMSCO": 2, "CSTC": 2, "ASTC": 1}


def test_ranks_may_leave_out_cells_in_which_nobody_beats_the_commonest_class(comparisons):
    below = {"below": comparison(emsco=0.5, cstc=0.4)}
    (ranks,) = (
        bakeoff.rank_table(bakeoff.cells_of(below))[["all", bakeoff.BOUGHT]]
        .loc[["CSTC"]]
        .to_numpy()
    )
    assert ranks.tolist() == [2.0, 2.0]  # its hypervolume counts
    cells = bakeoff.cells_of({**comparisons, **below})
    assert set(cells[cells.idle]["set"]) == {"below"}


def test_wins_and_losses_are_counted_by_rival_and_the_best_rival_of_a_cell_is_known(comparisons):
    cells = bakeoff.cells_of(comparisons)
    duels = cells[cells.verdict != ""]
    table = bakeoff.duel_table(duels)
    assert table["all"].to_dict() == {
        "CSTC": "11 / 0 / 11",
        "ASTC": "11 / 0 / 0",
        "all rivals": "22 / 0 / 11",
        "the best rival": "11 / 0 / 11",
    }
    assert table["All offers together"]["CSTC"] == "1 / 0 / 1"
    assert bakeoff.set_table(duels).loc["easy", "everyone 5 %"] == "2 / 0 / 0"
    assert "Of 20 wins at budgets, 10 are over a rival no more" in bakeoff.caveat(duels)
    assert "In 10 of 20 cells at budgets, some rival has a higher mean" in bakeoff.caveat(duels)


def test_promises_too_high_and_too_low_do_not_cancel_in_their_distance():
    def promising(promised):
        kept = (0.804, 0.796, 0.802, 0.798)
        answers = {i: made_answers(one, promised=promised) for i, one in enumerate(kept)}
        return made_comparison({"emsco": answers})

    table = bakeoff.promise_table({"high": promising(0.9), "low": promising(0.7)})
    assert table.loc["EMSCO", "in standard errors"] == pytest.approx(0, abs=1e-6)
    assert table.loc["EMSCO", "their distance from 0"] > 10


def branching(answers):
    """The same answers, by designs that branch."""
    offers = tuple(replace(one, setting="a → {b | c}") for one in answers.offers)
    return replace(answers, offers=offers)


def test_chains_alone_count_on_splits_that_branch_once_they_have_run():
    def job(split, method):
        return TrialJob("tree", split, method, 0, 1, 1)

    trees = {split: branching(made_answers(0.8 + 0.001 * split)) for split in range(5)}
    trees[5] = made_answers(0.8)
    results = {job(split, "emsco"): one for split, one in trees.items()}
    results |= {
        job(split, "emsco_chains"): made_answers(0.75 + 0.001 * split) for split in range(4)
    }
    (line,) = bakeoff.chains_table({"tree": None}, results)
    # The fifth has no chains yet, and the sixth has no branches.
    assert (line["splits"], line["branching"]) == (5, 5)
    assert line["5 %"].startswith("80.1 / 76.1 (+4.00 ± ")


def test_chains_run_only_where_emsco_branches(tmp_path, monkeypatch):
    monkeypatch.setattr(bakeoff, "work", lambda _: made_answers(0.7).to_dict())
    jobs = [
        TrialJob("heart", split, method, 0, 1, 1)
        for split in range(2)
        for method in ("emsco", "emsco_chains")
    ]
    store = ResultStore(tmp_path)
    store.keep(jobs[0], made_answers(0.8).to_dict())
    store.keep(jobs[2], branching(made_answers(0.8)).to_dict())
    bakeoff.run(jobs, store, 1)
    assert set(bakeoff.read(store, jobs)) == {jobs[0], jobs[2], jobs[3]}


def test_a_set_that_is_not_known_is_refused(monkeypatch, tmp_path, capsys):
    words = ["bakeoff", "--out", str(tmp_path), "--sets", "synthetic15:7,hart"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match="2"):
        bakeoff.main()
    assert "got 'hart'" in capsys.readouterr().err


def test_fresh_rows_test_what_all_rows_of_a_draw_have_fitted():
    draw, other = (bakeoff.costed_rows(f"regions:{seed}:4000") for seed in (1, 2))
    trial = draw.trial(0, 0)
    assert (len(trial.fitted.y), len(trial.test.y)) == (3000, 6000)
    assert np.array_equal(trial.fitted.X, datasets.load("regions", 1).X)
    assert np.array_equal(trial.test.X, other.trial(3, 0).test.X)


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
        *("bakeoff.md", "pima.png", "pima.svg", "results")
    }
    monkeypatch.setattr(bakeoff, "run_trials", None)  # it runs nothing
    monkeypatch.setattr(sys, "argv", [*words, "--known"])
    bakeoff.main()
    assert capsys.readouterr().out == first
    bakeoff.costed_rows.cache_clear()
