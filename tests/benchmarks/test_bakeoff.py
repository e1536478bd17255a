"""Findings of a bake-off over sets, from answers made by hand."""

from __future__ import annotations

import sys
from functools import partial

import bakeoff
import pytest
from support.comparisons import FirstColumns, made_answers, made_comparison, small_set

from emsco_lab import datasets, rivals
from emsco_lab.compare import CHAINS, EMSCO, compare_methods


def comparison(n_test=100, **accuracies):
    return made_comparison(
        {method: made_answers(one, n_test) for method, one in accuracies.items()}, n_test
    )


@pytest.fixture
def cells():
    return bakeoff.cells_of(
        {
            "easy": comparison(emsco=0.9, cstc=0.7, dime=0.5),
            "large": comparison(400, emsco=0.7, cstc=0.9),
            "below": comparison(emsco=0.5, cstc=0.4),
        }
    )


def test_ranks_are_means_over_the_cells_that_a_method_is_in(cells):
    table = bakeoff.rank_table(cells)
    assert table["all"].to_dict() == pytest.approx({"EMSCO": 4 / 3, "CSTC": 5 / 3, "DIME": 3})
    assert table["1,000 rows or more"].dropna().to_dict() == {"EMSCO": 2.0, "CSTC": 1.0}
    assert table["sets"].to_dict() == {"EMSCO": 3, "CSTC": 3, "DIME": 1}


def test_ranks_may_leave_out_cells_in_which_nobody_beats_the_commonest_class(cells):
    assert set(cells[cells.idle]["set"]) == {"below"}
    ranks = bakeoff.rank_table(cells)["where some method beats the commonest class"]
    assert ranks.to_dict() == {"EMSCO": 1.5, "CSTC": 1.5, "DIME": 3.0}


def test_wins_and_losses_are_counted_by_rival_and_the_best_rival_of_a_cell_is_known(cells):
    table = bakeoff.duel_table(cells[(cells.verdict != "") & ~cells.idle])
    assert table["all"].to_dict() == {
        "CSTC": "10 / 0 / 10",
        "DIME": "10 / 0 / 0",
        "all rivals": "20 / 0 / 10",
        "the best rival": "10 / 0 / 10",
    }
    assert table["everyone"]["CSTC"] == "5 / 0 / 5"


def test_promises_too_high_and_too_low_do_not_cancel_in_their_distance():
    high, low = (
        made_comparison({EMSCO: made_answers(0.8, promised=one)}, commonest=0.6)
        for one in (0.9, 0.7)
    )
    line = bakeoff.promise_table(bakeoff.cells_of({"high": high, "low": low})).loc["EMSCO"]
    assert line[["promised", "kept", "promised less kept"]].tolist() == pytest.approx([80, 80, 0])
    assert line["its distance from 0 on a set"] == pytest.approx(10)


def test_chains_alone_have_a_table_of_the_gain_of_branches():
    one = made_comparison({EMSCO: made_answers(0.8), CHAINS: made_answers(0.75)})
    line = bakeoff.chains_table({"tree": one}).loc["tree"]
    assert line["splits"] == 1
    assert line["5 %"] == "+5.00 ± 4.27"


def test_a_set_that_is_not_known_is_refused(monkeypatch, tmp_path, capsys):
    words = ["bakeoff", "--out", str(tmp_path), "--sets", "synthetic15:7,hart"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match="2"):
        bakeoff.main()
    assert "got 'hart'" in capsys.readouterr().err


def test_a_bake_off_runs_reports_and_continues(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(datasets, "load", small_set)
    monkeypatch.setattr(rivals, "CSTC", FirstColumns)
    monkeypatch.setattr(rivals, "CostOrdered", FirstColumns)
    monkeypatch.setattr(bakeoff, "compare_methods", partial(compare_methods, max_settings=2))
    words = ["bakeoff", "--out", str(tmp_path), "--sets", "pima", "--methods", "cstc,cost_ordered"]
    monkeypatch.setattr(sys, "argv", [*words, "--jobs", "1", "--splits", "1"])
    bakeoff.main()
    first = capsys.readouterr().out
    assert "## Mean ranks" in first
    assert {path.name for path in tmp_path.iterdir()} == {"bakeoff.md", "pima", "pima.jsonl"}
    monkeypatch.setattr(sys, "argv", [*words, "--known", "--splits", "2"])
    bakeoff.main()
    assert capsys.readouterr().out == first


def test_chains_run_only_where_emsco_branches(monkeypatch, tmp_path, capsys):
    asked = []

    def compared(rows, name, methods, **_):
        asked.append((name, *methods))
        setting = "a → {b | c}" if name == "regions" else "a"
        return made_comparison({one: made_answers(0.8, setting=setting) for one in methods})

    monkeypatch.setattr(datasets, "load", small_set)
    monkeypatch.setattr(bakeoff, "compare_methods", compared)
    words = ["bakeoff", "--out", str(tmp_path), "--sets", "pima,regions", "--methods", EMSCO]
    monkeypatch.setattr(sys, "argv", words)
    bakeoff.main()
    assert asked == [("pima", EMSCO), ("regions", EMSCO), ("regions", EMSCO, CHAINS)]
    assert "## EMSCO less EMSCO without branches" in capsys.readouterr().out
