"""Costs of features: ways to give them, their groups and fees, and what goes with a column."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.costs import FeatureCosts, Fee

COLUMNS = ["age", "iron", "sex", "glucose"]
PANEL = {"panel": ["glucose", "iron"]}
FEES = {"visit": (20, ["panel", "sex"]), "draw": (2.1, ["panel"])}


def made():
    costs = {"panel": 40, "sex": 2, "age": 1}
    return FeatureCosts.from_mapping(costs, COLUMNS, PANEL, FEES, {"panel": 24}, 3)


@pytest.mark.parametrize(
    "given_costs",
    [[2, 1], np.array([2, 1]), {"a": 1, "b": 2}, FeatureCosts.from_mapping({"a": 1, "b": 2})],
    ids=["list", "array", "mapping", "costs"],
)
def test_every_way_to_give_costs_gives_the_same_costs(given_costs):
    costs = FeatureCosts.resolve(given_costs, ["b", "a"])
    assert (costs.names, costs.costs.tolist()) == (("b", "a"), [2.0, 1.0])
    assert FeatureCosts.resolve(None, ["b", "a"]).costs.tolist() == [1.0, 1.0]
    assert FeatureCosts.from_array([1, 2]).names == ("x0", "x1")


def test_costs_are_copied_and_locked():
    given_costs = np.array([1.0, 2.0])
    costs = FeatureCosts.from_array(given_costs)
    given_costs[0] = 9
    assert costs.costs.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        costs.costs[0] = 9
    with pytest.raises(FrozenInstanceError, match="'names'"):
        costs.names = ("a", "b")


def test_ready_costs_keep_all_that_they_say_in_any_order_of_columns():
    costs = made()
    assert (costs.names, costs.table) == (("age", "panel", "sex"), tuple(COLUMNS))
    assert costs.groups == {"panel": ("iron", "glucose")}
    again = FeatureCosts.resolve(costs, COLUMNS[::-1])
    assert again.names == ("panel", "sex", "age")
    assert again.columns[0] == ("glucose", "iron")
    assert (again.costs.tolist(), again.delays.tolist()) == ([40, 2, 1], [24, 0, 0])
    assert (again.fees, again.evaluation) == (costs.fees, 3)
    changed = FeatureCosts.resolve(costs, COLUMNS, 0.5, {"sex": 7})
    assert (changed.evaluation, changed.delays.tolist()) == (0.5, [0, 24, 7])
    apart = FeatureCosts.from_mapping({"panel": 40, "age": 1}, groups=PANEL)
    assert (apart.names, apart.table) == (("panel", "age"), ("glucose", "iron", "age"))


def test_columns_that_go_take_their_groups_fees_and_delays_with_them():
    costs = made().without(["iron"])
    assert (costs.columns[1], costs.table) == (("glucose",), ("age", "sex", "glucose"))
    costs = made().without(["iron", "glucose"])
    assert (costs.names, costs.delays.tolist()) == (("age", "sex"), [0, 0])
    assert costs.fees == (Fee("visit", 20, ("sex",)),)
    bought = made().once_bought(["panel"])
    assert (bought.costs.tolist(), bought.fees, bought.has_delays) == ([1, 0, 2], (), False)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.randoms())
def test_every_column_is_of_one_feature_however_the_table_is_ordered(groups, random):
    columns = [f"c{i}" for i in range(len(groups))]
    members = {
        f"g{g}": [c for c, of in zip(columns, groups, strict=True) if of == g] for g in {*groups}
    }
    costs = {name: 1 + int(name[1]) for name in members}
    shuffled = random.sample(columns, len(columns))
    again = FeatureCosts.resolve(FeatureCosts.from_mapping(costs, columns, members), shuffled)
    features = again.column_features(columns)
    assert [again.names[feature] for feature in features] == [f"g{group}" for group in groups]
    assert [again.costs[feature] for feature in features] == [1 + group for group in groups]
    first = dict.fromkeys(again.column_features(shuffled).tolist())
    assert list(first) == list(range(len(again.names)))
