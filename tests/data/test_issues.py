"""Columns and classes that look wrong."""

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from support.settings import PLAIN

from emsco import EMSCOClassifier, FeatureCosts
from emsco.data.issues import (
    DataIssueKind,
    class_shares,
    data_issues_of,
    is_copy,
    is_numbering,
)
from emsco.data.training import TrainingData
from emsco.errors import DataWarning, EMSCOWarning

QUICK = {"search": "evolution", "generations": 1, "population_size": 4, "random_state": 0}
QUICK |= PLAIN


def training(table, y, costs=None, weights=None, gaps="refuse"):
    if not hasattr(table, "columns"):
        table = pd.DataFrame(table)
    table = table.rename(columns=str)
    costs = FeatureCosts.resolve(costs, table.columns)
    return TrainingData.from_table(table, np.asarray(y), weights, costs, gaps)


def issues_of(table, y, **options):
    """Kind and subject of everything odd."""
    return [(one.kind.value, one.subject) for one in data_issues_of(training(table, y, **options))]


@pytest.fixture
def labels():
    return np.random.default_rng(1).integers(0, 2, 300)


@pytest.fixture
def table(labels):
    """Three noisy columns without any issue."""
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 9, 300) + 4 * labels,
            "pulse": rng.integers(50, 120, 300),
            "ward": rng.choice(["north", "south"], 300),
        }
    )


def test_ordinary_columns_and_classes_are_not_odd(table, labels):
    assert issues_of(table, labels) == []


@pytest.mark.parametrize(
    "leak",
    [
        lambda y: y,
        lambda y: 10 - 3 * y,
        lambda y: y == 1,
        lambda y: np.where(y == 1, "treated", "sent home"),
        lambda y: y + np.random.default_rng(0).uniform(0, 0.9, len(y)),
        lambda y: np.where(y == 1, 0, np.random.default_rng(0).choice([-3, 3], len(y))),
        lambda y: np.where(np.arange(len(y)) == 5, 1 - y, y),
    ],
    ids=["copy", "shifted", "flag", "text", "noisy", "inside", "one wrong"],
)
def test_a_column_made_from_the_classes_is_a_leak(table, labels, leak):
    leaking = table.assign(bill=leak(labels))
    assert issues_of(leaking, labels) == [("leak", "bill")]


def test_a_leak_of_many_classes_and_of_missing_values_is_found(table):
    rng = np.random.default_rng(0)
    three = rng.integers(0, 3, 300)
    assert issues_of(table.assign(code=three * 7), three) == [("leak", "code")]
    two = rng.integers(0, 2, 300)
    discharged = np.where(two == 1, rng.normal(size=300), np.nan)
    assert issues_of(table.assign(left=discharged), two, gaps="impute") == [("leak", "left")]


def test_a_leak_is_found_however_rare_its_class():
    rng = np.random.default_rng(0)
    y = (np.arange(20_000) < 40).astype(int)
    assert issues_of({"a": rng.normal(size=20_000), "b": y * 3}, y) == [("leak", "b")]


def test_features_that_decide_together_are_no_leaks():
    X = np.random.default_rng(0).normal(size=(2_000, 4))
    assert issues_of(X, X[:, 0] + X[:, 1] > 0) == []


def test_a_category_of_many_texts_is_no_leak_of_the_rows_it_has_seen(labels):
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in rng.permutation(300) // 2]
    assert issues_of({"name": names}, labels) == [("many categories", "name")]


def test_where_most_columns_decide_alone_the_problem_is_easy(labels):
    noise = np.random.default_rng(0).normal(0, 0.01, (300, 3))
    assert issues_of(noise + labels[:, None], labels) == []


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_nothing_is_odd_about_data_of_scikit_learn(load):
    assert issues_of(*load(return_X_y=True, as_frame=True)) == []


@pytest.mark.parametrize("name", ["heart", "pima", "credit"])
def test_nothing_is_odd_about_the_papers_data(paper_set, name):
    data = paper_set(name)
    assert issues_of(data.X, data.y, costs=data.costs) == []


def test_only_a_constant_is_odd_about_thyroid():
    path = Path(os.environ.get("EMSCO_DATA", "")) / "thyroid.csv"
    if not path.exists():
        pytest.skip("EMSCO_DATA names no folder with thyroid.csv")
    data = pd.read_csv(path)
    assert issues_of(data.drop(columns="label"), data["label"]) == [("constant", "hypopituitary")]


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("x", np.arange(300), True),
        ("x", 1e6 - 40 * np.arange(300), True),
        ("x", np.random.default_rng(0).permutation(300) + 1000, True),
        ("x", np.random.default_rng(0).permutation(300) * 1000, False),
        ("patient_id", np.random.default_rng(0).permutation(300) * 1000, True),
        ("patientId", np.random.default_rng(0).permutation(300) * 1000, True),
        ("humid", np.random.default_rng(0).permutation(300) * 1000, False),
        ("x", np.arange(300) + 0.5, False),
        ("x", np.arange(300) // 2, False),
        ("x", np.random.default_rng(0).permutation(np.repeat(np.arange(280), 2))[:200], False),
        ("x", np.random.default_rng(0).permutation(209) % 197, True),
        ("x", np.sort(np.random.default_rng(0).permutation(209) % 197), True),
        ("amount", np.sort(np.random.default_rng(0).permutation(209) % 197) * 50, False),
        ("x", np.random.default_rng(0).permutation(209) % 197 * 50, False),
        ("visitId", np.random.default_rng(0).permutation(209) % 197 * 50, True),
    ],
)
def test_whole_numbers_of_which_nearly_all_differ_may_be_ids(name, values, is_id):
    assert is_numbering(name, values.astype(float)) == is_id


