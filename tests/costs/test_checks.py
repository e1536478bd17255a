"""Bad costs, fees, groups, prices, delays and files: one sentence with feature, row and value."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from support.sentences import assert_is_a_sentence

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts, Fee
from emsco.errors import CostsError, EMSCOError

TABLE = pd.DataFrame({"a": [1, 2, 3, 4], "b": [4.0, 5.0, 6.0, 7.0], "bill": [1.0, 2.0, 3.0, 4.0]})
made = FeatureCosts.from_mapping


def in_order(costs):
    FeatureCosts.resolve(costs, "ab")


def grouped(groups):
    made({"a": 1, "b": 1, "p": 1, "q": 1}, "abc", groups)


def with_fee(fee):
    made({"a": 1, "b": 2}, fees={"draw": fee})


def with_fees(fees):
    made({"a": 1}, fees=fees)


def with_delays(delays):
    made({"a": 1, "g": 2}, "abc", {"g": ["b", "c"]}, None, delays)


def paying(price):
    made({"a": 1, "b": price}).prices_of(TABLE, 4, first_row=7)


def fitted(price):
    EMSCOClassifier({"a": 1, "b": price, "bill": 1}).fit(TABLE, [0, 1, 0, 1])


# What is called: what the sentence must show, and what is given.
BAD = {
    in_order: {
        "-2 for 'b'": [1, -2],
        "none for 'b'": [1, math.nan],
        "1e.300 for 'b'": [1, 1e300],
        "100000.* for 'b'": [1, 10**400],
        "'dear' for 'b'": [1, "dear"],
        r"2 features.*\(3,\)": [1, 2, 3],
        r"\[1, 2\] for 'a'": [[1, 2], [3]],
        "2 features.* 5 ": 5,
        "at least one.* 0 ": [0, 0],
        "1e-310": [1e-310, 0],
        "'bb'; did you mean 'b'?": {"a": 1, "bb": 2},
        "none for 'b'; add": {"a": 1},
        "'x0'": FeatureCosts.from_array([1]),
        r"\[\[1, 2\]\] for 'b'": {"a": 1, "b": [[1, 2]]},
        "'1' twice": {"1": 2, 1: 3},
        "the price of 'b'.*'dear'": {"a": 1, "b": "dear"},
    },
    grouped: {
        "'a' in 'p' and 'q'": {"p": ["a"], "q": ["a"]},
        "group 'p'": {"p": []},
        "'p'.*'a'": {"p": "a"},
        "'p'.*'z'": {"p": ["z"]},
        "'c'": {"c": ["a", "b"]},
        "'a', a column of group 'p'": {"p": ["a", "b"]},
    },
    with_fee: {
        r"'draw'.*\[\]": (2, []),
        "-2 for 'draw'": (-2, ["a"]),
        "'draw'.*'2'": ("2", ["a"]),
        "'draw'.*'a'": (2, "a"),
        "'draw'.*'z'": (2, ["z"]),
        "'draw'.*'a' twice": (2, ["a", "a"]),
        "'draw'.*{'cost': 2}": {"cost": 2},
        "'draw'.*3": 3,
    },
    with_fees: {"like.*'draw'": [("draw", 2, ["a"])], "'draw' twice": [Fee("draw", 1, ("a",))] * 2},
    with_delays: {"-1 for 'a'": {"a": -1}, "'b', a column of group 'g'": {"b": 1}},
    paying: {
        "'b'.*-2 in row 8": [1, -2, 3, 4],
        "'b'.*none in row 9": [1, 2, np.nan, 4],
        "'b'.*none in row 8": np.ma.masked_equal([1, 2, 3, 4], 2),
        r"'b'.*4 rows.*\(2,\)": [1, 2],
        "'b'.*'dear' in row 8": [1, "dear", 3, 4],
        "'b'.*'dear' in row 7": lambda _: "dear",
        "'b'.*'nope'": lambda rows: rows["nope"],
        "'dear'.*'b'.*'bill'": "dear",
        "'b'.*none": None,
    },
    fitted: {"'b'.*-4 in row 0": lambda rows: -rows["b"], "'b'.*none": None},
}


@pytest.mark.parametrize(
    ("call", "shown", "given"), [(call, *case) for call in BAD for case in BAD[call].items()]
)
def test_bad_costs_are_refused_in_a_sentence_that_names_them(call, shown, given):
    with pytest.raises(EMSCOError, match=shown) as caught:
        call(given)
    assert_is_a_sentence(str(caught.value), "got ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "feature,cost",
        "feature,cost\na,1\nb,1\na,1",
        "feature,cost\na,1\nb,1\nz,1",
        "feature,cost\na,1",
        "feature,cost\na,cheap\nb,1",
        "feature,cost\na,1,2\nb,2",
        'feature,cost\n"a,1\nb,2',
        "feature,cost,unit\na,1,g\nb,1,g",
        "feature,cost,cost\na,1,1\nb,1,1",
        "feature,cost,group\na,,g\nb,,g",
        "feature,cost,group\na,1,g\nb,2,g",
        "feature,cost,group\na,1,g\na,1,h\nb,1,",
        "feature,cost,group\na,,\nb,1,",
        "feature,cost,group\na,1,b\nb,1,",
        "feature,cost,fee\na,1,x\nb,1,",
        "feature,cost,fee,fee_cost\na,1,x,\nb,1,,",
        "feature,cost,fee,fee_cost\na,1,,3\nb,1,,",
        "feature,cost,fee,fee_cost\na,1,x,1\nb,1,x,2",
        "feature,cost,fee,fee_cost\na,1,x;y,1\nb,1,,",
        "feature,cost,fee,fee_cost\na,1,x,one\nb,1,,",
        "1,two",
        "1 2 3",
        "1 -2",
        "1 " + "x" * 99_999,
        "\ud800",
        '{"a": 1, "b": 2, "a": 1}',
        '{"a": 1',
        "[]",
        '{"costs": {"a": 1, "b": 2}, "fees": 3}',
        "[" * 100_000,
        f"[1, {'9' * 5000}]",
    ],
)
def test_a_file_without_costs_of_the_columns_is_refused(text, tmp_path):
    path = tmp_path / ("c.json" if text[:1] in ("[", "{") else "c.csv")
    path.write_bytes(text.encode(errors="surrogatepass"))
    for place in path, tmp_path:  # a folder is no file
        with pytest.raises(CostsError, match="got "):
            FeatureCosts.from_file(place, ["a", "b"])
