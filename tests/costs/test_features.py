"""Costs: values that are refused, ways to give them, and whole numbers of a unit."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.costs import FeatureCosts
from emsco.errors import CostsError

# Refused values


@pytest.mark.parametrize("bad", [-1, -1e-9, math.nan, math.inf])
def test_costs_that_are_negative_or_not_finite_are_refused_by_feature_name(bad):
    with pytest.raises(CostsError):
        FeatureCosts.from_array([1, bad, 2])


@pytest.mark.parametrize(
    "costs",
    [["cheap", 1], [1j, 2], [[1], [2, 3]], {1, 2}],
    ids=["text", "complex", "ragged", "set"],
)
def test_costs_that_are_not_numbers_are_refused(costs):
    with pytest.raises(CostsError):
        FeatureCosts.from_array(costs)


def test_costs_too_small_to_divide_by_are_refused():
    with pytest.raises(CostsError):
        FeatureCosts.from_array([1e-310, 1e-320])
    assert FeatureCosts.from_array([1e-310, 1]).total == 1


@pytest.mark.parametrize("n_costs", [1, 3])
def test_a_wrong_number_of_costs_is_refused(n_costs):
    with pytest.raises(CostsError):
        FeatureCosts.from_array(np.ones(n_costs), names=["a", "b"])


@pytest.mark.parametrize("costs", [[[1, 2]], 5])
def test_costs_are_one_row_of_numbers(costs):
    with pytest.raises(CostsError):
        FeatureCosts.from_array(costs)


def test_names_that_are_no_features_are_refused():
    with pytest.raises(CostsError):
        FeatureCosts.from_mapping({"agee": 1, "sex": 1, "six": 1}, names=["age", "sex"])


def test_features_without_a_cost_are_refused():
    with pytest.raises(CostsError):
        FeatureCosts.from_mapping({"age": 1}, names=["age", "scan", "sex"])


@pytest.mark.parametrize("n_features", [1, 3])
def test_costs_that_are_all_0_are_refused(n_features):
    with pytest.raises(CostsError):
        FeatureCosts.from_array(np.zeros(n_features))


def test_feature_names_that_repeat_are_refused():
    with pytest.raises(CostsError, match="'a'"):
        FeatureCosts.from_array([1, 2, 3], names=["a", "b", "a"])


# Ways to give costs


def test_some_costs_may_be_0():
    assert FeatureCosts.from_array([0, 3]).costs.tolist() == [0.0, 3.0]


def test_features_without_names_are_numbered():
    assert FeatureCosts.from_array([1, 2]).names == ("x0", "x1")


def test_a_mapping_is_put_into_the_order_of_the_columns():
    costs = FeatureCosts.from_mapping({"a": 1, "b": 2, "c": 3}, names=["c", "a", "b"])
    assert costs.names == ("c", "a", "b")
    assert costs.costs.tolist() == [3.0, 1.0, 2.0]


def test_no_costs_mean_1_each():
    assert FeatureCosts.resolve(None, ["a", "b"]).costs.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "given_costs",
    [[2, 1], np.array([2, 1]), {"a": 1, "b": 2}, FeatureCosts.from_mapping({"a": 1, "b": 2})],
    ids=["list", "array", "mapping", "costs"],
)
def test_every_way_to_give_costs_gives_the_same_costs(given_costs):
    costs = FeatureCosts.resolve(given_costs, ["b", "a"])
    assert costs.names == ("b", "a")
    assert costs.costs.tolist() == [2.0, 1.0]


def test_ready_costs_of_other_features_are_refused():
    with pytest.raises(CostsError, match="'a'"):
        FeatureCosts.resolve(FeatureCosts.from_array([1]), ["a"])


def test_total_and_cost_of_add_up():
    costs = FeatureCosts.from_mapping({"age": 1, "scan": 40, "sex": 0.5})
    assert costs.total == 41.5
    assert costs.cost_of(["sex", "scan"]) == 40.5
    assert costs.cost_of([]) == 0.0


def test_costs_are_copied_and_locked():
    given_costs = np.array([1.0, 2.0])
    costs = FeatureCosts.from_array(given_costs)
    given_costs[0] = 9
    assert costs.costs.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        costs.costs[0] = 9
    with pytest.raises(FrozenInstanceError, match="'names'"):
        costs.names = ("a", "b")


# Whole numbers of a unit


@pytest.mark.parametrize(
    ("costs", "units", "unit"),
    [
        ([100, 300, 0], [100, 300, 0], 1.0),
        ([0.1, 0.2, 0.3, 0.7], [1, 2, 3, 7], 0.1),
        ([0.1, 0.25, 3], [10, 25, 300], 0.01),
        ([1e-6, 1.0], [1, 1_000_000], 1e-6),
        ([0.000_003, 123.456_789], [3, 123_456_789], 1e-6),
        ([2**40], [2**40], 1.0),
        ([2**39, 2**39], [2**39, 2**39], 1.0),
    ],
)
def test_decimal_costs_become_whole_numbers_of_the_largest_unit(costs, units, unit):
    units_of = FeatureCosts.from_array(costs).in_units()
    whole, per_one = units_of.features, units_of.per_one
    assert whole.dtype == np.int64
    assert whole.tolist() == units
    assert per_one == round(1 / unit)


@pytest.mark.parametrize(
    "costs",
    [[math.pi, 1], [1 / 3], [1e-7, 1], [0.1 + 0.2], [2**53], [2**52, 2**52], [1e11, 1e-6], [1e90]],
    ids=["pi", "third", "fine", "rounded", "huge", "huge-sum", "wide", "beyond"],
)
def test_other_costs_stay_as_they_are(costs):
    units_of = FeatureCosts.from_array(costs).in_units()
    whole, per_one = units_of.features, units_of.per_one
    assert whole.dtype == np.float64
    assert whole.tolist() == costs
    assert per_one == 1


def test_the_more_rows_the_smaller_the_costs_that_stay_whole_in_their_sum():
    costs = FeatureCosts.from_array([2**40, 1])
    assert costs.in_units(n_rows=2**12).features.dtype == np.int64
    assert costs.in_units(n_rows=2**13).features.dtype == np.float64


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(0, 6), st.lists(st.integers(1, 10**7), min_size=1, max_size=8))
def test_every_decimal_of_up_to_6_places_is_counted_exactly(decimals, multiples):
    costs = [float(f"{multiple}e-{decimals}") for multiple in multiples]
    whole = FeatureCosts.from_array(costs).in_units()
    units, per_one = whole.features, whole.per_one
    steps = Fraction(1, per_one)
    exact = [Fraction(multiple, 10**decimals) for multiple in multiples]
    assert units.dtype == np.int64
    assert [number * steps for number in units.tolist()] == exact


def test_costs_whose_sums_could_overflow_are_refused():
    with pytest.raises(CostsError):
        FeatureCosts.from_array([1, 1e300])


# Delays


@pytest.mark.parametrize(
    "delays",
    [
        {"age": -1},
        {"panel": math.nan},
        {"age": "soon"},
        {"scan": 1},
        {"iron": 1},
        [0, 1, 2],
        [],
        [0, -2],
        "soon",
    ],
)
def test_bad_delays_are_refused_in_one_sentence(delays):
    costs = FeatureCosts.from_mapping({"age": 1, "panel": 4}, groups={"panel": ["zinc", "iron"]})
    with pytest.raises(CostsError):
        costs.with_delays(delays)


def test_delays_by_name_leave_the_others_as_they_were():
    costs = FeatureCosts.from_mapping({"age": 1, "chol": 5, "scan": 9}, delays={"chol": 2})
    assert costs.with_delays({"scan": 7}).delays.tolist() == [0, 2, 7]
    assert costs.with_delays([1, 0, 0]).delays.tolist() == [1, 0, 0]
    assert costs.with_delays({"chol": 0}).has_delays is False


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4)), min_size=1, max_size=6))
def test_a_stage_waits_for_the_slowest_feature_that_it_buys(features):
    stages, delays = map(np.array, zip(*features, strict=True))
    costs = FeatureCosts.from_array(np.ones(len(stages))).with_delays(delays)
    subsets = (stages >= 0) & (stages <= np.arange(4)[:, None])
    waited, waits = 0, []
    for j in range(4):
        waited += max([delay for stage, delay in features if stage == j], default=0)
        waits.append(waited)
    assert costs.waits_after_stages(subsets).tolist() == waits


# Groups of columns: their order, their forms, and words about those that do not fit


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
    ("costs", "groups"),
    [
        ({"p": 1}, {"p": []}),
        ({"p": 1}, {"p": "ab"}),
        ({"p": 1}, {"p": ["a"], "q": ["a"]}),
        ({"p": 1}, {"p": ["a", "a"]}),
        ({"p": 1}, {"p": ["z"]}),
        ({"c": 1}, {"c": ["a", "b"]}),
        ({"p": 1, "a": 1}, {"p": ["a", "b"]}),
        ({"p": 1}, {"p": ["a", "b"]}),
        ({"c": 1}, {"p": ["a", "b"]}),
        ({"p": 1, "z": 1}, {"p": ["a", "b"]}),
        ({"p": {"columns": ["a"]}}, {}),
        ({"p": {"cost": 1, "columns": 7}}, {}),
    ],
)
def test_groups_that_do_not_fit_the_table_are_refused(costs, groups):
    with pytest.raises(CostsError):
        FeatureCosts.from_mapping(costs, ["a", "b", "c"], groups)


def test_groups_without_a_cost_are_refused_where_no_table_is_known():
    with pytest.raises(CostsError, match="'panel'"):
        FeatureCosts.from_mapping({"age": 1}, groups=PANEL)


@pytest.mark.parametrize(
    ("names", "columns", "table"),
    [
        (("a", "b"), (("a",),), ()),
        (("a", "p"), (("x",), ("a",)), ()),
        (("a",), (("a", "b"),), ("a",)),
    ],
)
def test_features_and_columns_that_contradict_each_other_are_refused(names, columns, table):
    with pytest.raises(CostsError):
        FeatureCosts(names, np.ones(len(names)), columns=columns, table=table)


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
