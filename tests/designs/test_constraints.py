"""Constraints on designs, and the blocks of features that they form."""

import numpy as np
import pytest

from emsco.costs import FeatureCosts
from emsco.designs.constraints import Blocks, Constraints
from emsco.errors import ParameterError

NAMES = ("age", "iron", "scan", "gait", "sex")


def blocks_of(**rules):
    return Blocks.from_constraints(Constraints.from_rules(rules, NAMES), NAMES)


def test_without_rules_every_feature_is_its_own_block():
    blocks = blocks_of()
    assert blocks.of_feature.tolist() == [0, 1, 2, 3, 4]
    assert blocks.first is None


def test_features_that_must_stay_together_are_one_block():
    assert blocks_of(together=[["iron", "gait"]]).of_feature.tolist() == [0, 1, 2, 1, 3]


def test_lists_that_share_a_feature_are_one_block():
    blocks = blocks_of(together=[["iron", "gait"], ["gait", "sex"]], first=["sex"])
    assert blocks.of_feature.tolist() == [0, 1, 2, 1, 1]
    assert blocks.first == 1


def test_features_of_the_first_stage_are_one_block():
    blocks = blocks_of(first=("sex", "scan"))
    assert blocks.of_feature.tolist() == [0, 1, 2, 3, 2]
    assert blocks.first == 2


def test_designs_over_blocks_place_all_their_features():
    blocks = blocks_of(together=[["age", "sex"]])
    designs = np.array([[0, 1, -1, 2]], dtype=np.int16)
    assert blocks.designs(designs).tolist() == [[0, 1, -1, 2, 0]]


def test_costs_of_blocks_are_exact_sums_of_decimals():
    costs = FeatureCosts(NAMES, np.array([0.1, 0.2, 5, 0.7, 0.2]), evaluation=0.5)
    block_costs = blocks_of(together=[["age", "iron", "sex"]]).costs(costs)
    assert block_costs.costs.tolist() == [0.5, 5, 0.7]
    assert block_costs.evaluation == 0.5
    assert block_costs.in_units().features.tolist() == [5, 50, 7]


def test_rules_may_be_given_as_constraints():
    rules = Constraints(first=("age",), max_mean_cost=3)
    assert Constraints.from_rules(rules, NAMES) == rules
    assert Constraints.from_rules(None, NAMES) == Constraints()


@pytest.mark.parametrize(
    "rules",
    [
        {"before": ["age"]},
        {"first": ["x"]},
        {"together": [["age", "x"]]},
        {"together": ["age"]},
        {"together": "age"},
        {"max_mean_cost": -1},
        {"max_worst_cost": "9"},
    ],
)
def test_invalid_rules_are_refused(rules):
    with pytest.raises(ParameterError):
        Constraints.from_rules(rules, NAMES)
