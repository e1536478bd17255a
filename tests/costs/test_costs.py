"""Costs: what is refused, how they are given, and when they are whole numbers."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.costs import FeatureCosts
from emsco.errors import CostsError, EMSCOError, Hint, Remedy

# What is refused


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


def test_a_cost_too_large_for_a_float_is_refused():
    with pytest.raises(CostsError, match="costs must be"):
        FeatureCosts.from_array([10**400, 1])


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
    words = r"costs must name features of the data \('age', 'sex'\), got 'agee', 'six'\."
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_mapping({"agee": 1, "sex": 1, "six": 1}, names=["age", "sex"])


def test_features_without_a_cost_are_refused():
    words = r"costs must have a cost for every feature, got none for 'scan', 'sex'; add their "
    with pytest.raises(CostsError, match=words + "costs, or drop 'scan', 'sex'") as caught:
        FeatureCosts.from_mapping({"age": 1}, names=["age", "scan", "sex"])
    assert caught.value.hint == Hint(Remedy.DROP, ("scan", "sex"))


def test_a_long_list_of_names_is_cut_short():
    names = [f"x{i}" for i in range(9)]
    with pytest.raises(CostsError, match=r"none for 'x1', 'x2', 'x3', 'x4', 'x5' and 3 more;"):
        FeatureCosts.from_mapping({"x0": 1}, names)


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


# How they are given


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
def test_every_way_to_give_costs_comes_to_the_same(given_costs):
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


# Files


@pytest.fixture
def costs_file(tmp_path):
    """Writes a costs file and returns its path."""

    def write(content, name="costs.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("costs.csv", "feature,cost\nb,2\na,1\nc,0.5\n"),
        ("costs.csv", ' Feature , COST \r\n"b", 2 \r\n\r\na,1\r\nc,.5'),
        ("costs.csv", b"\xef\xbb\xbffeature,cost\nb,2\na,1\nc,5e-1\n"),
        ("costs.json", '{"c": 0.5, "a": 1, "b": 2}'),
        ("costs.JSON", "[1, 2, 0.5]"),
        ("costs.txt", "1,2,0.5"),
        ("costs.csv", "1, 2, 0.5\n"),
        ("costs", "\n1 2\t0.5\n\n"),
    ],
    ids=["csv", "loose-csv", "marked-csv", "json", "json-list", "commas", "both", "blanks"],
)
def test_every_format_of_a_costs_file_comes_to_the_same(costs_file, name, text):
    costs = FeatureCosts.from_file(costs_file(text, name), ["a", "b", "c"])
    assert costs.names == ("a", "b", "c")
    assert costs.costs.tolist() == [1, 2, 0.5]


def test_a_costs_file_alone_gives_the_names_or_numbers_them(costs_file):
    assert FeatureCosts.from_file(costs_file("feature,cost\nb,2\na,1\n")).names == ("b", "a")
    assert FeatureCosts.from_file(costs_file("2 1")).names == ("x0", "x1")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", "feature,cost,group\nid,9,\na,1,\nb,2,p\nc,,p\nd,7,q\n"),
        ("c.json", '{"id": 9, "a": 1, "p": {"cost": 2, "columns": ["c", "b"]}, "d": 7}'),
    ],
)
def test_costs_of_dropped_columns_are_ignored_alone_and_in_groups(costs_file, name, text):
    path = costs_file(text, name)
    costs = FeatureCosts.from_file(path, ["a", "b"], dropped=["id", "c", "d", "none"])
    assert (costs.names, costs.costs.tolist()) == (("a", "p"), [1, 2])
    assert costs.columns == (("a",), ("b",))
    with pytest.raises(CostsError, match=r"must name features of the data .*, got 'id'"):
        FeatureCosts.from_file(path, ["a", "b", "c", "d"], dropped=["none"])


def test_names_with_commas_are_quoted(costs_file):
    path = costs_file('feature,cost\n"pressure, mean",2\n')
    assert FeatureCosts.from_file(path).names == ("pressure, mean",)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.csv", "", "it is empty"),
        ("c.csv", "feature,cost\n", "it has no feature"),
        ("c.csv", "feature,cost\na,1\na,2\n", "it has feature 'a' twice"),
        ("c.json", '{"a": 1, "a": 2}', "it has feature 'a' twice"),
        ("c.csv", "feature,cost\na,cheap\n", "it has 'cheap' as a cost in the line 'a,cheap'"),
        ("c.csv", "feature,cost\na,1,2\n", "it has the line 'a,1,2', which is not 'feature,cost'"),
        ("c.csv", 'feature,cost\n"a,1\nb,2\n', "it has the line 'a,1b,2', which is not"),
        ("c.csv", "feature,cost,unit\na,1,g\n", "it has a column 'unit', which is not 'group'"),
        (
            "c.csv",
            "feature,cost,group\na,1\n",
            "it has the line 'a,1', which is not 'feature,cost,g",
        ),
        ("c.csv", "feature,cost,group\na,,g\nb,,g\n", "it has no cost for group 'g'"),
        ("c.csv", "feature,cost,group\na,1,g\nb,2,g\n", "it has the costs 1 and 2 for group 'g'"),
        ("c.csv", "feature,cost,group\na,1,g\na,1,h\n", "it has feature 'a' twice"),
        ("c.csv", "feature,cost,group\na,,\n", "it has '' as a cost in the line 'a,,'"),
        ("c.csv", "feature,cost,group\ng,1,\nb,1,g\n", "it has 'g' as a feature and as a group of"),
        (
            "c.csv",
            "feature,price\na,2\n",
            "it begins with 'feature,price'",
        ),
        ("c.txt", "1,two,3", "it has 'two' as a cost in the line '1,two,3'"),
        ("c.json", "3", "it is neither an object of names and costs nor a list of costs"),
        ("c.json", '{"a": 1', "Expecting ',' delimiter: line 1 column 8 (char 7)"),
        ("c.json", "[" * 100_000, "maximum recursion depth exceeded"),
        ("c.csv", b"\xff\xfe\x00", "'utf-8' codec can't decode byte 0xff"),
        ("c.csv", "x" * 200_000, "field larger than field limit (131072)"),
        (
            "c.txt",
            "1 " + "x" * 99_999,
            f"it has '{'x' * 59}…' as a cost in the line '1 {'x' * 57}…'",
        ),
    ],
)
def test_a_file_that_holds_no_costs_is_refused_with_what_is_wrong(costs_file, name, text, words):
    path = costs_file(text, name)
    rule = "costs must be CSV with the columns feature and cost, JSON, or one line of numbers"
    with pytest.raises(CostsError, match=re.escape(f"{rule}, got {path}: {words}")):
        FeatureCosts.from_file(path)


def test_a_costs_file_that_cannot_be_read_is_refused(tmp_path):
    words = rf"costs must be a file that can be read, got {tmp_path}/none \(No such file or dir"
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_file(tmp_path / "none")
    with pytest.raises(CostsError, match=rf"got {tmp_path} \(Is a directory\)\."):
        FeatureCosts.from_file(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feature,cost\na,1\nz,1\n", r"costs must name features of the data \('a', 'b'\), got 'z'"),
        ("feature,cost\na,1\n", "costs must have a cost for every feature, got none for 'b'"),
        ("1 2 3", "costs must have one entry for each of the 2 features, got 3"),
        ("1 -2", "costs must be finite and at least 0, got -2 for feature 'b'"),
        ("1 nan", "costs must be finite and at least 0, got nan for feature 'b'"),
    ],
)
def test_costs_of_a_file_that_do_not_fit_the_data_are_refused(costs_file, text, words):
    with pytest.raises(CostsError, match=words):
        FeatureCosts.from_file(costs_file(text), ["a", "b"])


# Groups of columns

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
def test_every_format_of_groups_comes_to_the_same(costs_file, name, text):
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
    found, _, per_one = FeatureCosts.from_array(costs).in_units()
    assert found.dtype == np.int64
    assert found.tolist() == units
    assert per_one == round(1 / unit)


@pytest.mark.parametrize(
    "costs",
    [[math.pi, 1], [1 / 3], [1e-7, 1], [0.1 + 0.2], [2**53], [2**52, 2**52], [1e11, 1e-6], [1e90]],
    ids=["pi", "third", "fine", "rounded", "huge", "huge-sum", "wide", "beyond"],
)
def test_other_costs_stay_as_they_are(costs):
    found, _, per_one = FeatureCosts.from_array(costs).in_units()
    assert found.dtype == np.float64
    assert found.tolist() == costs
    assert per_one == 1


def test_the_more_rows_the_smaller_the_costs_that_stay_whole_in_their_sum():
    costs = FeatureCosts.from_array([2**40, 1])
    assert costs.in_units(n_rows=2**12).features.dtype == np.int64
    assert costs.in_units(n_rows=2**13).features.dtype == np.float64


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(0, 6), st.lists(st.integers(1, 10**7), min_size=1, max_size=8))
def test_every_decimal_of_up_to_6_places_is_counted_exactly(decimals, multiples):
    costs = [float(f"{multiple}e-{decimals}") for multiple in multiples]
    units, _, per_one = FeatureCosts.from_array(costs).in_units()
    steps = Fraction(1, per_one)
    exact = [Fraction(multiple, 10**decimals) for multiple in multiples]
    assert units.dtype == np.int64
    assert [number * steps for number in units.tolist()] == exact


def test_costs_whose_sums_could_overflow_are_refused():
    with pytest.raises(CostsError, match=r"costs must be at most 1e\+100, got 1e\+300\."):
        FeatureCosts.from_array([1, 1e300])
