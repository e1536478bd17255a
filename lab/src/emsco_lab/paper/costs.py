"""The paper's table of cost classes: the features of its sets by cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emsco.plotting.cost_classes import CostClasses, draw_cost_classes
from emsco_lab.datasets import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = ("heart", "pima", "credit", "synthetic50")  # synthetic15 has no classes


@dataclass(frozen=True, slots=True)
class CostTable:
    """Cost classes of several sets, and their sources.

    Attributes
    ----------
    classes : CostClasses
    known : tuple of (str, str)
        Each set, and the source of its costs.
    """

    classes: CostClasses
    known: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "experiment": "cost classes",
            "classes": self.classes.to_dict(),
            "known": dict(self.known),
        }

    def to_markdown(self) -> str:
        """The table, and a line about the source of each set."""
        lines = ["Features by cost class; the cost of each class in brackets.", ""]
        lines += [self.classes.to_markdown(), ""]
        lines += [f"- {name}: {how}" for name, how in self.known]
        return "\n".join(lines)


def cost_table(sets: Sequence[str] = SETS) -> CostTable:
    """Load the sets and sort their features into classes."""
    loaded = [load(name) for name in sets]
    classes = CostClasses.from_sets({data.name: data.costs for data in loaded})
    return CostTable(classes, tuple((data.name, data.about_costs) for data in loaded))


def draw_cost_table(table: CostTable) -> Figure:
    """Draw the table, as wide as a page."""
    return draw_cost_classes(table.classes, 7.0)
