"""`emsco compare` as it is typed."""

from __future__ import annotations

import json
import sys
from functools import partial

import numpy as np
import pytest
from emsco_lab import METHODS, TuningEffort
from emsco_lab import compare as study
from support.comparisons import small_set

from emsco.errors import EMSCOError, ParameterError

TWO = ("--method", "emsco", "--method", "cost_ordered", "--quick", "--jobs", 1)


@pytest.fixture(autouse=True)
def _quicker(monkeypatch):
    """Short searches of one family of models."""
    fast = partial(
        study.answer_with_emsco, population_size=20, estimator="logistic", cv=0.33, max_stages=2
    )
    monkeypatch.setattr(study, "answer_with_emsco", fast)
    monkeypatch.setattr(study, "QUICK", TuningEffort(2, 2))


@pytest.fixture
def csv_file(tmp_path):
    data = small_set()
    table = np.column_stack([data.X, data.y])
    path = tmp_path / "own.csv"
    np.savetxt(path, table, delimiter=",", header="a,b,c,d,e,ill", comments="")
    return path


@pytest.fixture
def compare(emsco, csv_file, tmp_path):
    return partial(emsco, "compare", csv_file, "--target", "ill", "--out", tmp_path / "new")


def test_compare_shows_tables_and_sentences_and_draws_a_picture(compare, tmp_path):
    result = compare(*TWO)
    assert result.exit_code == 0
    assert "Every row must be answered: accuracy kept (promised), %" in result.stdout
    assert "At least 90 % of the rows must be answered: accuracy" in result.stdout
    assert "Seconds of processor time for a split: EMSCO " in result.stdout
    assert "mean total of a row" not in result.stdout
    assert "- If every row needs an answer, " in result.stdout
    assert "- Use EMSCO" in result.stdout
    assert "one split cannot tell methods apart" in " ".join(result.stdout.split())
    assert result.stdout.count("Quick: one split, fewer settings") == 2
    there = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert there == [*(f"comparison.{end}" for end in ("json", "md", "png", "svg")), "results"]


def test_compare_goes_on_where_it_was_and_adds_splits(compare, monkeypatch):
    first = compare(*TWO)
    again = compare(*TWO)
    assert again.stdout == first.stdout
    assert again.stderr.count("(known)") == 2
    monkeypatch.setattr(study, "answer_with_emsco", None)  # only rivals have more to do
    more = compare(*TWO, "--splits", 2)
    assert "2 of 4: split 0 CO-T (known)" in more.stderr


def test_compare_prints_its_record_and_refuses_a_folder_of_other_settings(compare):
    words = ["--method", "cost_ordered", "--quick", "--jobs", 1, "--json"]
    plain = json.loads(compare(*words).stdout)
    assert (list(plain["methods"]), plain["splits"]) == (["cost_ordered"], [0])
    with pytest.raises(ParameterError, match=r"of the same comparison, got .* differs in seed; "):
        compare(*words, "--seed", 1)


def test_test_rows_of_a_file_make_one_split(emsco, csv_file, tmp_path):
    words = ["--method", "cost_ordered", "--quick", "--jobs", 1, "--json", "--reject-cost", 3]
    ill, well = (f"{label:.18e}" for label in (1, 0))  # as the file writes them
    words += ["--error-cost", f"{ill}=50", "--error-cost", f"{well}=5"]
    files = ["--train", csv_file, "--val", csv_file, "--test", csv_file, "--target", "ill"]
    plain = json.loads(emsco("compare", *files, *words, "--out", tmp_path / "new").stdout)
    assert plain["rows"] == {"fitted": 320, "test": 160}
    assert (plain["error_cost"], plain["reject_cost"]) == ({well: 5, ill: 50}, 3)


def test_a_comparison_that_is_refused_leaves_no_folder(compare, tmp_path):
    with pytest.raises(ParameterError, match=r"^--seed must be .* got 4294967"):
        compare(*TWO, "--seed", 4_294_967)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("word", "meant"),
    [("CEGB", "cost_aware_boosting"), ("CO-T", "cost_ordered"), ("Emsco", "emsco")],
)
def test_an_unknown_method_is_refused_before_rows_are_read(compare, csv_file, word, meant):
    csv_file.unlink()
    says = rf"^--method must be one of .* got '{word}'; did you mean \"{meant}\"\?$"
    with pytest.raises(ParameterError, match=says):
        compare("--method", word)


def test_a_method_asked_for_that_is_not_installed_is_refused_at_once(
    compare, csv_file, monkeypatch
):
    monkeypatch.setitem(sys.modules, "catboost", None)
    csv_file.unlink()
    with pytest.raises(EMSCOError, match=r"^catboost must be installed for this: pip ins"):
        compare("--method", "emsco", "--method", "catboost")


@pytest.mark.thorough
def test_a_folder_takes_more_methods(compare):
    compare("--method", "cost_ordered", *TWO[4:])
    more = compare("--method", "cost_ordered", "--method", "cact_lasso", *TWO[4:])
    assert "1 of 2: split 0 CO-T (known)" in more.stderr
    assert "CaCT LASSO" in more.stdout


def test_compare_takes_weights_from_a_column(compare, csv_file):
    table = np.abs(np.loadtxt(csv_file, delimiter=",", skiprows=1))  # no weight is below 0
    np.savetxt(csv_file, table, delimiter=",", header="a,b,c,d,e,ill", comments="")
    words = ["--method", "cost_ordered", "--jobs", 1, "--json", "--quick", "--weights", "e"]
    assert json.loads(compare(*words).stdout)["total_cost"] == 4.0


def test_help_names_every_method(emsco):
    shown = emsco("compare", "--help").output
    assert [one for one in METHODS if one not in shown] == []


def test_ctrl_c_keeps_complete_results(compare, monkeypatch, tmp_path):
    def press(*_args, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "answer_with_rival", press)
    result = compare(*TWO)
    assert result.exit_code == 130
    assert "interrupted; complete results are kept, and the same command continues" in result.stderr
    assert len(list((tmp_path / "new" / "results").iterdir())) == 1


def test_ctrl_c_before_the_first_result_is_exit_code_130(compare, monkeypatch):
    def press(*_args, **_settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "answer_with_emsco", press)
    result = compare(*TWO)
    assert result.exit_code == 130
    assert "interrupted; no result was complete" in result.stderr


def test_compare_shows_totals_if_errors_have_a_cost(compare):
    result = compare(*TWO, "--error-cost", 50, "--reject-cost", 4)
    assert "Lowest mean total of a row" in result.stdout
    assert "- By the mean total of a row, with 50 for an error and 4" in result.stdout
    assert "50 for an error and 4 for a rejection" in " ".join(result.stdout.split())
