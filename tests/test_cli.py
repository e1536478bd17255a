import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from emsco import cli
from emsco.errors import EMSCOError


@pytest.fixture(scope="module")
def demo_text():
    result = CliRunner().invoke(cli.app, ["demo"], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def test_demo_shows_the_front_the_cascade_and_the_savings(demo_text):
    for words in ("held-out figures on 142 rows", "stage 1, cost so far", "buys", "rejected"):
        assert words in demo_text
    assert re.search(r"spends \d+% less than buying everything", demo_text)
    assert "▶" in demo_text


def test_demo_as_json_is_the_same_for_the_same_seed():
    runs = [CliRunner().invoke(cli.app, ["demo", "--json", "--seed", "3"]) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    result = json.loads(runs[0].stdout)
    assert result["test"]["cost"] < result["test_buying_everything"]["cost"] == 135
    assert sum(leave["n_rows"] for leave in result["test"]["exits"]) == 143


def test_help_teaches_and_wrong_usage_is_exit_code_2():
    assert "emsco demo" in CliRunner().invoke(cli.app, ["--help"]).output
    assert CliRunner().invoke(cli.app, ["demo", "--seed", "-1"]).exit_code == 2
    assert CliRunner().invoke(cli.app, ["nothing"]).exit_code == 2


def test_version_is_that_of_the_package():
    assert re.fullmatch(r"emsco \d+\.\d+\.\d+\n", CliRunner().invoke(cli.app, ["--version"]).output)


def test_an_error_of_our_own_is_one_line_and_exit_code_1(monkeypatch, capsys):
    def refuse():
        raise EMSCOError("costs.csv must have a column 'cost', got none.")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == "emsco: costs.csv must have a column 'cost', got none.\n"


def test_import_and_help_wait_for_no_compiler_and_no_plotting():
    code = (
        "import sys, emsco, emsco.cli, emsco.metrics; from typer.testing import CliRunner;"
        "CliRunner().invoke(emsco.cli.app, ['--help']);"
        "print({'numba', 'llvmlite', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_reproduce_global_writes_tables_and_figures(paper_set, monkeypatch, tmp_path):
    paper_set("pima")
    monkeypatch.setattr("emsco.experiments.global_optima.SETS", ("pima",))
    monkeypatch.setattr("emsco.experiments.global_optima.STAGES", (2,))
    command = [
        "reproduce",
        "global",
        "--runs",
        "1",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
        "--json",
    ]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "global.json").read_text())
    assert json.loads(result.stdout) == written
    assert written["landscapes"][0]["front_vectors"] == 24
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".md", ".png", ".svg"]


def test_reproduce_says_which_data_it_lacks(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    monkeypatch.setattr(
        "sys.argv", ["emsco", "reproduce", "global", "--out", str(tmp_path / "new")]
    )
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "EMSCO_DATA must name the folder that holds heart.csv" in capsys.readouterr().err


def test_reproduce_refuses_a_folder_that_cannot_be_before_any_work(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(
        "sys.argv", ["emsco", "reproduce", "global", "--out", str(tmp_path / "file")]
    )
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "--out must be a folder, got" in capsys.readouterr().err
