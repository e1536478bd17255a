"""Tables of features by cost: their cells, and that no word is cut."""

from support.handmade import NAMES, PROTOCOL

from emsco import Design, FeatureCosts
from emsco.plotting import (
    CostClasses,
)


def test_cost_classes_of_a_design_are_by_cost_and_stage():
    costs = FeatureCosts.from_array([1, 9, 1, 9], NAMES)
    record = CostClasses.from_costs(costs, Design([0, 1, -1, 0], NAMES))
    assert record.lines == ("1", "9")
    assert record.columns == ("stage 1", "stage 2", "never bought")
    assert record.cells == ((("age",), (), ("scan",)), (("biopsy",), ("pulse",), ()))
    assert record.to_dict()["cost 9"] == {
        "stage 1": ["biopsy"],
        "stage 2": ["pulse"],
        "never bought": [],
    }


def test_cost_classes_of_a_design_that_branches_have_a_feature_at_each_stage_that_buys_it():
    record = CostClasses.from_costs(FeatureCosts.from_array([1, 1, 9, 9], NAMES), PROTOCOL)
    assert record.columns == tuple(f"stage {j}" for j in range(1, 9))
    bought = [[*cheap, *dear] for cheap, dear in zip(*record.cells, strict=True)]
    assert bought == [list(names) for names in PROTOCOL.buys]


def test_a_fee_stands_at_its_cost_in_the_first_stage_that_pays_it():
    fees = {"visit": (5, ["pulse", "biopsy"]), "theatre": (9, ["scan"])}
    costs = FeatureCosts.from_mapping(dict(zip(NAMES, [1, 9, 1, 9], strict=True)), fees=fees)
    record = CostClasses.from_costs(costs, Design([0, 1, -1, 1], NAMES))
    assert record.lines == ("1", "5", "9")
    assert record.cells[1] == ((), ("fee for visit",), ())
    assert record.cells[2] == ((), ("pulse", "biopsy"), ("fee for theatre",))
