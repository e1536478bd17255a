"""Prices of the features that stages buy: where they come from, and which must be known."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.costs import FeatureCosts, StagePrices
from emsco.errors import CostsError, DataError

COSTS = FeatureCosts.from_mapping(
    {"a": 1, "b": "bill", "c": None, "d": None}, fees={"visit": (3, ["a", "b"])}
).with_usual(np.array([2.0, 5.0, 9.0]))
# Stage 0 buys a; then come b in one part and c in the other; nobody buys d.
KNOWN = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
CHARGED = StagePrices.from_stages(COSTS, KNOWN, (-1, 0, 0))


def of_rows(given, **more):
    return CHARGED.of_rows(2, given, {"bill": [0, 0]}, **more)


def test_prices_are_those_given_or_of_the_table_and_nobody_pays_for_what_no_stage_buys():
    assert (len(CHARGED), CHARGED.features, CHARGED.every) == (2, ("b", "c"), ("b", "c", "d"))
    told = of_rows({"c": 7, "d": "dear"}, sources={"b": [3, 4], "c": 1})
    assert told.tolist() == [[3, 7], [4, 7]]
    told[0, 1] = np.nan  # the usual price, as long as nobody knows it
    assert CHARGED.after_stages(told).tolist() == [[4, 4 + 3, 4 + 5], [4, 4 + 4, 4 + 7]]
    assert np.isnan(of_rows(None)).all()
    assert np.isnan(of_rows({"b": "courier"}, may_lack=True)).all()


def test_a_price_must_be_known_of_what_a_row_has_bought():
    prices = np.array([[np.nan, 1], [np.nan, np.nan]])
    CHARGED.check_paid(np.array([2, 0]), prices)
    CHARGED.check_paid(np.array([-1, -1]), prices)
    with pytest.raises(DataError, match=r"'c'.*none in row 8") as caught:
        CHARGED.check_paid(np.array([2, 2]), prices, first_row=7)
    assert caught.value.row == 8


@pytest.mark.parametrize(
    ("prices", "shown"),
    [
        ({"a": 0}, "spent must name features whose price differs .*'c'.*, got 'a'"),
        ([1], r"spent must be a mapping .* got \[1\]"),
        ({"c": -1}, "'c' .* got -1 in row 0"),
    ],
)
def test_prices_that_cannot_be_used_are_refused(prices, shown):
    with pytest.raises((CostsError, DataError), match=shown):
        of_rows(prices, what="spent")
