"""Tables of features by cost: their cells, and that no word is cut."""

import pytest
from support.handmade import NAMES, PROTOCOL
from support.looks import words_of

from emsco import Design, FeatureCosts
from emsco.plotting import (
    CostClasses,
    draw_cost_classes,
)

LONG = (
    "age",
    "left ventricular ejection fraction at rest",
    "creatinine_phosphokinase_in_micrograms_per_litre",
    "$price_of_all$",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
    "x" * 90,
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


def test_cost_classes_without_a_design_have_one_column():
    record = CostClasses.from_costs(FeatureCosts.from_array([5, 5, 1, 2.5], NAMES))
    assert record.cells == ((("scan",),), (("biopsy",),), (("age", "pulse"),))
    assert record.lines == ("1", "2.5", "5")


def test_a_fee_stands_at_its_cost_in_the_first_stage_that_pays_it():
    fees = {"visit": (5, ["pulse", "biopsy"]), "theatre": (9, ["scan"])}
    costs = FeatureCosts.from_mapping(dict(zip(NAMES, [1, 9, 1, 9], strict=True)), fees=fees)
    record = CostClasses.from_costs(costs, Design([0, 1, -1, 1], NAMES))
    assert record.lines == ("1", "5", "9")
    assert record.cells[1] == ((), ("fee for visit",), ())
    assert record.cells[2] == ((), ("pulse", "biopsy"), ("fee for theatre",))


def test_sets_stand_side_by_side_by_rank_of_cost():
    sets = {"one": FeatureCosts.from_array([10, 100]), "other": FeatureCosts.from_array([7])}
    record = CostClasses.from_sets(sets)
    assert record.columns == ("one (10, 100)", "other (7)")
    assert record.cells == ((("x0",), ("x0",)), (("x1",), ()))
    assert record.to_markdown().splitlines()[2] == "| 1 | x0 | x0 |"


@pytest.mark.parametrize("width", [2.6, 7.0])
def test_the_table_of_costs_has_every_name_in_full(width):
    costs = FeatureCosts.from_array([1, 1, 1, 9, 9, 9], LONG)
    record = CostClasses.from_costs(costs, Design([0, 1, 2, 0, 1, 2], LONG))
    words = words_of(draw_cost_classes(record, width))
    for name in LONG:
        assert name.replace(" ", "") in words


@pytest.mark.parametrize("width", [2.6, 3.4, 7.0])
def test_words_of_the_table_of_costs_are_never_broken(width):
    names = [f"{kind} {what}" for kind in ("a", "worst") for what in ("perimeter", "concavity")]
    costs = FeatureCosts.from_array([1, 2, 3, 4] * 2, [*names, *(f"{n} error" for n in names)])
    record = CostClasses.from_costs(costs, Design([0, 1, 2, 3, 4, 5, 0, 0], costs.names))
    figure = draw_cost_classes(record, width)
    lines = {line for text in figure.axes[0].texts for line in text.get_text().split("\n")}
    assert {word.rstrip(",") for line in lines for word in line.split()} <= {
        *(word for name in (*costs.names, *record.columns) for word in name.split()),
        *(record.corner, *record.lines),
    }
    assert {"stage 3", "stage 6"} <= lines
    assert figure.get_figwidth() >= width


def test_costs_that_differ_in_the_seventh_digit_are_classes_of_their_own():
    costs = FeatureCosts.from_array([1234567, 1234568], ["scan", "biopsy"])
    assert CostClasses.from_costs(costs).lines == ("1234567", "1234568")
