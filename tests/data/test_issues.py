"""Columns that look wrong."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from support.settings import PLAIN

from emsco import EMSCOClassifier, FeatureCosts
from emsco.data.issues import class_shares, data_issues_of, is_copy, is_numbering
from emsco.data.training import TrainingData
from emsco.errors import DataWarning

QUICK = PLAIN | {"search": "evolution", "generations": 1, "population_size": 4, "random_state": 0}
N = 300
RNG = np.random.default_rng(2)
Y = RNG.integers(0, 2, N)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(50, 9, N) + 4 * Y,
        "pulse": RNG.integers(50, 120, N),
        "ward": RNG.choice(["north", "south", "west"], N),
    }
)
SHUFFLED, REPEATED = RNG.permutation(N), RNG.permutation(209) % 197


def training(table, y, costs=None, weights=None, gaps="impute"):
    table = pd.DataFrame(table).rename(columns=str)
    costs = FeatureCosts.resolve(costs, table.columns)
    return TrainingData.from_table(table, np.asarray(y), weights, costs, gaps)


def issues_of(table, y=Y, **options):
    """Kind and subject of everything odd."""
    return [(one.kind, one.subject) for one in data_issues_of(training(table, y, **options))]


ODD = {
    "the label": ("leak", Y),
    "the label shifted": ("leak", 10 - 3 * Y),
    "a flag": ("leak", Y == 1),
    "text": ("leak", np.where(Y == 1, "treated", "sent home")),
    "noisy": ("leak", Y + RNG.uniform(0, 0.9, N)),
    "inside": ("leak", np.where(Y == 1, 0, RNG.choice([-3, 3], N))),
    "one wrong": ("leak", np.where(np.arange(N) == 5, 1 - Y, Y)),
    "missing for a class": ("leak", np.where(Y == 1, RNG.normal(size=N), np.nan)),
    "a number for each row": ("identifier", np.arange(N)),
    "a text for each row": ("identifier", [f"p{i}" for i in range(N)]),
    "a text for most rows": ("identifier", [f"p{max(i, 25)}" for i in range(N)]),
    "Fahrenheit": ("copy", 32 + 1.8 * TABLE["age"]),
    "the other way round": ("copy", -TABLE["pulse"]),
    "other names": ("copy", TABLE["ward"].map({"north": "z", "south": "a", "west": "m"})),
    "a number": ("constant", 3.5),
    "a name": ("constant", "x"),
    "hardly any value": ("nearly missing", np.where(np.arange(N) < 9, RNG.normal(size=N), np.nan)),
}
SOUND = {
    "a value but for one of few rows": np.arange(N) == 7,
    "nearly a copy": TABLE["age"].where(np.arange(N) != 3, TABLE["age"] + 0.01),
    "many texts of two rows": [f"n{i}" for i in SHUFFLED // 2],
    "gaps": TABLE["age"].mask(RNG.random(N) < 0.1),
    "gaps in text": TABLE["ward"].mask(RNG.random(N) < 0.1),
}


@pytest.mark.parametrize(("kind", "column"), ODD.values(), ids=ODD)
def test_an_odd_column_is_named_and_nothing_else(kind, column):
    assert issues_of(TABLE.assign(odd=column)) == [(kind, "odd")]


@pytest.mark.parametrize("column", SOUND.values(), ids=SOUND)
def test_sound_columns_are_not_odd(column):
    for gaps in ("impute", "skip"):
        assert issues_of(TABLE.assign(more=column), gaps=gaps) == []


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_nothing_is_odd_about_data_of_scikit_learn(load):
    assert issues_of(*load(return_X_y=True, as_frame=True)) == []


@pytest.mark.parametrize("name", ["heart", "pima", "credit"])
def test_nothing_is_odd_about_the_papers_data(paper_set, name):
    data = paper_set(name)
    assert issues_of(data.X, data.y, costs=data.costs) == []


def test_a_leak_is_found_however_rare_its_class_and_however_many_there_are():
    y = (np.arange(20_000) < 40).astype(int)
    assert issues_of({"a": RNG.normal(size=20_000), "b": y * 3}, y) == [("leak", "b")]
    three = RNG.integers(0, 3, N)
    assert issues_of(TABLE.assign(code=three * 7), three) == [("leak", "code")]


def test_features_that_decide_together_are_no_leaks_nor_do_most_columns_leak():
    X = RNG.normal(size=(2_000, 4))
    assert issues_of(X, X[:, 0] + X[:, 1] > 0) == []
    assert issues_of(RNG.normal(0, 0.01, (N, 3)) + Y[:, None]) == []


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("x", 1e6 - 40 * np.arange(N), True),
        ("x", SHUFFLED + 1000, True),
        ("x", SHUFFLED * 1000, False),
        ("patient_id", SHUFFLED * 1000, True),
        ("patientId", SHUFFLED * 1000, True),
        ("humid", SHUFFLED * 1000, False),
        ("x", np.arange(N) + 0.5, False),
        ("x", np.arange(N) // 2, False),
        ("x", REPEATED, True),
        ("amount", np.sort(REPEATED) * 50, False),
        ("visitId", REPEATED * 50, True),
    ],
)
def test_whole_numbers_of_which_nearly_all_differ_may_be_ids(name, values, is_id):
    assert is_numbering(name, values.astype(float)) == is_id


def test_a_value_but_for_a_few_of_many_rows_is_as_good_as_constant():
    many = {"a": np.arange(2_000) == 7, "b": RNG.normal(size=2_000)}
    assert issues_of(many, RNG.integers(0, 2, 2_000)) == [("constant", "a")]


def test_the_dearer_of_two_columns_that_tell_the_same_is_named():
    costs = {"age": 9, "pulse": 1, "ward": 1, "fahrenheit": 2.5}
    table = TABLE.assign(fahrenheit=TABLE["age"] * 1.8 + 32)
    (odd,) = data_issues_of(training(table, Y, costs=costs))
    assert str(odd) == (
        "column 'age' tells the same as column 'fahrenheit' but costs more (9 instead of 2.5); "
        "drop 'age'."
    )
    assert not is_copy(np.zeros(5), np.arange(5.0))


def test_rows_of_weight_0_do_not_count_and_few_rows_tell_nothing():
    odd = TABLE.assign(a=np.arange(N) < 200)
    assert issues_of(odd) == []
    assert issues_of(odd, weights=1.0 * (np.arange(N) >= 200)) == [("constant", "a")]
    assert issues_of({"id": np.arange(49), "one": 1, "y": Y[:49]}, Y[:49]) == []
    assert issues_of({"one": np.ones(N)}) == [("constant", "one")]


def test_shares_of_classes_are_by_weight_and_the_largest_come_first():
    X, y = np.arange(4.0)[:, None], ["no", "yes", "no", "no"]
    assert class_shares(training(X, y, weights=[1, 5, 1, 1])) == "yes 62.5 %, no 37.5 %"
    many = class_shares(training(np.arange(9.0)[:, None], list("abcdefghi")))
    assert many.endswith("f 11.1 % and 3 more")


def test_fit_warns_and_keeps_what_is_odd_but_the_papers_search_says_nothing():
    clf, leaking = EMSCOClassifier(**QUICK), TABLE.assign(bill=Y)
    with pytest.warns(DataWarning, match="'bill'") as caught:
        clf.fit(leaking, Y)
    assert [one.subject for one in clf.data_issues_] == ["bill"]
    assert caught[0].filename == __file__
    assert pickle.loads(pickle.dumps(clf)).data_issues_ == clf.data_issues_
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        assert clf.fit(TABLE, Y).data_issues_ == ()
        assert clf.set_params(search="paper").fit(leaking, Y).data_issues_ == ()
