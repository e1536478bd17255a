"""Costs of features: ways to give them, their groups and fees, and what goes with a column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.costs import FeatureCosts, Fee
from emsco.errors import ParameterError

COLUMNS = ["age", "iron", "sex", "glucose"]
PANEL = {"panel": ["glucose", "iron"]}
FEES = {"visit": (20, ["panel", "sex"]), "draw": (2.1, ["panel"])}
GIVEN = {"panel": 40, "sex": 2, "age": 1}
MADE = FeatureCosts.from_mapping(GIVEN, COLUMNS, PANEL, FEES, {"panel": 24}, 3)
PRICED = FeatureCosts.from_mapping({"a": None, "b": "bill", "c": 1})


def test_costs_in_any_form_follow_the_columns_and_are_copied_and_locked():
    in_order = np.array([2.0, 1.0])
    for form in ({"a": 1, "b": 2}, FeatureCosts.from_array([1, 2], "ab"), [2, 1], in_order):
        costs = FeatureCosts.resolve(form, "ba")
        assert (costs.names, costs.costs.tolist()) == (("b", "a"), [2, 1])
    in_order[0] = 9
    assert costs.costs[0] == 2
    with pytest.raises(ValueError, match="read-only"):
        costs.costs[0] = 9
    assert FeatureCosts.resolve(None, "ba").costs.tolist() == [1, 1]
    assert FeatureCosts.from_array([1, 2]).names == ("x0", "x1")


def test_ready_costs_keep_all_that_they_say_in_any_order_of_columns():
    assert (MADE.names, MADE.table) == (("age", "panel", "sex"), tuple(COLUMNS))
    again = FeatureCosts.resolve(MADE, COLUMNS[::-1])
    assert again.names == ("panel", "sex", "age")
    assert again.groups == {"panel": ("glucose", "iron")}
    assert (again.costs.tolist(), again.delays.tolist()) == ([40, 2, 1], [24, 0, 0])
    assert (again.fees, again.evaluation) == (MADE.fees, 3)
    changed = FeatureCosts.resolve(MADE, COLUMNS, 0.5, {"sex": 7})
    assert (changed.evaluation, changed.delays.tolist()) == (0.5, [0, 24, 7])
    apart = FeatureCosts.from_mapping({"panel": 40, "age": 1}, groups=PANEL)
    assert (apart.names, apart.table) == (("panel", "age"), ("glucose", "iron", "age"))


def test_columns_that_go_take_their_groups_fees_delays_and_prices_with_them():
    assert MADE.without(["iron"]).columns[1] == ("glucose",)
    costs = MADE.without(["iron", "glucose"])
    assert costs.names == costs.table == ("age", "sex")
    assert (costs.delays.tolist(), costs.fees) == ([0, 0], (Fee("visit", 20, ("sex",)),))
    bought = MADE.once_bought(["panel"])
    assert (bought.costs.tolist(), bought.fees, bought.has_delays) == ([1, 0, 2], (), False)
    for left in (PRICED.without(["b"]), PRICED.once_bought(["b"])):
        assert left.prices == {"a": None}
    more = MADE.with_expensive(["id"])
    assert (more.costs[-1], more.table[-1], more.delays[-1]) == (MADE.total + 1, "id", 0)


def test_where_prices_differ_costs_are_means_without_a_bound():
    MADE.check_bounded(3, 4)
    PRICED.check_bounded(None)
    for limits in ((3,), (None, 4)):
        with pytest.raises(ParameterError, match=r"got [34]"):
            PRICED.check_bounded(*limits)
    assert PRICED.in_words("ac") == ["a (about 0)", "c (1)"]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.randoms())
def test_every_column_is_of_one_feature_however_the_table_is_ordered(groups, random):
    columns = [f"c{i}" for i in range(len(groups))]
    owner = {c: f"g{group}" for c, group in zip(columns, groups, strict=True)}
    members = {name: [c for c in columns if owner[c] == name] for name in owner.values()}
    shuffled = random.sample(columns, len(columns))
    costs = FeatureCosts.from_mapping({name: int(name[1]) + 1 for name in members}, None, members)
    again = FeatureCosts.resolve(costs, shuffled)
    features = again.column_features(columns)
    assert [again.names[feature] for feature in features] == [*owner.values()]
    assert again.costs[features].tolist() == [1 + group for group in groups]
    assert again.names == tuple(dict.fromkeys(map(owner.get, shuffled)))
