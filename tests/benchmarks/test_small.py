"""A run of each benchmark with its smallest settings."""

import sys
from importlib import import_module

import common
import engine
import fit
import numpy as np
import pytest
import search
import service
import start
import subsets
import trust
import yardstick
from support.comparisons import small_set


@pytest.mark.parametrize(
    "name",
    ["bakeoff", "counting", "engine", "fit", "search", "service", "start", "subsets", "trust"],
)
def test_help_names_the_command(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit, match="0"):
        import_module(name).main()
    assert f"python benchmarks {name}" in capsys.readouterr().out


def test_counts_of_the_engine_are_those_of_its_twin(monkeypatch):
    monkeypatch.setattr(engine, "SAMPLE", 5)
    table = engine.measure(60, 40)
    assert table.loc["counts", "equal"] == "100.0%"
    assert (table["ratio"] > 0).all()


def test_answers_of_subsets_are_timed_beside_other_sources(monkeypatch):
    monkeypatch.setattr(subsets, "TABLES", {"heart": subsets.TABLES["heart"]})
    monkeypatch.setattr(subsets, "TURNS", 1)
    table = subsets.measure(subsets.OURS)
    assert (table[["CPU s", "MB", "ratio"]].to_numpy() > 0).all()


def test_evolution_finds_a_small_front(monkeypatch):
    monkeypatch.setattr(search.datasets, "load", small_set)
    (line,) = search.found(("pima",), (2,), 1, allow_exclusion=False).splitlines()[2:]
    assert "| yes |" in line
    assert "| 100.00 | 100.00 |" in line


def test_single_rows_and_tables_are_decided_alike():
    assert "single rows of" in search.decide(2000)


def test_default_fits_are_compared_by_turns(monkeypatch, tmp_path, capsys):
    small = small_set()
    prices = dict(zip(small.costs.names, small.costs.costs.tolist(), strict=True))
    one = yardstick.Trial(small.X, small.y, small.X, small.y, np.arange(160), prices, {})
    monkeypatch.setattr(yardstick, "SETS", {"toy": lambda _: one})
    monkeypatch.setattr(sys, "argv", ["fit", "--sets", "toy", "--beside", common.OURS])
    fit.main()
    line = capsys.readouterr().out.splitlines()[-1].split(" | ")
    assert line[3] == line[4] != ""


def test_the_service_decides_cases_in_every_way():
    table = service.measure(8, 2)
    assert list(table.index) == ["nothing", "single", "fed", "batch"]
    assert (table["a second"] > 0).all()


def test_a_start_takes_time_and_its_packages_take_room(tmp_path):
    table = start.measure(tmp_path, 1)
    assert (table > 0).all(axis=None)
    assert (table.iloc[0] < table.loc["emsco decide, one row"]).all()
    megabytes = start.sizes()["megabytes"]
    assert megabytes["all"] == pytest.approx(megabytes.drop("all").sum())
    assert {name.split()[0] for name in megabytes.index} > {"numpy", "pyarrow", "emsco", "all"}


@pytest.mark.thorough
def test_promises_are_kept_on_fresh_rows(monkeypatch):
    monkeypatch.setattr(trust, "LOOKS", 8)
    mean = trust.measure(range(2000, 2003), 10, 5)["mean"]
    assert mean["evaluate, accuracy: held, %"] > 80
    assert mean["certify, exact: false, %"] < 20
    assert mean["certify, easy: certified, %"] > 80
    assert mean["monitor, exact: false alarms, %"] < 20
