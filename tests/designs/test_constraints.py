"""Constraints on designs, and the blocks of features that they form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco import Constraints, FeatureCosts, ParameterError
from emsco.designs.constraints import Blocks

NAMES = ("age", "iron", "scan", "gait", "sex")
some_names = st.lists(st.sampled_from(NAMES), max_size=3)


def blocks_of(**rules):
    return Blocks.from_constraints(Constraints.from_rules(rules, NAMES), NAMES)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(some_names, st.lists(some_names, max_size=3))
def test_blocks_join_all_features_that_some_rule_ties(first, together):
    blocks = blocks_of(first=first, together=together)
    tied = {name: {name} for name in NAMES}
    for _ in NAMES:  # as long as a chain of rules can be
        for part in (first, *together):
            joined = {other for name in part for other in tied[name]}
            tied |= dict.fromkeys(joined, joined)
    leads = [NAMES.index(min(tied[name], key=NAMES.index)) for name in NAMES]
    assert blocks.of_feature.tolist() == [sorted({*leads}).index(lead) for lead in leads]
    assert blocks.first == (blocks.of_feature[NAMES.index(first[0])] if first else None)
    assert np.array_equal(blocks.members().argmax(axis=0), blocks.of_feature)
    assert (blocks.members().sum(axis=0) == 1).all()


def test_costs_of_blocks_are_exact_sums_of_decimals_and_waits_for_the_slowest():
    costs = FeatureCosts(
        NAMES, np.array([0.1, 0.2, 5, 0.7, 0.2]), evaluation=0.5, delays=np.array([1, 4, 2, 0, 3.0])
    )
    block_costs = blocks_of(together=[["age", "iron", "sex"]]).costs(costs)
    assert block_costs.names == ("age", "scan", "gait")
    assert block_costs.costs.tolist() == [0.5, 5, 0.7]
    assert block_costs.delays.tolist() == [4, 2, 0]
    assert block_costs.evaluation == 0.5


def test_free_features_come_first_unless_they_are_tied_or_suspects():
    costs = FeatureCosts(NAMES, np.array([0, 0, 0, 1, 0.0]))
    rules = Constraints(first=("sex",), together=(("iron", "gait"),))
    assert rules.with_free_first(costs, suspects=["scan"]).first == ("sex", "age")


@pytest.mark.parametrize(
    ("rules", "got"),
    [
        ("first", "'first'"),
        ({"before": ["age"]}, "'before'"),
        ({"first": 3}, "3"),
        ({"first": ["agee"]}, "'agee'; did you mean 'age'?"),
        ({"together": [["age", "x"]]}, "'x'"),
        ({"together": ["age"]}, "['age']"),
        ({"together": "age"}, "'age'"),
        ({"buy_all": "no"}, "'no'"),
        ({"max_mean_cost": -1}, "-1"),
        ({"max_worst_cost": "9"}, "'9'"),
    ],
)
def test_what_is_no_rule_is_refused(rules, got):
    with pytest.raises(ParameterError, match="constraints") as refusal:
        Constraints.from_rules(rules, NAMES)
    assert got in str(refusal.value).partition("got ")[2]
