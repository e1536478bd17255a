"""The flow of rows through a design, as all plots, pages and tables of a cascade show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from emsco._base.text import add_up, aligned, counted, in_short, listed, whole
from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.designs.thresholds import StageThresholds, answers_all, differ, plain, rule_in_words
from emsco.plotting.notebook import MOST_NAMES, fragment, table

LACKING = " *"  # after the way of rows that lack the value asked about
LACKING_NOTE = "* also rows whose value is missing or unknown"
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
    rejected : float
        Rows that leave here without a label.
    before : int
        Number of the stage before it; 0 for the first.
    way : str
        What holds for the rows that come here; "" if there is no other way.
    is_usual : bool
        Whether rows come here, too, whose value is missing or unknown at the branch before.
    """

    number: int
    features: tuple[str, ...]
    cost: float
    cost_so_far: float
    reached: float
    left: float
    correct: float
    delay_so_far: float = 0.0
    rejected: float = 0.0
    before: int = 0
    way: str = ""
    is_usual: bool = False

    @property
    def staying(self) -> float:
        """Rows that get no label here and go on to a next stage, or are rejected."""
        rest = self.reached - self.left
        return rest if rest > _ROUNDING * self.reached else 0

    def marked_way(self, *, may_lack: bool) -> str:
        """What holds for the rows that come here, with a mark if rows without the value do, too."""
        return f"{self.way}{LACKING if may_lack and self.is_usual else ''}"

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
        Those before a branch come first, then those of each part in turn.
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
        rejected_exits: Sequence[float] = (),
    ) -> Self:
        """Build the flow of a design from its exits and correct exits at each stage.

        `mean_cost` is that of a row, if rows pay prices of their own. `rejected_exits` are needed
        if rows are rejected at several stages.
        """
        subsets = design.subsets()
        return cls.from_counts(
            buys=design.buys,
            costs=costs.after_stages(subsets, design.before).tolist(),
            delays=costs.waits_after_stages(subsets, design.before).tolist(),
            n_rows=n_rows,
            exits=exits,
            correct_exits=correct_exits,
            thresholds=design.thresholds,
            mean_cost=mean_cost,
            design=design,
            rejected_exits=rejected_exits,
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
        design: Design | None = None,
        rejected_exits: Sequence[float] = (),
    ) -> Self:
        """Build a flow from what a row has cost and waited for after each stage, and its exits.

        `design` says which stage comes after which; without it, stages are a chain.
        """
        n_stages = len(buys)
        before = tuple(range(-1, n_stages - 1)) if design is None else design.before
        ways = ("",) * n_stages if design is None else design.ways
        usual = () if design is None else design.usual_stages
        reached, rejected = _reaching(before, n_rows, exits, rejected_exits)
        stages = [
            FlowStage(
                number=j + 1,
                features=buys[j],
                cost=costs[j] - (costs[before[j]] if before[j] >= 0 else 0.0),
                cost_so_far=costs[j],
                reached=reached[j],
                left=exits[j],
                correct=correct_exits[j],
                delay_so_far=delays[j],
                rejected=rejected[j],
                before=before[j] + 1,
                way=ways[j],
                is_usual=j in usual,
            )
            for j in range(n_stages)
        ]
        return cls(tuple(stages), n_rows, sum(rejected), thresholds, mean_cost)

    def after(self, stage: FlowStage) -> tuple[FlowStage, ...]:
        """Return the stages that rows go to from a stage: none, one, or several at a branch."""
        return tuple(one for one in self.stages if one.before == stage.number)

    def chain_from(self, stage: FlowStage) -> list[FlowStage]:
        """Return the stages from one up to the next branch."""
        chain = [stage]
        while len(after := self.after(chain[-1])) == 1:
            chain += after
        return chain

    def may_reject(self, stage: FlowStage) -> bool:
        """Whether rows that get no label at a stage are rejected: it is the last on its path."""
        takes_all = self.thresholds is not None and answers_all(self.thresholds[stage.number - 1])
        return stage.rejected > 0 or not (takes_all or self.after(stage))

    def part(self, stage: FlowStage) -> Flow:
        """Return the flow of the rows that reach a stage, from there on.

        Its rows have paid for what was bought before.
        """
        stages = [stage]
        for one in self.stages[stage.number :]:
            if any(one.before == earlier.number for earlier in stages):
                stages.append(one)
        rejected = sum(one.rejected for one in stages)
        return replace(
            self, stages=tuple(stages), n_rows=stage.reached, rejected=rejected, mean_cost=None
        )

    @property
    def is_chain(self) -> bool:
        """Whether all rows go through the same stages in the same order."""
        return all(stage.before == stage.number - 1 for stage in self.stages)

    def step(self, stage: FlowStage) -> int:
        """Return the number of a stage on its path, from 1."""
        return 1 + self.step(self.stages[stage.before - 1]) if stage.before else 1

    def depth(self, stage: FlowStage) -> int:
        """Return the number of branches before a stage."""
        if not stage.before:
            return 0
        return bool(stage.way) + self.depth(self.stages[stage.before - 1])

    def known(self, stage: FlowStage) -> tuple[str, ...]:
        """Return the features that are bought before a row reaches a stage."""
        if not stage.before:
            return ()
        earlier = self.stages[stage.before - 1]
        return (*self.known(earlier), *earlier.features)

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
        """Mean cost of a row; rejected rows have paid for every stage on their path."""
        if self.mean_cost is not None:
            return self.mean_cost
        paid = sum(rows * cost for cost, rows in self.cost_histogram())
        return paid / (self.n_rows or 1)

    @property
    def worst_delay(self) -> float:
        """Longest time that a row can wait: for all stages on its path."""
        return max(stage.delay_so_far for stage in self.stages)

    @property
    def mean_delay(self) -> float:
        """Mean time that a row waits, rejected rows included."""
        stages = self.stages
        waited = sum((stage.left + stage.rejected) * stage.delay_so_far for stage in stages)
        return waited / (self.n_rows or 1)

    def cost_histogram(self) -> list[tuple[float, float]]:
        """List the possible costs of a row, lowest first, with the number of rows at each."""
        rows: dict[float, float] = {}
        for stage in self.stages:
            so_far = rows.get(stage.cost_so_far, 0)
            rows[stage.cost_so_far] = so_far + stage.left + stage.rejected
        return sorted(rows.items())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, nested as the attributes are.

        Delays are there only if there are any, and what stages say of a branch only if there is
        one.
        """
        thresholds = self.thresholds and [*map(plain, self.thresholds)]
        values = {**asdict(self), "thresholds": thresholds}
        left_out = [] if self.worst_delay else ["delay_so_far"]
        if self.is_chain:
            left_out += ["rejected", "before", "way", "is_usual"]
        for stage in values["stages"]:
            for name in left_out:
                del stage[name]
        return values

    def rule(self, stage: FlowStage) -> str:
        """Rule by which rows leave at a stage, in words; nothing if all stages share it."""
        if self.thresholds is None or not differ(self.thresholds):
            return ""
        return rule_in_words(self.thresholds[stage.number - 1])

    def share(self, rows: float) -> float:
        """Share of all rows that this number of rows makes up."""
        return rows / (self.n_rows or 1)

    def in_whole_rows(self) -> Self:
        """Return the flow with whole numbers of rows that add up, for readers.

        Means over rounds of folds, and sums of weights, are no whole numbers. Whatever shows
        counts of rows takes them from here, so that all pictures, tables and pages agree.
        """
        left, rejected = [one.left for one in self.stages], [one.rejected for one in self.stages]
        counts = add_up([*left, *rejected])
        left, rejected = counts[: len(left)], counts[len(left) :]
        correct = add_up([one.correct for one in self.stages])
        before = [stage.before - 1 for stage in self.stages]
        n_rows = math.fsum(counts)
        reached, rejected = _reaching(before, n_rows, left, rejected)
        stages = [
            replace(
                stage,
                reached=reached[j],
                left=left[j],
                correct=min(left[j], correct[j]),
                rejected=rejected[j],
            )
            for j, stage in enumerate(self.stages)
        ]
        return replace(self, stages=tuple(stages), n_rows=n_rows, rejected=sum(rejected))

    def _repr_html_(self) -> str:
        """Show a line per stage and one for the rejected rows, for notebooks."""
        stages, in_rows = self.stages, self.in_whole_rows()
        rejected = whole(in_rows.rejected)
        so_far = aligned([one.cost_so_far for one in stages], digits=6)
        indents = ["\u2003" * self.depth(one) for one in stages]
        columns = {
            "": [
                *(f"{i}stage {one.number}" for i, one in zip(indents, stages, strict=True)),
                "rejected",
            ],
            "if": [*(one.way for one in stages), ""],
            "buys": [*(listed(one.features or ("nothing",), MOST_NAMES) for one in stages), ""],
            "leaves at": [*map(self.rule, stages), ""],
            "cost": [*aligned([one.cost for one in stages], digits=6), ""],
            "cost so far": [*so_far, so_far[-1]],
            "delay so far": [f"{one.delay_so_far:g}" for one in (*stages, stages[-1])],
            "reached": [*(whole(one.reached) for one in in_rows.stages), rejected],
            "left": [*(whole(one.left) for one in in_rows.stages), rejected],
            "share": [f"{self.share(n):.1%}" for n in (*(s.left for s in stages), self.rejected)],
            "correct": [*(f"{one.accuracy:.1%}" if one.left else "" for one in stages), ""],
            "rejected": [
                *(whole(one.rejected) if one.rejected else "" for one in in_rows.stages),
                "",
            ],
        }
        if self.is_chain:
            del columns["if"], columns["rejected"]
        else:  # rejected rows have paid and waited for their own path
            columns["cost so far"][-1] = columns["delay so far"][-1] = ""
        if not self.rule(stages[0]):
            del columns["leaves at"]
        if not self.worst_delay:
            del columns["delay so far"]
        lines = list(zip(*columns.values(), strict=True))
        title = f"Flow of {counted(self.n_rows, 'row')}: {in_short(self)}"
        return fragment(title, table(tuple(columns), lines, ("", "if", "buys", "leaves at")))


def _reaching(
    before: Sequence[int],
    n_rows: float,
    exits: Sequence[float],
    rejected_exits: Sequence[float],
) -> tuple[list[float], list[float]]:
    """Count the rows that reach each stage and those rejected there.

    `before` has the stage before each stage, from 0. Without `rejected_exits`, rows that leave
    nowhere are rejected at the last stage.
    """
    n_stages = len(exits)
    if all(one == j - 1 for j, one in enumerate(before)):
        # In a chain, rows that do not leave at a stage reach the next one.
        reached, rest = [], n_rows
        for left in exits:
            reached.append(rest)
            rest = rest - left if rest - left > _ROUNDING * rest else 0
        return reached, [0] * (n_stages - 1) + [rest]
    rejected = list(rejected_exits)
    if not rejected:
        rest = n_rows - sum(exits)
        rejected = [0] * (n_stages - 1) + [rest if rest > _ROUNDING * n_rows else 0]
    reached = [left + gone for left, gone in zip(exits, rejected, strict=True)]
    for j in range(n_stages - 1, 0, -1):  # later stages have got all their rows by then
        reached[before[j]] += reached[j]
    return reached, rejected
