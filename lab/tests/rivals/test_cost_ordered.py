import numpy as np

from emsco import FeatureCosts
from emsco_lab.rivals import CostOrdered

NAMES = ["age", "pulse", "scan", "blood", "gait", "noise"]


def test_rows_exit_when_sure_and_pay_for_every_stage_before(table):
    X, y = table
    costs = FeatureCosts(tuple(NAMES), np.array([1, 1, 20, 5, 5, 0]), evaluation=0.5)
    rival = CostOrdered(costs, min_confidence=0.7).fit(X, y)
    assert str(rival.design_) == "Design(noise → age, pulse → blood, gait → scan)"
    decisions = rival.decide(X)
    assert np.array_equal(decisions.cost, np.array([0.5, 3, 13.5, 34])[decisions.stage - 1])
    assert len(set(decisions.stage)) == 3
    assert (decisions.confidence[decisions.stage < 4] >= 0.7).all()
    assert np.array_equal(decisions.accepted, decisions.confidence >= 0.7)
