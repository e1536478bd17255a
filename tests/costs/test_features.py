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
from emsco.errors import CostsError, EMSCOError, Hint, Remedy

# Refused values


@pytest.mark.parametrize(
    ("bad", "shown"), [(-1, "-1"), (-1e-9, "-1e-09"), (math.nan, "nan"), (math.inf, "inf")]
)
def test_costs_that_are_negative_or_not_finite_are_refused_by_feature_name(bad, shown):
    words = rf"costs must be finite and at least 0, got {shown} for feature 'x1'\."
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_array([1, bad, 2])


def test_the_first_bad_cost_is_the_one_reported():
    with pytest.raises(CostsError, match="got -2 for feature 'b'"):
        FeatureCosts.from_mapping({"a": 1, "b": -2, "c": math.nan})


def test_a_missing_value_counts_as_not_a_number():
    with pytest.raises(CostsError, match="got nan for feature 'x1'"):
        FeatureCosts.from_array([1, None])


@pytest.mark.parametrize(
    "costs",
    [["cheap", 1], [1j, 2], [[1], [2, 3]], {1, 2}],
    ids=["text", "complex", "ragged", "set"],
)
def test_costs_that_are_not_numbers_are_refused(costs):
    with pytest.raises(CostsError, match="costs must be numbers, got"):
        FeatureCosts.from_array(costs)


def test_costs_that_are_no_numbers_are_named_in_one_line():
    with pytest.raises(CostsError, match=r"^costs must be numbers, got .{1,60}…\.$"):
        FeatureCosts.from_mapping({"age": 1, "chol": [[[10**400] * 50] * 2] * 2})


def test_a_cost_too_large_for_a_float_is_refused():
    with pytest.raises(CostsError, match="costs must be"):
        FeatureCosts.from_array([10**400, 1])


def test_costs_too_small_to_divide_by_are_refused():
    words = "costs must have one of 1e-100 or more, got 1e-310 as the largest; count in a smaller"
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_array([1e-310, 1e-320])
    assert FeatureCosts.from_array([1e-310, 1]).total == 1


@pytest.mark.parametrize("n_costs", [1, 3])
def test_a_wrong_number_of_costs_is_refused(n_costs):
    words = rf"costs must have one entry for each of the 2 features, got {n_costs}\."
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_array(np.ones(n_costs), names=["a", "b"])


@pytest.mark.parametrize(("costs", "shape"), [([[1, 2]], r"\(1, 2\)"), (5, r"\(\)")])
def test_costs_are_one_row_of_numbers(costs, shape):
    words = rf"costs must be one number per feature, got an array of shape {shape}\."
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_array(costs)


def test_names_that_are_no_features_are_refused():
    words = r"features of the data \('age', 'sex'\), got 'agee', 'six'; did you mean 'age'"
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_mapping({"agee": 1, "sex": 1, "six": 1}, names=["age", "sex"])


def test_features_without_a_cost_are_refused():
    words = r"costs must have a cost for every feature, got none for 'scan', 'sex'; add their "
    with pytest.raises(CostsError, match=words + "costs, or drop 'scan', 'sex'") as caught:
        FeatureCosts.from_mapping({"age": 1}, names=["age", "scan", "sex"])
    assert caught.value.hint == Hint(Remedy.DROP, ("scan", "sex"))


def test_a_long_list_of_names_is_cut_short():
    names = [f"x{i}" for i in range(9)]
    words = r"none for 'x1', 'x2', 'x3', 'x4', 'x5' and 3 more;"
    with pytest.raises(CostsError, match=words) as caught:
        FeatureCosts.from_mapping({"x0": 1}, names)
    assert caught.value.hint == Hint(Remedy.DROP, tuple(names[1:]))  # the way out has them all


@pytest.mark.parametrize("n_features", [1, 3])
def test_costs_that_are_all_0_are_refused(n_features):
    words = rf"at least one cost must be above 0, got 0 for all {n_features} features\."
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_array(np.zeros(n_features))


def test_costs_of_no_features_are_refused():
    with pytest.raises(CostsError, match="at least one cost must be above 0"):
        FeatureCosts.from_mapping({})


def test_feature_names_that_repeat_are_refused():
    with pytest.raises(CostsError, match=r"feature names must differ, got 'a', 'b', 'a'\."):
        FeatureCosts.from_array([1, 2, 3], names=["a", "b", "a"])


def test_names_that_only_differ_in_type_repeat():
    with pytest.raises(CostsError, match=r"feature names must differ, got '1', '1'\."):
        FeatureCosts.from_mapping({1: 1, "1": 2})


def test_the_cost_of_an_unknown_feature_is_an_error_of_this_library():
    with pytest.raises(EMSCOError, match="'weight'"):
        FeatureCosts.from_mapping({"age": 1}).cost_of(["weight"])


def test_a_costs_error_can_be_caught_as_a_value_error():
    with pytest.raises(ValueError, match="at least one cost must be above 0"):
        FeatureCosts.from_array([0.0])


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
    with pytest.raises(CostsError, match=r"costs must name features of the data \('a'\), got 'x0'"):
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
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'names'"):
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
    with pytest.raises(CostsError, match=r"costs must be at most 1e\+100, got 1e\+300\."):
        FeatureCosts.from_array([1, 1e300])


# Delays


@pytest.mark.parametrize(
    ("delays", "words"),
    [
        ({"age": -1}, r"the delay of 'age' must be finite and at least 0, got -1\."),
        ({"panel": math.nan}, r"the delay of 'panel' must be finite and at least 0, got nan\."),
        ({"age": "soon"}, r"the delay of 'age' must be finite and at least 0, got 'soon'\."),
        ({"scan": 1}, r"delays must name features \('age', 'panel'\), got 'scan'\."),
        (
            {"iron": 1},
            r"delays must name features \('age', 'panel'\), got 'iron', a column of group 'panel'",
        ),
        ([0, 1, 2], r"delays must have one entry for each of the 2 features, got shape \(3,\)\."),
        ([], r"delays must have one entry for each of the 2 features, got shape \(0,\)\."),
        ([0, -2], r"the delay of 'panel' must be finite and at least 0, got -2\."),
        ("soon", r"delays must be numbers, got 'soon'\."),
    ],
)
def test_bad_delays_are_refused_in_one_sentence(delays, words):
    costs = FeatureCosts.from_mapping({"age": 1, "panel": 4}, groups={"panel": ["zinc", "iron"]})
    with pytest.raises(CostsError, match=words):
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