def test_ids_of_numbers_and_texts_are_named(table, labels):
    odd = table.assign(row=np.arange(300), key=[f"p{i}" for i in range(300)])
    assert issues_of(odd, labels) == [("identifier", "row"), ("identifier", "key")]
    (first, _) = data_issues_of(training(odd, labels))
    assert str(first) == (
        "column 'row' has a different value in every row; if it is an id, drop 'row'."
    )


def test_an_id_of_nearly_every_row_is_an_id(table, labels):
    for key in ([f"p{max(i, 25)}" for i in range(300)], np.arange(300) % 275):
        (odd,) = data_issues_of(training(table.assign(key=key), labels))
        assert str(odd).startswith("column 'key' has a different value in nearly every row")


def test_a_constant_is_told_and_so_is_one_but_for_a_few_of_many_rows(table, labels):
    assert issues_of(table.assign(a=3.5, b="x"), labels) == [("constant", "a"), ("constant", "b")]
    some = np.arange(300) == 7
    assert issues_of(table.assign(a=some), labels) == []
    rng = np.random.default_rng(0)
    many = {"a": np.arange(2_000) == 7, "b": rng.normal(size=2_000)}
    (odd,) = data_issues_of(training(many, rng.integers(0, 2, 2_000)))
    assert str(odd) == (
        "column 'a' has the same value in all but 1 of 2,000 rows, so it tells next to nothing; "
        "drop 'a'."
    )


def test_the_dearer_of_two_columns_that_tell_the_same_is_named(table, labels):
    table = table.assign(fahrenheit=table["age"] * 1.8 + 32)
    costs = {"age": 9, "pulse": 1, "ward": 1, "fahrenheit": 2.5}
    (odd,) = data_issues_of(training(table, labels, costs=costs))
    assert str(odd) == (
        "column 'age' tells the same as column 'fahrenheit' but costs more (9 instead of 2.5); "
        "drop 'age'."
    )


def test_copies_of_categories_are_found_under_other_names(table, labels):
    flipped = table["ward"].map({"north": "z", "south": "a"})
    (odd,) = data_issues_of(training(table.assign(side=flipped), labels))
    assert str(odd) == "column 'side' tells the same as column 'ward'; drop 'side'."


def test_columns_that_nearly_agree_are_no_copies(table, labels):
    nearly = table["age"].where(np.arange(300) != 3, table["age"] + 0.01)
    assert issues_of(table.assign(again=nearly), labels) == []
    assert not is_copy(np.zeros(5), np.arange(5.0))


def test_rare_classes_are_told_unless_the_split_does():
    rng = np.random.default_rng(0)
    y = np.array(["no"] * 280 + ["yes"] * 12 + ["maybe"] * 7 + ["odd"])
    (maybe, yes) = data_issues_of(training({"a": rng.normal(size=300)}, y))
    assert str(maybe) == "class 'maybe' has 7 rows: figures about it are guesses."
    assert (yes.kind, yes.subject) == (DataIssueKind.RARE_CLASS, "yes")


def test_rows_of_weight_0_do_not_count(table, labels):
    weights = np.ones(300)
    weights[:200] = 0
    odd = table.assign(a=np.arange(300) < 200)
    assert issues_of(odd, labels) == []
    assert issues_of(odd, labels, weights=weights) == [("constant", "a")]


def test_nothing_is_said_about_few_rows(labels):
    assert issues_of({"id": np.arange(49), "one": 1, "y": labels[:49]}, labels[:49]) == []


def test_gaps_in_numbers_and_categories_do_no_harm(table, labels):
    holes = table.mask(np.random.default_rng(0).random(table.shape) < 0.1)
    for gaps in ("impute", "skip"):
        assert issues_of(holes, labels, gaps=gaps) == []


def test_shares_of_classes_are_by_weight_and_the_largest_come_first():
    X = np.arange(4.0)[:, None]
    y = ["no", "yes", "no", "no"]
    assert class_shares(training(X, y)) == "no 75.0 %, yes 25.0 %"
    assert class_shares(training(X, y, weights=[1, 5, 1, 1])) == "yes 62.5 %, no 37.5 %"
    many = class_shares(training(np.arange(9.0)[:, None], list("abcdefghi")))
    assert many.endswith("f 11.1 % and 3 more")


def test_fit_warns_and_keeps_what_is_odd(table, labels):
    clf = EMSCOClassifier(**QUICK)
    with pytest.warns(DataWarning, match="'bill'") as caught:
        clf.fit(table.assign(bill=labels), labels)
    assert [one.subject for one in clf.data_issues_] == ["bill"]
    assert all(issubclass(one.category, EMSCOWarning) for one in caught)
    assert caught[0].filename == __file__
    assert pickle.loads(pickle.dumps(clf)).data_issues_ == clf.data_issues_
    assert clf.fit(table, labels).data_issues_ == ()


def test_the_papers_search_says_nothing(table, labels):
    clf = EMSCOClassifier(**QUICK | {"search": "paper"})
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        clf.fit(table.assign(bill=labels), labels)
    assert clf.data_issues_ == ()
