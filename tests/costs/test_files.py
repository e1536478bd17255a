"""Files of costs, of features and of errors: all forms say the same."""

from __future__ import annotations

import json

import pytest

from emsco.costs import FeatureCosts
from emsco.costs.files import parse_error_costs_file

NESTED = {
    "visit": {"cost": 20, "features": ["chol", "fbs", "scan"]},
    "draw": {"cost": 2.1, "features": ["chol", "fbs"]},
}
PRICES = {"age": 1, "chol": 5.17, "fbs": 3.1, "scan": 40}


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a costs file and reads it."""

    def read(text, *given, **further):
        path = tmp_path / ("costs.JSON" if text[0] in "[{" else "costs.csv")
        path.write_text(text, "utf-8", newline="")
        return FeatureCosts.from_file(path, *given, **further)

    return read


@pytest.mark.parametrize(
    "text",
    [
        "feature,cost\nb,2\na,1\nc,0.5\n",
        ' Feature , COST \r\n"b", 2 \r\n\r\na,1\r\nc,.5',
        "\ufefffeature,cost\nb,2\na,1\nc,5e-1\n",
        "feature;cost\nb;2\na;1\nc;0,5\n",
        "feature|cost\nb|2\na|1\nc|0,5\n",
        "feature\tcost\tgroup\nb\t2\t\na\t1\t\nc\t.5\t\n",
        '{"c": 0.5, "a": 1, "b": 2}',
        "[1, 2, 0.5]",
        "1,2,0.5",
        "1, 2, 0.5\n",
        "\n1 2\t0.5\n\n",
    ],
)
def test_every_form_of_a_costs_file_gives_the_same_costs(read, text):
    costs = read(text, ["a", "b", "c"])
    assert (costs.names, costs.costs.tolist()) == (("a", "b", "c"), [1, 2, 0.5])


@pytest.mark.parametrize(
    "text",
    [
        "feature,cost,fee,fee_cost,delay\nage,1,,,\nchol,5.17,visit;draw,20;,1\n"
        "fbs,3.1,visit;draw,;2.10,\nscan,40,visit,,\n",
        json.dumps({"costs": PRICES, "fees": NESTED, "delays": {"chol": 1}}),
    ],
)
def test_every_form_of_fees_and_delays_gives_the_same_costs(read, text):
    costs = read(text, list(PRICES))
    assert costs.costs.tolist() == list(PRICES.values())
    assert costs.delays.tolist() == [0, 1, 0, 0]
    assert [fee.to_dict() for fee in costs.fees] == [
        {"name": name, **fee} for name, fee in NESTED.items()
    ]


def test_without_columns_a_file_gives_the_names_or_numbers_them(read):
    assert read("feature,cost\nb,2\na,1\n").names == ("b", "a")
    assert read("2 1").names == ("x0", "x1")


def test_a_cell_may_name_the_column_of_prices(read):
    costs = read("feature,cost\nage,1\nreport,bill\n", ["age", "report", "bill"])
    assert (costs.names, costs.price_columns) == (("age", "report"), ("bill",))


@pytest.mark.parametrize(
    "text",
    [
        "feature,cost,group\nid,9,\na,1,\nb,2,p\nc,,p\nd,7,q\n",
        '{"costs": {"id": 9, "a": 1, "p": 2, "d": 7}, "groups": {"p": ["c", "b"]}}',
    ],
)
def test_costs_of_dropped_columns_are_ignored_alone_and_in_groups(read, text):
    costs = read(text, ["a", "b"], dropped=["id", "c", "d", "none"])
    assert (costs.names, costs.costs.tolist()) == (("a", "p"), [1, 2])
    assert costs.columns == (("a",), ("b",))


@pytest.mark.parametrize("mark", [", ", "\n", "\r\n", "\u2028", "\x0b", "\x85"])
def test_a_name_in_quotes_may_have_commas_and_ends_of_lines_in_it(read, mark):
    name = f"blood{mark}pressure"
    costs = read(f'feature,cost\r\n"{name}",3\r\n\r\nage,1\r\n', ["age", name])
    assert (costs.names, costs.costs.tolist()) == (("age", name), [1, 3])


@pytest.mark.parametrize(
    ("text", "costs"),
    [
        ("0;50\n20;0\n", [[0, 50], [20, 0]]),
        (
            "true,ill,well\nill,,50\nwell,20,1\n",
            {"ill": {"well": 50}, "well": {"ill": 20, "well": 1}},
        ),
        ("label,cost\nill,50\nwell,20\n", {"ill": 50, "well": 20}),
        *((bad, None) for bad in ("label,cost", "true,a,a\na,1,2", "true,a,b\na,1", "l,c\na,x")),
    ],
)
def test_costs_of_errors_are_a_matrix_with_or_without_labels_or_one_of_each_label(text, costs):
    if costs is not None:
        assert parse_error_costs_file(text) == costs
        return
    with pytest.raises(ValueError, match="it has "):
        parse_error_costs_file(text)
