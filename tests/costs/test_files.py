"""Files of costs: their forms, and words about mistakes in them."""

from __future__ import annotations

import json

import pytest

from emsco.costs import FeatureCosts
from emsco.errors import CostsError

NESTED = {
    "visit": {"cost": 20, "features": ["chol", "fbs", "scan"]},
    "draw": {"cost": 2.1, "features": ["chol", "fbs"]},
}
PRICES = {"age": 1, "chol": 5.17, "fbs": 3.1, "scan": 40}


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a costs file and reads it."""

    def read(content, name="costs.csv", *given, **further):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return FeatureCosts.from_file(path, *given, **further)

    return read


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("costs.csv", "feature,cost\nb,2\na,1\nc,0.5\n"),
        ("costs.csv", ' Feature , COST \r\n"b", 2 \r\n\r\na,1\r\nc,.5'),
        ("costs.csv", b"\xef\xbb\xbffeature,cost\nb,2\na,1\nc,5e-1\n"),
        ("costs.csv", "feature;cost\nb;2\na;1\nc;0,5\n"),
        ("costs.csv", "feature|cost\nb|2\na|1\nc|0,5\n"),
        ("costs.csv", "feature\tcost\tgroup\nb\t2\t\na\t1\t\nc\t.5\t\n"),
        ("costs.json", '{"c": 0.5, "a": 1, "b": 2}'),
        ("costs.JSON", "[1, 2, 0.5]"),
        ("costs.txt", "1,2,0.5"),
        ("costs.csv", "1, 2, 0.5\n"),
        ("costs", "\n1 2\t0.5\n\n"),
    ],
)
def test_every_form_of_a_costs_file_gives_the_same_costs(read, name, text):
    costs = read(text, name, ["a", "b", "c"])
    assert (costs.names, costs.costs.tolist()) == (("a", "b", "c"), [1, 2, 0.5])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "c.csv",
            "feature,cost,fee,fee_cost,delay\nage,1,,,\nchol,5.17,visit;draw,20;2.10,1\n"
            "fbs,3.1,visit;draw,;,\nscan,40,visit,,\n",
        ),
        ("c.json", json.dumps({"costs": PRICES, "fees": NESTED, "delays": {"chol": 1}})),
    ],
)
def test_every_form_of_fees_and_delays_gives_the_same_costs(read, name, text):
    costs = read(text, name, list(PRICES))
    assert costs.costs.tolist() == list(PRICES.values())
    assert costs.delays.tolist() == [0, 1, 0, 0]
    assert {fee.name: (fee.cost, {*fee.features}) for fee in costs.fees} == {
        name: (fee["cost"], {*fee["features"]}) for name, fee in NESTED.items()
    }


def test_a_costs_file_alone_gives_the_names_or_numbers_them(read):
    assert read("feature,cost\nb,2\na,1\n").names == ("b", "a")
    assert read("2 1").names == ("x0", "x1")
    assert read('feature,cost\n"pressure, mean",2\n').names == ("pressure, mean",)


def test_a_cell_may_name_the_column_of_prices(read):
    costs = read("feature,cost\nage,1\nreport,bill\n", "c.csv", ["age", "report", "bill"])
    assert (costs.names, costs.price_columns) == (("age", "report"), ("bill",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", "feature,cost,group\nid,9,\na,1,\nb,2,p\nc,,p\nd,7,q\n"),
        ("c.json", '{"costs": {"id": 9, "a": 1, "p": 2, "d": 7}, "groups": {"p": ["c", "b"]}}'),
    ],
)
def test_costs_of_dropped_columns_are_ignored_alone_and_in_groups(read, name, text):
    costs = read(text, name, ["a", "b"], dropped=["id", "c", "d", "none"])
    assert (costs.names, costs.costs.tolist()) == (("a", "p"), [1, 2])
    assert costs.columns == (("a",), ("b",))
    with pytest.raises(CostsError, match="'id'"):
        read(text, name, ["a", "b", "c", "d"], dropped=["none"])


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\u2028", "\x0b", "\x85"])
def test_a_name_in_quotes_may_have_ends_of_lines_in_it(read, mark):
    name = f"blood{mark}pressure"
    costs = read(f'feature,cost\r\n"{name}",3\r\n\r\nage,1\r\n', "c.csv", ["age", name])
    assert (costs.names, costs.costs.tolist()) == (("age", name), [1, 3])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", ""),
        ("c.csv", "feature,cost\n"),
        ("c.csv", "feature,cost\na,1\na,1\n"),
        ("c.json", '{"a": 1, "a": 2}'),
        ("c.csv", "feature,cost\na,cheap\n"),
        ("c.csv", "feature,cost\na,1,2\n"),
        ("c.csv", 'feature,cost\n"a,1\nb,2\n'),
        ("c.csv", "feature,cost,unit\na,1,g\n"),
        ("c.csv", "feature,cost,group\na,,g\nb,,g\n"),
        ("c.csv", "feature,cost,group\na,1,g\nb,2,g\n"),
        ("c.csv", "feature,cost,group\na,1,g\na,1,h\n"),
        ("c.csv", "feature,cost,group\na,,\nb,1,\n"),
        ("c.csv", "feature,cost,group\ng,1,\nb,1,g\n"),
        ("c.txt", "1,two,3"),
        ("c.json", '{"a": 1'),
        ("c.json", '{"costs": {"a": 1}, "fees": 3}'),
        ("c.json", "[" * 100_000),
        ("c.json", f'{{"a": {"9" * 5000}}}'),
        ("c.csv", b"\xff\xfe\x00"),
        ("c.txt", "1 " + "x" * 99_999),
        ("c.csv", "feature,cost,fee\na,1,x\n"),
        ("c.csv", "feature,cost,fee,fee_cost\na,1,x,\n"),
        ("c.csv", "feature,cost,fee,fee_cost\na,1,,3\n"),
        ("c.csv", "feature,cost,fee,fee_cost\na,1,x,1\nb,1,x,2\n"),
        ("c.csv", "feature,cost,fee,fee_cost\na,1,x;y,1\n"),
        ("c.csv", "feature,cost,fee,fee_cost\na,1,x,one\n"),
    ],
)
def test_a_file_without_valid_costs_is_refused_with_the_reason(read, name, text):
    with pytest.raises(CostsError):
        read(text, name)


def test_costs_of_a_file_that_do_not_fit_the_data_are_refused(read, tmp_path):
    for text in ("feature,cost\na,1\nz,1\n", "feature,cost\na,1\n", "1 2 3", "1 -2", "1 nan"):
        with pytest.raises(CostsError):
            read(text, "c.csv", ["a", "b"])
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CostsError, match="file"):
            FeatureCosts.from_file(path)
