"""Groups of columns: their order, their forms, and words about those that do not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.costs import FeatureCosts
from emsco.errors import CostsError

COLUMNS = ["age", "iron", "sex", "glucose"]
PANEL = {"panel": ["glucose", "iron"]}


def test_groups_stand_where_their_first_column_does():
    costs = FeatureCosts.from_mapping({"panel": 40, "sex": 0, "age": 1}, COLUMNS, PANEL)
    assert costs.names == ("age", "panel", "sex")
    assert costs.costs.tolist() == [1, 40, 0]
    assert costs.columns == (("age",), ("iron", "glucose"), ("sex",))
    assert costs.table == tuple(COLUMNS)
    assert costs.groups == {"panel": ("iron", "glucose")}
    assert costs.column_features(COLUMNS).tolist() == [0, 1, 2, 1]
    assert costs.total == 41


def test_features_without_groups_are_their_own_columns():
    costs = FeatureCosts.from_array([1, 2], ["a", "b"])
    assert costs.columns == (("a",), ("b",))
    assert costs.table == ("a", "b")
    assert costs.groups == {}


def test_groups_without_a_table_keep_the_order_of_the_costs():
    costs = FeatureCosts.from_mapping({"panel": 40, "age": 1}, groups=PANEL)
    assert costs.names == ("panel", "age")
    assert costs.table == ("glucose", "iron", "age")


def test_a_group_may_have_the_name_of_one_of_its_columns():
    costs = FeatureCosts.from_mapping({"a": 1}, ["a", "b"], {"a": ["a", "b"]})
    assert costs.groups == {"a": ("a", "b")}


def test_ready_costs_find_their_groups_in_any_order_of_columns_and_keep_their_evaluation_cost():
    ready = FeatureCosts.from_mapping({"panel": 40, "sex": 2, "age": 1}, COLUMNS, PANEL)
    again = FeatureCosts.resolve(replace(ready, evaluation=3), COLUMNS[::-1])
    assert again.names == ("panel", "sex", "age")
    assert again.columns[0] == ("glucose", "iron")
    assert again.costs.tolist() == [40, 2, 1]
    assert again.evaluation == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", "feature,cost,group\nage,1,\nsex,2,\nglucose,40,panel\niron,,panel\n"),
        ("c.csv", "Feature,Cost,Group\niron,40,panel\nage,1,\nglucose,40, panel \nsex,2,\n"),
        (
            "c.json",
            '{"age": 1, "sex": {"cost": 2}, "panel": {"cost": 40, "columns": ["glucose", "iron"]}}',
        ),
    ],
    ids=["once", "on-each-line", "json"],
)
def test_every_form_of_groups_gives_the_same_costs(costs_file, name, text):
    costs = FeatureCosts.from_file(costs_file(text, name), COLUMNS)
    assert costs.names == ("age", "panel", "sex")
    assert costs.costs.tolist() == [1, 40, 2]
    assert costs.columns[1] == ("iron", "glucose")


def test_the_longest_beginning_of_a_column_tells_its_group():
    columns = ["age", "blood_iron", "blood_fat_ldl", "blood_fat_hdl", "blood"]
    costs = FeatureCosts.from_prefixes(
        {"age": 1, "blood_fat": 9, "blood_iron": 4, "blood": 2}, columns
    )
    assert costs.groups == {"blood_fat": ("blood_fat_ldl", "blood_fat_hdl")}
    assert costs.names == ("age", "blood_iron", "blood_fat", "blood")
    dotted = FeatureCosts.from_prefixes({"a": 1, "a.b": 2}, ["a.x", "a.b.x", "a.y"], separator=".")
    assert dotted.columns == (("a.x", "a.y"), ("a.b.x",))


@pytest.mark.parametrize(
    ("costs", "groups", "words"),
    [
        ({"p": 1}, {"p": []}, "a group must have a column, got none for group 'p'"),
        ({"p": 1}, {"p": "ab"}, "a group must be a list of columns, got 'ab' for 'p'"),
        ({"p": 1}, {"p": ["a"], "q": ["a"]}, "in one group once, got 'a' in 'p' and 'q'"),
        ({"p": 1}, {"p": ["a", "a"]}, "column must be in one group once, got 'a' in 'p'"),
        ({"p": 1}, {"p": ["z"]}, r"hold columns of the data \('a', 'b', 'c'\), got 'z' in"),
        ({"c": 1}, {"c": ["a", "b"]}, "not have the name of a column outside it, got 'c'"),
        ({"p": 1, "a": 1}, {"p": ["a", "b"]}, "a group, not a column in it, got 'a' of group 'p'"),
        ({"p": 1}, {"p": ["a", "b"]}, "a cost for every feature, got none for 'c'"),
        ({"c": 1}, {"p": ["a", "b"]}, "a cost for every feature, got none for 'p'"),
        ({"p": 1, "z": 1}, {"p": ["a", "b"]}, r"features of the data \('p', 'c'\), got 'z'"),
        ({"p": {"columns": ["a"]}}, {}, r"numbers or like \{'cost': 40, .*got .* for 'p'"),
        ({"p": {"cost": 1, "columns": 7}}, {}, "must be a list of columns, got 7 for 'p'"),
    ],
)
def test_groups_that_do_not_fit_the_table_are_refused(costs, groups, words):
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_mapping(costs, ["a", "b", "c"], groups)


def test_a_beginning_that_no_column_has_is_refused():
    words = r"columns of the data \('a_x'\) or their beginnings before '_', got 'b'\."
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_prefixes({"a": 1, "b": 2}, ["a_x"])


def test_groups_without_a_cost_are_refused_where_no_table_is_known():
    with pytest.raises(CostsError, match="a cost for every group, got none for 'panel'"):
        FeatureCosts.from_mapping({"age": 1}, groups=PANEL)


@pytest.mark.parametrize(
    ("names", "columns", "table", "words"),
    [
        (("a", "b"), (("a",),), (), "one entry for each of the 2 features, got 1"),
        (("a", "p"), (("x",), ("a",)), (), "got 'a', a column of group 'p'"),
        (("a",), (("a", "b"),), ("a",), "the table must have the columns 'a', 'b', got 'a'"),
    ],
)
def test_features_and_columns_that_contradict_each_other_are_refused(names, columns, table, words):
    with pytest.raises(CostsError, match=words):
        FeatureCosts(names, np.ones(len(names)), columns=columns, table=table)


def test_columns_of_no_feature_are_refused():
    with pytest.raises(CostsError, match="columns must be among 'a', 'b', got 'z'"):
        FeatureCosts.from_array([1, 2], ["a", "b"]).column_features(["a", "z"])


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.randoms())
def test_every_column_is_of_one_feature_however_the_table_is_ordered(groups, random):
    columns = [f"c{i}" for i in range(len(groups))]
    members = {
        f"g{g}": [c for c, of in zip(columns, groups, strict=True) if of == g] for g in {*groups}
    }
    costs = FeatureCosts.from_mapping(
        {name: 1 + int(name[1]) for name in members}, columns, members
    )
    shuffled = random.sample(columns, len(columns))
    again = FeatureCosts.resolve(costs, shuffled)
    features = again.column_features(columns)
    assert [again.names[feature] for feature in features] == [f"g{group}" for group in groups]
    assert [again.costs[feature] for feature in features] == [1 + group for group in groups]
    first = dict.fromkeys(again.column_features(shuffled).tolist())
    assert list(first) == list(range(len(again.names)))
