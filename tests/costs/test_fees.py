"""Fees that features share: sums over sets, ways to give them, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.costs import FeatureCosts, Fee, Fees
from emsco.designs.constraints import Blocks, Constraints
from emsco.errors import CostsError

NAMES = ("age", "chol", "fbs", "scan")
DRAW = {"blood draw": (2.1, ["chol", "fbs"])}
NESTED = {"visit": (20, ["chol", "fbs", "scan"]), "draw": (2.1, ["chol", "fbs"])}
PRICES = {"age": 1, "chol": 5.17, "fbs": 3.1, "scan": 40}


def made(fees=None):
    return FeatureCosts.from_mapping(PRICES, NAMES, fees=DRAW if fees is None else fees)


@st.composite
def costs_with_fees(draw):
    """Costs of a few features under up to three fees, which may overlap."""
    n = draw(st.integers(1, 5))
    names = [f"f{i}" for i in range(n)]
    prices = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    members = st.sets(st.sampled_from(names), min_size=1)
    fees = draw(st.lists(st.tuples(st.sampled_from([0.5, 1, 7]), members), max_size=3))
    prices[0] += not any(prices)
    shared = {f"fee {i}": (cost, sorted(features)) for i, (cost, features) in enumerate(fees)}
    return FeatureCosts.from_mapping(dict(zip(names, prices, strict=True)), names, fees=shared)


def plain_cost(costs, features):
    """The plain twin of `cost_of`."""
    cost_of = dict(zip(costs.names, costs.costs.tolist(), strict=True))
    fees = [fee.cost for fee in costs.fees if set(fee.features) & set(features)]
    return sum(cost_of[name] for name in features) + sum(fees)


# Sums


def test_a_fee_is_paid_once_whatever_else_of_it_is_bought():
    costs = made()
    assert costs.cost_of(["chol"]) == 5.17 + 2.1
    assert costs.cost_of(["chol", "fbs"]) == pytest.approx(5.17 + 3.1 + 2.1)
    assert costs.total == pytest.approx(1 + 5.17 + 3.1 + 40 + 2.1)


def test_nested_fees_are_paid_apart():
    costs = made(NESTED)
    assert costs.cost_of(["scan"]) == 60
    assert costs.cost_of(["scan", "chol"]) == pytest.approx(60 + 5.17 + 2.1)
    subsets = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]], dtype=bool)
    assert costs.after_stages(subsets) == pytest.approx([61, 68.27, 71.37])


@given(costs_with_fees(), st.data())
def test_any_set_costs_its_features_and_each_of_their_fees_once(costs, data):
    wanted = data.draw(st.lists(st.sampled_from(costs.names), unique=True))
    assert costs.cost_of(wanted) == pytest.approx(plain_cost(costs, wanted))


@given(costs_with_fees(), st.data())
def test_stages_of_a_design_pay_what_its_sets_cost(costs, data):
    n = len(costs.names)
    stages = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    fees = Fees.from_fees(costs.fees, costs.names)
    paid = fees.by_stage(stages[None].astype(np.int16), 3)[0]
    for j in range(3):
        known = [name for name, at in zip(costs.names, stages, strict=True) if 0 <= at <= j]
        assert paid[j] == sum(fee.cost for fee in costs.fees if set(fee.features) & set(known))


@given(costs_with_fees())
def test_blocks_of_features_pay_their_fees_once(costs):
    together = Constraints.from_rules({"together": [costs.names[:2]]}, costs.names)
    blocks = Blocks.from_constraints(together, costs.names)
    merged = blocks.costs(costs)
    assert merged.total == pytest.approx(costs.total)
    assert merged.cost_of(merged.names[:1]) == pytest.approx(costs.cost_of(costs.names[:2]))


def test_a_feature_under_a_fee_is_not_free():
    costs = FeatureCosts.from_mapping({"a": 0, "b": 0, "c": 1}, fees={"visit": (3, ["a"])})
    assert costs.alone.tolist() == [3, 0, 1]
    assert Constraints().with_free_first(costs).first == ("b",)
    assert costs.smallest == 1


def test_fees_alone_are_costs_enough():
    assert FeatureCosts.from_mapping({"a": 0}, fees={"visit": (3, ["a"])}).total == 3


# Ways to give them


def test_fees_survive_another_order_of_columns():
    here = FeatureCosts.resolve(made(NESTED), NAMES[::-1])
    assert here.names == NAMES[::-1]
    assert here.fees == made(NESTED).fees


def test_a_fee_may_be_of_a_group():
    costs = FeatureCosts.from_mapping(
        {"age": 1, "panel": 9}, ["age", "iron", "zinc"], {"panel": ["iron", "zinc"]},
        {"draw": (2, ["panel"])},
    )  # fmt: skip
    assert costs.cost_of(["panel"]) == 11


def test_csv_and_json_give_the_same_fees(costs_file):
    csv = (
        "feature,cost,group,fee,fee_cost\n"
        "age,1,,,\nchol,5.17,,visit;draw,20;2.10\nfbs,3.1,,visit;draw,;\nscan,40,,visit,\n"
    )
    document = {
        "costs": PRICES,
        "fees": {
            name: {"cost": cost, "features": features} for name, (cost, features) in NESTED.items()
        },
    }
    for path in (costs_file(csv), costs_file(json.dumps(document), "costs.json")):
        costs = FeatureCosts.from_file(path, NAMES)
        assert costs.fees == made(NESTED).fees
        assert costs.costs.tolist() == made(NESTED).costs.tolist()


def test_a_file_may_have_prices_that_include_the_fees(costs_file):
    path = costs_file("feature,cost_with_fees,fee,fee_cost\nage,1,,\nTSH,22.78,draw,2.10\n")
    assert FeatureCosts.from_file(path).costs.tolist() == [1, 20.68]


def test_columns_that_are_dropped_leave_their_fees(costs_file):
    path = costs_file("feature,cost,fee,fee_cost\na,1,x,2\nb,1,x,2\nc,1,y,3\n")
    costs = FeatureCosts.from_file(path, ["a"], dropped=["b", "c"])
    assert costs.fees == (Fee("x", 2.0, ("a",)),)


def test_a_delay_is_read_too(costs_file):
    path = costs_file("feature,cost,delay\nage,1,\nchol,5,1\n")
    assert FeatureCosts.from_file(path).delays.tolist() == [0, 1]
    text = json.dumps({"costs": {"age": 1, "chol": 5}, "delays": {"chol": 1}})
    assert FeatureCosts.from_file(costs_file(text, "c.json")).delays.tolist() == [0, 1]


# Refused


@pytest.mark.parametrize(
    "fees",
    [
        {"draw": (2, ["chl"])},
        {"draw": (-2, ["chol"])},
        {"draw": (float("nan"), ["chol"])},
        {"draw": ("2", ["chol"])},
        {"draw": (2, [])},
        {"draw": (2, ["chol", "chol"])},
        [("draw", 2, ["chol"])],
        {"draw": 2},
        {"draw": (2, "chol")},
    ],
)
def test_bad_fees_are_refused_in_one_sentence(fees):
    with pytest.raises(CostsError):
        made(fees)


def test_a_fee_of_a_column_in_a_group_names_the_group():
    with pytest.raises(CostsError, match="'iron'"):
        FeatureCosts.from_mapping(
            {"panel": 9}, ["iron", "zinc"], {"panel": ["iron", "zinc"]}, {"draw": (2, ["iron"])}
        )


def test_two_fees_of_one_name_are_refused():
    fee = Fee("draw", 1.0, ("age",))
    with pytest.raises(CostsError, match="'draw'"):
        replace(made(), fees=(fee, fee))


@pytest.mark.parametrize(
    "text",
    [
        "feature,cost_with_fees,fee,fee_cost\nTSH,1.5,draw,2.1\n",
        "feature,cost,fee\na,1,x\n",
        "feature,cost,fee,fee_cost\na,1,x,\n",
        "feature,cost,fee,fee_cost\na,1,x,1\nb,1,x,2\n",
        "feature,cost,fee,fee_cost\na,1,x;y,1\n",
        "feature,cost,fee,fee_cost\na,1,x,one\n",
        "feature,cost,fee,fee_cost,fee\na,1,x,1,y\n",
    ],
)  # fmt: skip
def test_bad_files_of_fees_are_refused_with_the_reason(costs_file, text):
    with pytest.raises(CostsError):
        FeatureCosts.from_file(costs_file(text))
