from __future__ import annotations

import json

import pytest
from emsco_lab.paper import comparison, tuning
from support.comparisons import small_set
from typer.testing import CliRunner

from emsco.app import cli

COMPARISON = ["reproduce", "comparison", "--quick", "--jobs", "1", "--set", "pima"]


@pytest.fixture(autouse=True)
def _small_sets(monkeypatch):
    for module in (comparison, tuning):
        module._banks.cache_clear()
        monkeypatch.setattr(module, "load", small_set)
    comparison._data.cache_clear()
    yield
    comparison._data.cache_clear()
    for module in (comparison, tuning):
        module._banks.cache_clear()


def test_reproduce_comparison_writes_tables_and_a_figure(emsco, tmp_path):
    words = [*COMPARISON, "--method", "paper", "--method", "cost_ordered", "--out", tmp_path]
    result = emsco(*words, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads((tmp_path / "comparison.json").read_text())
    assert "| CO-T |" in (tmp_path / "comparison.md").read_text()
    assert (tmp_path / "comparison.svg").exists()
    assert len(list((tmp_path / "results").iterdir())) == 4


def test_reproduce_comparison_goes_on_where_it_was(emsco, tmp_path, monkeypatch):
    words = [*COMPARISON, "--method", "cost_ordered", "--out", tmp_path]
    first = emsco(*words)
    monkeypatch.setattr(comparison, "_do_job", None)
    again = emsco(*words)
    assert again.exit_code == 0
    assert again.stdout == first.stdout


def test_reproduce_tuning_names_the_papers_settings(emsco, tmp_path):
    words = ["--thin", 500, "--runs", 1, "--set", "heart", "--jobs", 1, "--out", tmp_path]
    result = emsco("reproduce", "tuning", *words)
    assert result.exit_code == 0
    assert r"\|G\| 300, m̂ 0.075, r̂ 0.75, β 2, b 0.2" in result.stdout
    assert (tmp_path / "tuning.png").exists()


def test_reproduce_global_writes_tables_and_figures(paper_set, monkeypatch, tmp_path):
    paper_set("pima")
    monkeypatch.setattr("emsco_lab.paper.global_optima.SETS", ("pima",))
    monkeypatch.setattr("emsco_lab.paper.global_optima.STAGES", (2,))
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
