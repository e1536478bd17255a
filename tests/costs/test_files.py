"""Files of costs: their forms, and words about mistakes in them."""

from __future__ import annotations

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
    with pytest.raises(CostsError, match="'id'"):
        FeatureCosts.from_file(path, ["a", "b", "c", "d"], dropped=["none"])


def test_names_with_commas_are_quoted(costs_file):
    path = costs_file('feature,cost\n"pressure, mean",2\n')
    assert FeatureCosts.from_file(path).names == ("pressure, mean",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", ""),
        ("c.csv", "feature,cost\n"),
        ("c.csv", "feature,cost\na,1\na,2\n"),
        ("c.json", '{"a": 1, "a": 2}'),
        ("c.csv", "feature,cost\na,cheap\n"),
        ("c.csv", "feature,cost\na,1,2\n"),
        ("c.csv", 'feature,cost\n"a,1\nb,2\n'),
        ("c.csv", "feature,cost,unit\na,1,g\n"),
        ("c.csv", "feature,cost,group\na,1\n"),
        ("c.csv", "feature,cost,group\na,,g\nb,,g\n"),
        ("c.csv", "feature,cost,group\na,1,g\nb,2,g\n"),
        ("c.csv", "feature,cost,group\na,1,g\na,1,h\n"),
        ("c.csv", "feature,cost,group\na,,\n"),
        ("c.csv", "feature,cost,group\ng,1,\nb,1,g\n"),
        ("c.csv", "feature,price\na,2\n"),
        ("c.txt", "1,two,3"),
        ("c.json", "3"),
        ("c.json", '{"a": 1'),
        ("c.json", "[" * 100_000),
        ("c.json", f'{{"a": {"9" * 5000}}}'),
        ("c.csv", b"\xff\xfe\x00"),
        ("c.csv", "x" * 200_000),
        ("c.txt", "1 " + "x" * 99_999),
    ],
)
def test_a_file_without_valid_costs_is_refused_with_the_reason(costs_file, name, text):
    path = costs_file(text, name)
    with pytest.raises(CostsError):
        FeatureCosts.from_file(path)


def test_a_costs_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(CostsError):
        FeatureCosts.from_file(tmp_path / "none")
    with pytest.raises(CostsError):
        FeatureCosts.from_file(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "feature,cost\na,1\nz,1\n",
        "feature,cost\na,1\n",
        "1 2 3",
        "1 -2",
        "1 nan",
    ],
)
def test_costs_of_a_file_that_do_not_fit_the_data_are_refused(costs_file, text):
    with pytest.raises(CostsError):
        FeatureCosts.from_file(costs_file(text), ["a", "b"])


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\u2028", "\x0b", "\x85"])
def test_a_name_in_quotes_may_have_ends_of_lines_in_it(tmp_path, mark):
    name = f"blood{mark}pressure"
    path = tmp_path / "c.csv"
    path.write_bytes(f'feature,cost\r\n"{name}",3\r\n\r\nage,1\r\n'.encode())
    costs = FeatureCosts.from_file(path, ["age", name])
    assert (costs.names, costs.costs.tolist()) == (("age", name), [1, 3])
