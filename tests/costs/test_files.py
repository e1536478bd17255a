"""Files of costs: their forms, and words about mistakes in them."""

from __future__ import annotations

import re

import pytest

from emsco.costs import FeatureCosts
from emsco.errors import CostsError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("costs.csv", "feature,cost\nb,2\na,1\nc,0.5\n"),
        ("costs.csv", ' Feature , COST \r\n"b", 2 \r\n\r\na,1\r\nc,.5'),
        ("costs.csv", b"\xef\xbb\xbffeature,cost\nb,2\na,1\nc,5e-1\n"),
        ("costs.csv", "feature;cost\nb;2\na;1\nc;0,5\n"),
        ("costs.csv", "feature\tcost\tgroup\nb\t2\t\na\t1\t\nc\t.5\t\n"),
        ("costs.json", '{"c": 0.5, "a": 1, "b": 2}'),
        ("costs.JSON", "[1, 2, 0.5]"),
        ("costs.txt", "1,2,0.5"),
        ("costs.csv", "1, 2, 0.5\n"),
        ("costs", "\n1 2\t0.5\n\n"),
    ],
    ids=[
        "csv",
        "loose-csv",
        "marked-csv",
        "semicolons",
        "tabs",
        "json",
        "json-list",
        "commas",
        "both",
        "blanks",
    ],
)
def test_every_form_of_a_costs_file_gives_the_same_costs(costs_file, name, text):
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
        ("c.csv", 'feature,cost\n"a,1\nb,2\n', "it has the line 'a,1\\nb,2\\n', which is not"),
        (
            "c.csv",
            "feature,cost,unit\na,1,g\n",
            "it has a column 'unit', which is not one of 'group', 'fee', 'fee_cost', 'delay'",
        ),
        (
            "c.csv",
            "feature,cost,group\na,1\n",
            "it has the line 'a,1', which is not 'feature,cost,g",
        ),
        ("c.csv", "feature,cost,group\na,,g\nb,,g\n", "it has no cost for group 'g'"),
        (
            "c.csv",
            "feature,cost,group\na,1,g\nb,2,g\n",
            "it has the costs 1 and 2 for group 'g', which has one cost for all its columns",
        ),
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
        ("c.json", "[" * 100_000, "it is nested too deeply"),
        ("c.json", f'{{"a": {"9" * 5000}}}', "a number has 5,000 digits"),
        ("c.csv", b"\xff\xfe\x00", "'utf-8' codec can't decode byte 0xff"),
        ("c.csv", "x" * 200_000, "field larger than field limit (131072)"),
        (
            "c.txt",
            "1 " + "x" * 99_999,
            f"it has '{'x' * 59}…' as a cost in the line '1 {'x' * 57}…'",
        ),
    ],
)
def test_a_file_without_valid_costs_is_refused_with_the_reason(costs_file, name, text, words):
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


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\u2028", "\x0b", "\x85"])
def test_a_name_in_quotes_may_have_ends_of_lines_in_it(tmp_path, mark):
    name = f"blood{mark}pressure"
    path = tmp_path / "c.csv"
    path.write_bytes(f'feature,cost\r\n"{name}",3\r\n\r\nage,1\r\n'.encode())
    costs = FeatureCosts.from_file(path, ["age", name])
    assert (costs.names, costs.costs.tolist()) == (("age", name), [1, 3])
