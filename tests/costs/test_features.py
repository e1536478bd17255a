"""Costs of features: ways to give them, their groups and fees, and what is refused."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.costs import FeatureCosts, Fee
from emsco.designs.constraints import Constraints
from emsco.errors import CostsError

COLUMNS = ["age", "iron", "sex", "glucose"]
PANEL = {"panel": ["glucose", "iron"]}
FEES = {"visit": (20, ["panel", "sex"]), "draw": (2.1, ["panel"])}


def made():
    costs = {"panel": 40, "sex": 2, "age": 1}
    delays = {"panel": 24}
    costs = FeatureCosts.from_mapping(costs, COLUMNS, PANEL, FEES, delays)
    return replace(costs, evaluation=3)


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


def test_groups_stand_where_their_first_column_does():
    costs = made()
    assert costs.names == ("age", "panel", "sex")
    assert costs.costs.tolist() == [1, 40, 2]
    assert costs.columns == (("age",), ("iron", "glucose"), ("sex",))
    assert costs.table == tuple(COLUMNS)
    assert costs.groups == {"panel": ("iron", "glucose")}
    assert costs.column_features(COLUMNS).tolist() == [0, 1, 2, 1]
    apart = FeatureCosts.from_mapping({"panel": 40, "age": 1}, groups=PANEL)
    assert (apart.names, apart.table) == (("panel", "age"), ("glucose", "iron", "age"))
    own = FeatureCosts.from_mapping({"a": {"cost": 1, "columns": ["a", "b"]}}, ["a", "b"])
    assert own.groups == {"a": ("a", "b")}


def test_ready_costs_keep_all_that_they_say_in_any_order_of_columns():
    again = FeatureCosts.resolve(made(), COLUMNS[::-1])
    assert again.names == ("panel", "sex", "age")
    assert again.columns[0] == ("glucose", "iron")
    assert (again.costs.tolist(), again.delays.tolist()) == ([40, 2, 1], [24, 0, 0])
    assert (again.fees, again.evaluation) == (made().fees, 3)
    changed = FeatureCosts.resolve(made(), COLUMNS, 0.5, {"sex": 7})
    assert (changed.evaluation, changed.delays.tolist()) == (0.5, [0, 24, 7])


def test_columns_that_go_take_their_groups_fees_and_delays_with_them():
    costs = made().without(["iron"])
    assert (costs.columns[1], costs.table) == (("glucose",), ("age", "sex", "glucose"))
    costs = made().without(["iron", "glucose"])
    assert (costs.names, costs.delays.tolist()) == (("age", "sex"), [0, 0])
    assert costs.fees == (Fee("visit", 20, ("sex",)),)
    bought = made().once_bought(["panel"])
    assert (bought.costs.tolist(), bought.fees, bought.has_delays) == ([1, 0, 2], (), False)


def test_the_longest_beginning_of_a_column_tells_its_group():
    columns = ["age", "blood_iron", "blood_fat_ldl", "blood_fat_hdl", "blood"]
    costs = FeatureCosts.from_prefixes(
        {"age": 1, "blood_fat": 9, "blood_iron": 4, "blood": 2}, columns
    )
    assert costs.groups == {"blood_fat": ("blood_fat_ldl", "blood_fat_hdl")}
    assert costs.names == ("age", "blood_iron", "blood_fat", "blood")
    dotted = FeatureCosts.from_prefixes({"a": 1, "a.b": 2}, ["a.x", "a.b.x", "a.y"], separator=".")
    assert dotted.columns == (("a.x", "a.y"), ("a.b.x",))


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


def test_a_feature_under_a_fee_is_not_free():
    costs = FeatureCosts.from_mapping({"a": 0, "b": 0, "c": 1}, fees={"visit": (3, ["a"])})
    assert costs.alone.tolist() == [3, 0, 1]
    assert Constraints().with_free_first(costs).first == ("b",)
    assert costs.smallest == 1
    assert FeatureCosts.from_mapping({"a": 0}, fees={"visit": (3, ["a"])}).total == 3


def from_mapping(costs, names="abc", *given):
    return FeatureCosts.from_mapping(costs, names, *given)


def with_fees(fees):
    return FeatureCosts.from_mapping({"age": 1, "sex": 2}, fees=fees)


@pytest.mark.parametrize(
    ("call", "arguments", "shown"),
    [
        (FeatureCosts.from_array, ([1, math.nan, 2],), ["none", "x1"]),
        (FeatureCosts.from_array, ([1, 1e300],), ["1e+300", "x1"]),
        (FeatureCosts.from_array, ([1e-310, 1e-320],), ["1e-310"]),
        (FeatureCosts.resolve, (FeatureCosts.from_array([1]), ["a"]), ["x0"]),
        (from_mapping, ({"a": 1, "b": 1, "c": "d"},), ["'c'", "'d'"]),
        (from_mapping, ({"a": 1, "p": 2}, "a", {"p": []}), ["'p'"]),
        (from_mapping, ({"p": 1, "q": 1}, "a", {"p": ["a"], "q": ["a"]}), ["'a'", "'p'", "'q'"]),
        (from_mapping, ({"p": 1}, "a", {"p": ["z"]}), ["'p'", "'z'"]),
        (from_mapping, ({"c": 1}, "abc", {"c": ["a", "b"]}), ["'c'"]),
        (from_mapping, ({"p": 1, "a": 1}, "ab", {"p": ["a", "b"]}), ["'a'", "'p'"]),
        (from_mapping, ({"a": 1}, None, {"p": ["b"]}), ["'p'"]),
        (from_mapping, ({"p": {"columns": ["a"]}}, "a"), ["'p'"]),
        (FeatureCosts.from_prefixes, ({"a": 1, "b": 1}, ["a_x"]), ["'b'"]),
        (FeatureCosts, (("a", "b"), [1, 1], 0.0, (("a",),)), ["2 features"]),
        (FeatureCosts, (("a", "p"), [1, 1], 0.0, (("x",), ("a",))), ["'a'", "'p'"]),
        (FeatureCosts, (("a",), [1], 0.0, (("a", "b"),), ("a",)), ["'b'"]),
        (made().column_features, (["irn"],), ["'irn'", "'iron'"]),
        (made().with_delays, ({"age": -1},), ["'age'", "-1"]),
        (made().with_delays, ({"iron": 1},), ["'iron'", "'panel'"]),
        (made().with_delays, ([0, 1],), ["3 features"]),
        (with_fees, ({"draw": (2, [])},), ["'draw'"]),
        (with_fees, ({"draw": (-2, ["age"])},), ["'draw'", "-2"]),
        (with_fees, ({"draw": ("2", ["age"])},), ["'draw'", "'2'"]),
        (with_fees, ({"draw": (2, "age")},), ["'draw'", "'age'"]),
        (with_fees, ({"draw": (2, ["b"])},), ["'draw'", "'b'"]),
        (with_fees, ([("draw", 2, ["age"])],), ["fees must be like"]),
        (with_fees, ([Fee("draw", 1.0, ("age",))] * 2,), ["'draw'"]),
    ],
)
def test_bad_costs_are_refused_in_a_sentence_that_names_them(call, arguments, shown):
    with pytest.raises(CostsError) as caught:
        call(*arguments)
    said = str(caught.value)
    assert re.fullmatch(r"[^\n]+[.?]", said)
    assert all(one in said for one in shown), said
