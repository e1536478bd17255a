"""Constraints on designs, and the blocks of features that they form."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from emsco import Constraints, FeatureCosts, Fee
from emsco.designs.constraints import Blocks

NAMES = ("age", "iron", "scan", "gait", "sex")
some_names = st.lists(st.sampled_from(NAMES), max_size=3)


@given(some_names, st.lists(some_names, max_size=3))
def test_blocks_join_all_features_that_some_rule_ties(first, together):
    rules = Constraints.from_rules({"first": first, "together": together}, NAMES)
    blocks, tied = Blocks.from_constraints(rules, NAMES), {name: {name} for name in NAMES}
    for _ in NAMES:  # as long as a chain of rules can be
        for part in (first, *together):
            joined = {other for name in part for other in tied[name]}
            tied |= dict.fromkeys(joined, joined)
    leads = [NAMES.index(min(tied[name], key=NAMES.index)) for name in NAMES]
    assert blocks.of_feature.tolist() == [sorted({*leads}).index(lead) for lead in leads]
    assert blocks.first == (blocks.of_feature[NAMES.index(first[0])] if first else None)
    assert np.array_equal(blocks.members(), [blocks.of_feature == i for i in range(len({*leads}))])


def test_a_block_costs_the_exact_sum_shares_fees_and_waits_for_the_slowest():
    fees = Fee("f", 2, NAMES[:3]), Fee("g", 1, ("sex", "age"))
    given_costs = [0.1, 0.2, 5, 0.7, 0.2], 0.5, (), (), fees, [1, 4, 2, 0, 3]
    costs = FeatureCosts(NAMES, *given_costs, prices={"sex": None})
    rules = Constraints.from_rules({"together": [["age", "iron", "sex"]]}, NAMES)
    blocks = Blocks.from_constraints(rules, NAMES).costs(costs)
    assert (blocks.names, blocks.evaluation) == (("age", "scan", "gait"), 0.5)
    assert (blocks.costs.tolist(), blocks.delays.tolist()) == ([0.5, 5, 0.7], [4, 2, 0])
    assert [fee.features for fee in blocks.fees] == [("age", "scan"), ("age",)]
    assert blocks.prices == {"age": None}


def test_free_features_come_first_unless_they_are_tied_or_suspects():
    costs = FeatureCosts(NAMES, np.array([0, 0, 0, 1, 0.0]))
    rules = Constraints(first=("sex",), together=(("iron", "gait"),))
    assert rules.with_free_first(costs, suspects=["scan"]).first == ("sex", "age")
    assert Constraints.from_rules(rules, NAMES) == rules
    assert Constraints.from_rules({"max_mean_cost": 0.5, "max_worst_delay": None}, NAMES) == (
        Constraints(max_mean_cost=0.5)
    )
