from __future__ import annotations

import json
import sys

import pandas as pd
import pytest
from support.comparisons import FirstColumns, small_set

from emsco.errors import DataError
from emsco_lab import cli, rivals
from emsco_lab.compare import read_table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and costs, where CSTC is a rival of few lines."""
    made = small_set()
    frame = pd.DataFrame(made.X, columns=list("abcde"))
    frame["ill"] = ["yes" if one else "no" for one in made.y]
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\na,1\nb,2\nc,1\nd,1\ne,3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rivals, "CSTC", FirstColumns)
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """Run `emsco-lab compare` and return exit code, output and errors."""

    def run(*words, data="data.csv", target="ill", costs="costs.csv"):
        words = "emsco-lab", "compare", data, "--target", target, "--costs", costs, *words
        monkeypatch.setattr(sys, "argv", [*words, "--method", "cstc", "--jobs", "1"])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, *capsys.readouterr()

    return run


def test_a_comparison_prints_its_verdict_and_writes_its_files(command, folder):
    code, out, _ = command("--quick")
    assert code == 0
    assert out.startswith("# Methods on data.csv: 1 × 40 test rows")
    assert "- CSTC took part alone." in out
    assert sorted(path.name for path in (folder / "comparison").iterdir()) == [
        *("comparison.json", "comparison.md", "comparison.png", "results.jsonl")
    ]
    assert (folder / "comparison" / "comparison.md").read_text() == out


def test_costs_of_errors_may_differ_by_label_and_json_is_printed(command):
    code, out, _ = command(
        *("--quick", "--json", "--error-cost", "yes=500", "--error-cost", "no=20"),
        *("--reject-cost", "40"),
    )
    assert code == 0
    values = json.loads(out)
    assert "500 about 'yes'" in values["verdict"][0]


def test_an_interrupted_comparison_says_how_to_go_on(command, monkeypatch):
    monkeypatch.setattr("emsco_lab._tools.Results.finish", lambda *_: False)
    code, out, err = command()
    assert code == 130
    assert "No method has answered on a whole split." in out
    assert err == "emsco-lab: interrupted; the same command continues in comparison.\n"


@pytest.mark.parametrize(
    ("words", "settings", "code", "sentence"),
    [
        ((), {"data": "none.csv"}, 1, "none.csv must be a CSV or Parquet file: No such file"),
        ((), {"target": "sick"}, 1, "target must be a column of data.csv (a, b, c, d, e, ill)"),
        ((), {"costs": "data.csv"}, 1, "costs must"),
        (("--method", "cstk"), {}, 1, "Did you mean 'cstc'?"),
        (("--reject-cost", "3"), {}, 1, "error_cost must"),
        (("--error-cost", "much"), {}, 2, "must be a number"),
        (("--splits", "0"), {}, 2, "--splits"),
    ],
)
def test_what_is_wrong_is_one_line_on_standard_error(command, words, settings, code, sentence):
    found, out, err = command(*words, **settings)
    assert (found, out) == (code, "")
    assert sentence in err
    assert code == 2 or err.count("\n") == 1


def test_help_teaches(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["emsco-lab", "--help"])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    shown = capsys.readouterr().out
    assert "emsco-lab compare heart.csv --target disease --costs costs.csv" in shown
    assert "reproduce" in shown


def test_reproduce_has_the_commands_of_the_paper(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["emsco-lab", "reproduce", "--help"])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    assert "landscape" in capsys.readouterr().out


def test_parquet_is_read_like_csv(folder):
    pd.read_csv("data.csv").to_parquet("data.parquet")
    one = read_table(folder / "data.csv", "ill", folder / "costs.csv")
    two = read_table(folder / "data.parquet", "ill", folder / "costs.csv")
    assert one.rows.X.equals(two.rows.X)
    assert one.rows.y.tolist() == two.rows.y.tolist()
    assert one.costs.total == two.costs.total == 8


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("data.csv", b"a,ill\n1,no\n2,\n", "must have a label in every row, got none in row 3"),
        ("data.csv", b"", "must be a CSV or Parquet file"),
        ("data.parquet", b"a,ill\n", "must be a CSV or Parquet file"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(folder, name, content, sentence):
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        read_table(folder / name, "ill", folder / "costs.csv")
