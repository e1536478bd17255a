"""The flow of rows through a design, as all plots, pages and tables of a cascade show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from emsco._base.text import aligned, counted, in_short, listed, whole
from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.designs.thresholds import StageThresholds, differ, plain, rule_in_words
from emsco.plotting.notebook import MOST_NAMES, fragment, table

_ROUNDING = 1e-9  # a smaller share of rows comes from rounded sums of weights


@dataclass(frozen=True, slots=True)
class FlowStage:
    """One stage of a flow and its rows; with sample weights, rows are counted by weight.

    Attributes
    ----------
    number : int
        Number of the stage, from 1.
    features : tuple of str
        Features that the stage buys.
    cost : float
        Cost of these features, including the cost of evaluating the stage.
    cost_so_far : float
        Cost of a row that leaves here.
    reached : float
        Rows that reach the stage.
    left : float
        Rows that leave here with a label.
    correct : float
        Rows that leave here with the correct label.
    delay_so_far : float
        Time that a row has waited when it leaves here.
    """

    number: int
    features: tuple[str, ...]
    cost: float
    cost_so_far: float
    reached: float
    left: float
    correct: float
    delay_so_far: float = 0.0

    @property
    def staying(self) -> float:
        """Rows that get no label here and go on to the next stage, or are rejected."""
        rest = self.reached - self.left
        return rest if rest > _ROUNDING * self.reached else 0

    @property
    def accuracy(self) -> float:
        """Share of labels given here that are correct; 0 if there are none."""
        return self.correct / (self.left or 1)


@dataclass(frozen=True, slots=True)
class Flow:
    """Counts of the rows that reach and leave each stage of a design.

    Attributes
    ----------
    stages : tuple of FlowStage
    n_rows : float
        Number of rows; with sample weights, their total weight.
    rejected : float
        Rows that get no label.
    thresholds : tuple of float or dict, optional
        Confidence that each stage needs to label a row, if the design has its own.
    mean_cost : float, optional
        Mean cost of a row, if rows pay prices of their own; stages then have the usual costs.
    """

    stages: tuple[FlowStage, ...]
    n_rows: float
    rejected: float
    thresholds: StageThresholds | None = None
    mean_cost: float | None = None

    @classmethod
    def from_design(
        cls,
        design: Design,
        costs: FeatureCosts,
        n_rows: float,
        exits: Sequence[float],
        correct_exits: Sequence[float],
        mean_cost: float | None = None,
    ) -> Self:
        """Build the flow of a design from its exits and correct exits at each stage.

        `mean_cost` is that of a row, if rows pay prices of their own.
        """
        subsets = design.subsets()
        return cls.from_counts(
            buys=design.buys,
            costs=costs.after_stages(subsets).tolist(),
            delays=costs.waits_after_stages(subsets).tolist(),
            n_rows=n_rows,
            exits=exits,
            correct_exits=correct_exits,
            thresholds=design.thresholds,
            mean_cost=mean_cost,
        )

    @classmethod
    def from_counts(
        cls,
        buys: Sequence[tuple[str, ...]],
        costs: Sequence[float],
        delays: Sequence[float],
        n_rows: float,
        exits: Sequence[float],
        correct_exits: Sequence[float],
        thresholds: StageThresholds | None = None,
        mean_cost: float | None = None,
    ) -> Self:
        """Build a flow from what a row has cost and waited for after each stage, and its exits."""
        stages, before, reached = [], 0.0, n_rows
        columns = zip(buys, costs, delays, exits, correct_exits, strict=True)
        for number, (features, cost, delay, left, correct) in enumerate(columns, start=1):
            stage = FlowStage(
                number=number,
                features=features,
                cost=cost - before,
                cost_so_far=cost,
                reached=reached,
                left=left,
                correct=correct,
                delay_so_far=delay,
            )
            stages.append(stage)
            before, reached = cost, stage.staying
        return cls(tuple(stages), n_rows, reached, thresholds, mean_cost)

    @property
    def accepted(self) -> float:
        """Rows that get a label."""
        return sum(stage.left for stage in self.stages)

    @property
    def coverage(self) -> float:
        """Share of rows that get a label."""
        return self.share(self.accepted)

    @property
    def accuracy(self) -> float:
        """Share of labels that are correct; 0 if there are none."""
        return sum(stage.correct for stage in self.stages) / (self.accepted or 1)

    @property
    def cost(self) -> float:
        """Mean cost of a row; rejected rows have paid for every stage."""
        if self.mean_cost is not None:
            return self.mean_cost
        paid = sum(rows * cost for cost, rows in self.cost_histogram())
        return paid / (self.n_rows or 1)

    @property
    def worst_delay(self) -> float:
        """Time that a rejected row waits: for all stages."""
        return self.stages[-1].delay_so_far

    @property
    def mean_delay(self) -> float:
        """Mean time that a row waits, rejected rows included."""
        waited = sum(stage.left * stage.delay_so_far for stage in self.stages)
        return (waited + self.rejected * self.worst_delay) / (self.n_rows or 1)

    def cost_histogram(self) -> list[tuple[float, float]]:
        """List the possible costs of a row, lowest first, with the number of rows at each."""
        rows: dict[float, float] = {}
        for stage in self.stages:
            rows[stage.cost_so_far] = rows.get(stage.cost_so_far, 0) + stage.left
        last = self.stages[-1].cost_so_far
        rows[last] += self.rejected
        return sorted(rows.items())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, nested as the attributes are; delays only if there are any."""
        thresholds = self.thresholds and [*map(plain, self.thresholds)]
        values = {**asdict(self), "thresholds": thresholds}
        if not self.worst_delay:
            for stage in values["stages"]:
                del stage["delay_so_far"]
        return values

    def rule(self, stage: FlowStage) -> str:
        """Rule by which rows leave at a stage, in words; nothing if all stages share it."""
        if self.thresholds is None or not differ(self.thresholds):
            return ""
        return rule_in_words(self.thresholds[stage.number - 1])

    def share(self, rows: float) -> float:
        """Share of all rows that this number of rows makes up."""
        return rows / (self.n_rows or 1)

    def _repr_html_(self) -> str:
        """Show a line per stage and one for the rejected rows, for notebooks."""
        stages, rejected = self.stages, whole(self.rejected)
        so_far = aligned([one.cost_so_far for one in stages], digits=6)
        columns = {
            "": [*(f"stage {one.number}" for one in stages), "rejected"],
            "buys": [*(listed(one.features or ("nothing",), MOST_NAMES) for one in stages), ""],
            "leaves at": [*map(self.rule, stages), ""],
            "cost": [*aligned([one.cost for one in stages], digits=6), ""],
            "cost so far": [*so_far, so_far[-1]],
            "delay so far": [f"{one.delay_so_far:g}" for one in (*stages, stages[-1])],
            "reached": [*(whole(one.reached) for one in stages), rejected],
            "left": [*(whole(one.left) for one in stages), rejected],
            "share": [f"{self.share(n):.1%}" for n in (*(s.left for s in stages), self.rejected)],
            "correct": [*(f"{one.accuracy:.1%}" if one.left else "" for one in stages), ""],
        }
        if not self.rule(stages[0]):
            del columns["leaves at"]
        if not self.worst_delay:
            del columns["delay so far"]
        lines = list(zip(*columns.values(), strict=True))
        title = f"Flow of {counted(self.n_rows, 'row')}: {in_short(self)}"
        return fragment(title, table(tuple(columns), lines, ("", "buys", "leaves at")))
