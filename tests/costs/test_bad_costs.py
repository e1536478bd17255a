"""Bad costs, fees, groups, prices and delays: one sentence with the feature, row and value."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from support.sentences import assert_is_a_sentence

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts, Fee
from emsco.errors import CostsError, DataError, ParameterError

TABLE = pd.DataFrame({"a": [1, 2, 3, 4], "b": [4.0, 5.0, 6.0, 7.0], "bill": [1.0, 2.0, 3.0, 4.0]})
AB = ["a", "b"]


def made(costs, *given):
    return FeatureCosts.from_mapping(costs, *given)


def in_order(costs):
    return FeatureCosts.resolve(costs, AB)


def with_fee(fee):
    return made({"a": 1, "b": 2}, None, None, {"draw": fee})


def with_delays(delays):
    return made({"a": 1, "g": 2}, ["a", "b", "c"], {"g": ["b", "c"]}, None, delays)


def paying(price):
    costs = FeatureCosts.from_mapping({"a": 1, "b": price})
    return costs.prices_of(TABLE, 4, first_row=7)


def fitted(costs):
    return EMSCOClassifier(costs).fit(TABLE, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("call", "given", "shown"),
    [
        # Costs below 0, missing, too large, or no numbers.
        (in_order, [1, -2], ["'b'", "-2"]),
        (in_order, [1, math.nan], ["'b'", "none"]),
        (in_order, [1, 1e300], ["'b'", "1e+300"]),
        (in_order, [1, 10**400], ["'b'", "100000"]),
        (in_order, [1, "dear"], ["'b'", "'dear'"]),
        (in_order, [1, 2, 3], ["2 features", "(3,)"]),
        (in_order, [[1, 2], [3]], ["'a'", "[1, 2]"]),
        (in_order, 5, ["2 features", "5"]),
        (in_order, [0, 0], ["at least one", "0"]),
        (in_order, [1e-310, 0], ["1e-310"]),
        (made, {"a": 1, "b": [[1, 2]]}, ["'b'", "[[1, 2]]"]),
        (made, {"a": -1}, ["'a'", "-1"]),
        # Names that are not known, or twice.
        (in_order, {"a": 1, "bb": 2}, ["'bb'", "'b'?"]),
        (in_order, {"a": 1}, ["'b'"]),
        (in_order, FeatureCosts.from_array([1]), ["'x0'"]),
        (made, {"1": 2, 1: 3}, ["'1' twice"]),
        (FeatureCosts, (("a", "a"), [1, 1]), ["'a' twice"]),
        (made, ({"a": 1}, ["a", "a"]), ["'a' twice"]),
        # Groups that overlap, or are none.
        (made, ({"p": 1, "q": 1}, "a", {"p": ["a"], "q": ["a"]}), ["'a'", "'p'", "'q'"]),
        (made, ({"a": 1, "p": 2}, "a", {"p": []}), ["'p'"]),
        (made, ({"p": 1}, "a", {"p": "a"}), ["'p'", "'a'"]),
        (made, ({"p": 1}, "a", {"p": ["z"]}), ["'p'", "'z'"]),
        (made, ({"c": 1}, "abc", {"c": ["a", "b"]}), ["'c'"]),
        (made, ({"p": 1, "a": 1}, "ab", {"p": ["a", "b"]}), ["'a'", "'p'"]),
        (made, ({"a": 1}, None, {"p": ["b"]}), ["'p'"]),
        (FeatureCosts, (("a", "p"), [1, 1], 0.0, (("x",), ("a",))), ["'a'"]),
        # Fees.
        (with_fee, (2, []), ["'draw'", "[]"]),
        (with_fee, (-2, ["a"]), ["'draw'", "-2"]),
        (with_fee, ("2", ["a"]), ["'draw'", "'2'"]),
        (with_fee, (2, "a"), ["'draw'", "'a'"]),
        (with_fee, (2, ["z"]), ["'draw'", "'z'"]),
        (with_fee, (2, ["a", "a"]), ["'draw'", "'a' twice"]),
        (with_fee, {"cost": 2}, ["'draw'", "{'cost': 2}"]),
        (with_fee, 3, ["'draw'", "3"]),
        (made, ({"a": 1}, None, None, [("draw", 2, ["a"])]), ["fees must be like", "'draw'"]),
        (made, ({"a": 1}, None, None, [Fee("draw", 1, ("a",))] * 2), ["'draw' twice"]),
        # Delays and evaluations.
        (with_delays, {"a": -1}, ["'a'", "-1"]),
        (with_delays, {"b": 1}, ["'b'", "'g'"]),
        (made, ({"a": 1}, None, None, None, None, -1), ["evaluation_cost", "-1"]),
        # Prices by row.
        (paying, [1, -2, 3, 4], ["'b'", "-2", "row 8"]),
        (paying, [1, 2, np.nan, 4], ["'b'", "none", "row 9"]),
        (paying, np.ma.masked_equal([1, 2, 3, 4], 2), ["'b'", "none", "row 8"]),
        (paying, [1, 2], ["'b'", "4 rows", "(2,)"]),
        (paying, [1, "dear", 3, 4], ["'b'", "'dear'", "row 8"]),
        (paying, lambda _: "dear", ["'b'", "'dear'", "row 7"]),
        (paying, lambda _: 10**400, ["'b'", "row 7"]),
        (paying, lambda rows: rows["nope"], ["'b'", "'nope'"]),
        (paying, "dear", ["'b'", "'dear'", "'bill'"]),
        (paying, None, ["'b'", "none"]),
        (made, ({"a": 1, "b": "dear"}, AB), ["'b'", "'dear'"]),
        (fitted, {"a": 1, "b": lambda rows: -rows["b"], "bill": 1}, ["'b'", "-4", "row 0"]),
        (fitted, {"a": 1, "b": None, "bill": 1}, ["'b'", "none"]),
    ],
)
def test_bad_costs_are_refused_in_a_sentence_that_names_them(call, given, shown):
    spread = call in (made, FeatureCosts) and isinstance(given, tuple)
    with pytest.raises((CostsError, DataError, ParameterError)) as caught:
        call(*given) if spread else call(given)
    for one in shown:
        assert_is_a_sentence(str(caught.value), one)
