from __future__ import annotations

import numpy as np
import pytest

from emsco.datasets import NAMES, load, paper_split
from emsco.errors import DataError, ParameterError


@pytest.mark.parametrize(
    ("name", "shape", "total"),
    [("heart", (299, 12), 750), ("pima", (768, 8), 1400), ("credit", (690, 14), 1490)],
)
def test_the_sets_of_the_paper_have_its_rows_features_and_costs(paper_set, name, shape, total):
    paper_set(name)  # skips where there is no data
    data = load(name)
    assert data.X.shape == shape
    assert data.costs.total == total
    assert set(np.unique(data.y)) == {0, 1}
    assert len(data.costs.names) == shape[1]


def test_synthetic15_has_the_papers_parameters_and_costs_by_importance():
    data = load("synthetic15", seed=3)
    assert data.X.shape == (8000, 15)
    assert (data.costs.costs >= 1).all()
    assert np.array_equal(data.costs.costs, np.round(data.costs.costs))
    assert 70 <= data.costs.total <= 130  # importances add up to 1, each is off by 1 or rounding


def test_synthetic_sets_depend_on_the_seed_alone():
    assert np.array_equal(load("synthetic50", 1).X, load("synthetic50", 1).X)
    assert not np.array_equal(load("synthetic50", 1).X, load("synthetic50", 2).X)


def test_synthetic50_costs_ten_each():
    assert load("synthetic50").costs.costs.tolist() == [10.0] * 50


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ParameterError, match=f"name must be one of \"{NAMES[0]}\".*got 'iris'"):
        load("iris")


def test_without_a_folder_the_sentence_names_the_variable_and_the_file(monkeypatch):
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    with pytest.raises(DataError, match="EMSCO_DATA must name the folder that holds heart"):
        load("heart")


def test_a_folder_without_the_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("EMSCO_DATA", str(tmp_path))
    with pytest.raises(DataError, match=f"holds pima.csv, got '{tmp_path}'"):
        load("pima")


@pytest.mark.parametrize(("n_rows", "sizes"), [(299, (149, 75, 75)), (768, (384, 192, 192))])
def test_the_papers_split_is_a_half_a_quarter_and_the_rest(n_rows, sizes):
    parts = paper_split(n_rows, seed=1)
    assert tuple(map(len, parts)) == sizes
    assert sorted(np.concatenate(parts).tolist()) == list(range(n_rows))
