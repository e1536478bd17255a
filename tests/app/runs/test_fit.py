"""Fits on files: the same as the estimator's, kept in a run folder."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.model_selection import PredefinedSplit
from support.clinic import (
    COSTS,
    FILES,
    NAMES,
    SETTINGS,
    front_of,
    patients,
    read_columns,
    write_rows,
)

from emsco import EMSCOClassifier
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files
from emsco.app.runs.run import Run
from emsco.errors import ParameterError


def test_a_run_has_the_front_and_the_cascade_of_the_estimator(fitted, estimated):
    assert fitted.front.to_dicts() == estimated.front_.to_dicts()
    assert fitted.front.proven == estimated.front_.proven
    assert fitted.cascade.design == estimated.design_
    assert np.array_equal(fitted.cascade.models.coefs, estimated.cascade_.models.coefs)
    assert fitted.point == estimated.point_


def test_a_run_opened_again_is_the_run(fitted):
    again = Run.open(fitted.folder)
    assert again.about == fitted.about
    assert again.front.to_dicts() == fitted.front.to_dicts()
    assert np.array_equal(again.cascade.models.coefs, fitted.cascade.models.coefs)
    assert again.chosen == fitted.chosen
    assert not again.interrupted


def test_csv_and_parquet_give_the_same_run(clinic, fitted, tmp_path):
    files = FitFiles("sick", data=clinic.data_parquet, costs=clinic.costs)
    fit_files(files, tmp_path / "run", seed=3, **SETTINGS)
    assert front_of(tmp_path / "run") == front_of(fitted.folder)


def test_separate_files_are_a_predefined_split(clinic, tested):
    X, y = (np.concatenate(parts) for parts in zip(clinic.rows["t"], clinic.rows["v"], strict=True))
    split = PredefinedSplit([-1] * 200 + [0] * 100)
    by_hand = EMSCOClassifier(COSTS, random_state=3, **SETTINGS | {"cv": split})
    by_hand.fit(pa.table(dict(zip(NAMES, X.T, strict=True))).to_pandas(), y)
    assert tested.front.to_dicts() == by_hand.front_.to_dicts()
    assert {point.n_rows for point in tested.front} == {100}


def test_seen_figures_stand_apart_from_scored_ones(clinic, tested):
    for i, point in enumerate(front_of(tested.folder)["points"]):
        expected = tested.front.cascade(i).evaluate(*clinic.rows["e"])
        assert point["seen"]["n_rows"] == 80
        assert point["seen"]["accuracy"] == expected.accuracy
        assert point["scored"] == tested.front[i].scores_to_dict()
    assert tested.figures()[0]["seen"] == tested.front.seen[0].to_dict()


def test_a_run_without_test_rows_has_no_seen_figures(fitted):
    assert {point["seen"] for point in fitted.figures()} == {None}
    assert fitted.front.seen is None


def test_test_rows_change_nothing_about_the_search(clinic, tested, tmp_path):
    files = FitFiles("sick", None, clinic.train, clinic.val, costs=clinic.costs)
    run = fit_files(files, tmp_path / "run", seed=3, **SETTINGS)
    assert run.front.to_dicts() == tested.front.to_dicts()


def test_labels_of_other_files_are_brought_to_the_type_of_the_first(clinic, tested, tmp_path):
    X, y = clinic.rows["v"]
    val = write_rows(tmp_path / "val.csv", X, y, labels=(0.0, 1.0))
    test = write_rows(tmp_path / "test.parquet", *clinic.rows["e"], labels=("0", "1"))
    files = FitFiles("sick", None, clinic.train, val, test, clinic.costs)
    run = fit_files(files, tmp_path / "run", seed=3, **SETTINGS)
    assert run.cascade.classes.dtype == np.int64
    assert front_of(run.folder) == front_of(tested.folder)


def test_run_json_holds_settings_seed_versions_and_data(clinic, fitted, tested):
    about = json.loads((fitted.folder / "run.json").read_text())["body"]
    assert about["seed"] == 3
    assert about["features"] == list(NAMES)
    assert (about["cv"], about["n_splits"]) == (1 / 3, 1)
    assert about["files"]["data"] == str(clinic.data)
    kept = {name: value for name, value in SETTINGS.items() if name != "cv"}
    assert kept.items() <= about["settings"].items()
    assert about["versions"]["numpy"] == np.__version__
    assert about["data"].startswith("sha256:")
    assert about["data"] != tested.about["data"]
    assert tested.about["cv"] is None


def test_history_has_a_row_for_every_generation(fitted, estimated):
    history = read_columns(fitted.folder / "history.csv")
    assert history["generation"] == [record.generation for record in estimated.history_]
    assert history["n_front"] == [record.n_front for record in estimated.history_]
    assert history["best_cost"] == [record.best.cost for record in estimated.history_]


def test_a_complete_run_holds_its_four_files_and_no_checkpoint(fitted, tested):
    for run in (fitted, tested):
        assert sorted(path.name for path in run.folder.iterdir()) == FILES


def test_dropped_columns_are_no_features_and_need_not_be_numbers(tmp_path, clinic):
    X, y = patients(80)
    data = write_rows(tmp_path / "data.csv", X, y, ids=[f"p{i}" for i in range(80)])
    files = FitFiles("sick", data, drop=("ids",))
    run = fit_files(files, tmp_path / "run", **SETTINGS)
    assert run.front.costs.names == NAMES
    assert run.about["files"]["drop"] == ["ids"]


def test_costs_of_columns_that_are_dropped_by_name_are_ignored(clinic):
    read = FitFiles("sick", clinic.data, costs=clinic.costs, drop=("scan",)).read(cv=0.5)
    assert read.costs.names == ("age", "pulse", "panel", "sex")
    assert read.costs.total == 13.5


def test_a_setting_that_is_refused_leaves_no_folder(tmp_path, clinic):
    with pytest.raises(ParameterError, match=r"^search must be one of"):
        fit_files(FitFiles("sick", clinic.data), tmp_path / "run", search="exakt")
    assert not (tmp_path / "run").exists()


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path, clinic):
    settings = {**SETTINGS, "max_stages": np.int64(3), "cv": np.float64(0.5)}
    fit_files(FitFiles("sick", clinic.data), tmp_path / "run", seed=np.int64(3), **settings)
    about = Run.open(tmp_path / "run").about
    assert (about["seed"], about["settings"]["max_stages"], about["cv"]) == (3, 3, 0.5)
