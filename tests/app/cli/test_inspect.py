"""`emsco inspect`, and files that are read as `emsco fit` was told."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from support.commands import refuses

from emsco.app.files.sources import FitFiles
from emsco.app.runs.inspect import inspect_file


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """A file with an id, gaps, dates, a typo, a leak and a constant, and semicolons."""
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 160)
    values = rng.normal(size=(160, 2)) + sick[:, None]
    lines = ["id;age;iron;city;visit;score;sick_code;ward;sick"]
    for i, label in enumerate(sick.tolist()):
        age, iron = (f"{value:.2f}".replace(".", ",") for value in values[i])
        iron = "?" if i % 40 == 3 else iron
        day, score = f"{1 + i % 28}/{1 + i % 12}/2025", "n/k" if i == 7 else i * 7 % 160
        state = "ill" if label else "well"
        lines.append(f"{900 + i};{age};{iron};{'ABC'[i % 3]};{day};{score};{label + 10};7;{state}")
    path = tmp_path_factory.mktemp("messy") / "messy.csv"
    path.write_text("\n".join([*lines, lines[-1], ""]))
    return path


pytestmark = pytest.mark.filterwarnings(
    "always::emsco.errors.ReadingWarning", "ignore::emsco.errors.DataWarning"
)

QUICK = ("--search", "evolution", "--generations", "1", "--population-size", "10")
QUICK += ("--estimator", "logistic", "--cv", "0.3")
FIXED = ("--drop", "id", "--drop", "sick_code", "--drop", "ward", "--drop", "score")
TOLD = ("--dates", "days", "--na", "?", "--gaps", "impute")


def test_everything_odd_is_told_with_its_way_out(typed, messy):
    result = typed("inspect", messy, "--target", "sick", "--no-forecast")
    assert result.code == 0
    said = " ".join(result.out.split())
    for words in (
        "161 rows, sick: ",
        "Column 'sick_code' alone decides the class",
        "Column 'ward' has the same value in every row",
        "Column 'visit' holds dates; --dates 'days' makes them days since 1970-01-01, or",
        "Column 'score' mixes numbers and text such as 'n/k' in row ",
        "; --na 'n/k' makes it a missing value.",
        "Values are missing in column 'iron'; emsco fit --gaps impute",
        "- emsco fit leaves out 'sick_code', 'id'; --keep sick_code --keep id keeps them.",
        "1 row has the values of an earlier one.",
    ):
        assert words in said, words
    for words in (
        "with ';' between columns",
        "a decimal comma",
        "'?' was read as missing, 4 values",
    ):
        assert words in result.err, words


def test_zeros_far_from_all_other_values_may_mean_missing():
    path = Path(os.environ.get("EMSCO_DATA", "")) / "pima.csv"
    if not path.exists():
        pytest.skip("EMSCO_DATA names no folder with pima.csv")
    inspection = inspect_file(FitFiles("label", path))
    odd = {one.name: one.n_odd_zeros for one in inspection.columns if one.n_odd_zeros}
    assert odd == {"plas": 5, "pres": 35, "skin": 227, "insu": 374, "mass": 11}
    assert "".join(map(str, inspection.notes[0])) == (
        "column 'plas' is 0 in 5 rows and far above 0 in all others: if 0 means a missing value, "
        "leave these cells empty in the file."
    )


def test_the_same_is_there_as_json(typed, messy):
    result = typed("inspect", messy, "--target", "sick", "--no-forecast", "--json")
    output = json.loads(result.out)
    kinds = {column["name"]: column["kind"] for column in output["columns"]}
    assert kinds["age"] == "number"
    assert (kinds["city"], kinds["visit"], kinds["score"]) == ("text", "date", "mixed")
    assert output["rows"] == 161 == sum(one["rows"] for one in output["classes"])
    assert output["repeated_rows"] == 1
    assert {one["kind"] for one in output["data_issues"]} >= {"leak", "constant"}
    assert output["fit"] is None


def test_a_costs_file_to_fill_in_is_written_once(typed, messy, tmp_path):
    costs = tmp_path / "costs.csv"
    words = ("inspect", messy, "--target", "sick", "--no-forecast", "--write-costs", costs)
    told = " ".join(typed(*words, "--drop", "id").out.split())
    assert (
        ", without 'sick_code' (left out by emsco fit) and 'visit', 'ward' (not "
        "usable as is): set the costs, then emsco fit"
    ) in told
    assert "--drop visit --drop sick_code --drop ward --na n/k --gaps impute --costs" in told
    lines = costs.read_text().splitlines()
    assert lines[0] == "feature,cost,group,fee,fee_cost"
    assert lines[1:] == ["age,1,,,", "iron,1,,,", "city,1,,,", "score,1,,,"]
    refuses(typed(*words), costs)
    assert typed(*words, "--force").code == 0
    run = tmp_path / "run"
    fit = ("fit", messy, "--target", "sick", "--costs", costs, *TOLD, "--na", "n/k", *QUICK)
    drops = ("--drop", "id", "--drop", "visit", "--drop", "sick_code", "--drop", "ward")
    assert typed(*fit, *drops, "--out", run).code == 0


def test_a_costs_file_has_no_column_that_a_fit_leaves_out(typed, tmp_path):
    rng, path, costs = np.random.default_rng(0), tmp_path / "rows.csv", tmp_path / "costs.csv"
    sick = rng.integers(0, 2, 160)
    lines = [f"{a:.2f},{a:.2f},{b}" for a, b in zip(rng.normal(size=160) + sick, sick, strict=True)]
    path.write_text("\n".join(["iron,iron_again,sick", *lines]))
    words = ("--target", "sick", "--no-forecast", "--write-costs", costs)
    told = " ".join(typed("inspect", path, *words).out.split())
    assert "emsco fit leaves out 'iron_again'; " in told
    assert "without 'iron_again' (left out by emsco fit): set the costs" in told
    assert costs.read_text().splitlines()[1:] == ["iron,1,,,"]


def test_a_run_remembers_how_its_files_are_read(typed, messy, tmp_path):
    run, out = tmp_path / "run", tmp_path / "out.csv"
    words = ("fit", messy, "--target", "sick", "--out", run, *FIXED, *QUICK, "--buy-all")
    result = typed(*words)
    assert "got the date '1/1/2025' in column 'visit', line 2; --dates 'days' makes" in result.err
    assert typed(*words, *TOLD).code == 0
    reading = json.loads((run / "run.json").read_text())["body"]["files"]["reading"]
    assert reading["dates"] == "day-first"
    assert reading["na"] == ["?"]
    new = tmp_path / "new.csv"
    new.write_text("age;iron;city;visit;sick\n1,5;?;A;3/4/2025;ill\n0,5;2;B;4/4/2025;well\n")
    assert typed("decide", run, new, "--out", out).code == 0
    assert len(out.read_text().splitlines()) == 3
    assert typed("evaluate", run, new).code == 0
    assert typed("monitor", run, new, "--min-coverage", "0.01").code in (0, 4)
    result = typed("decide", run / "cascade.json", new, "--out", out)
    words = (
        "got the date '3/4/2025' in column 'visit', line 2; --dates 'days' makes them days since "
    )
    assert f"{words}1970-01-01.\n" in result.err
    assert typed("decide", run / "cascade.json", new, "--out", out, *TOLD[:2]).code == 1
    assert (
        typed("decide", run / "cascade.json", new, "--out", out, "--dates", "day-first").code == 0
    )
