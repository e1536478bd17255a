"""The flow of rows through a design, as all plots, pages and tables of a cascade show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

from emsco._base.text import aligned, counted, in_short, listed, whole
from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.designs.thresholds import (
    MinConfidence,
    StageThresholds,
    answers_all,
    differ,
    in_words,
    plain,
    rule_in_words,
)
from emsco.plotting.notebook import fragment, table

_MOST_NAMES = 30  # of a stage, in a notebook
_ROUNDING = 1e-9  # a smaller share of rows comes from rounded sums of weights


class _Exit(Protocol):
    """The part of `ExitReport` that a flow reads."""

    @property
    def stage(self) -> int | None: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def cost(self) -> float: ...
    @property
    def delay(self) -> float: ...
    @property
    def n_rows(self) -> float: ...
    @property
    def n_correct(self) -> float: ...


class _Evaluated(Protocol):
    """The part of `Evaluation` that a flow reads; `Evaluation` itself imports this module."""

    @property
    def n_rows(self) -> float: ...
    @property
    def exits(self) -> Sequence[_Exit]: ...
    @property
    def cost(self) -> float: ...
    @property
    def cost_deviation(self) -> float | None: ...


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
        subsets, counts = design.subsets(), zip(exits, correct_exits, strict=True)
        columns = costs.after_stages(subsets), costs.waits_after_stages(subsets)
        so_far = list(zip(*(one.tolist() for one in columns), strict=True))
        own = design.thresholds, mean_cost
        return cls._from_counts(design.buys, so_far, n_rows, counts, *own)

    @classmethod
    def from_evaluation(
        cls, evaluation: _Evaluated, thresholds: StageThresholds | None = None
    ) -> Self:
        """Build the flow of the labelled rows that a cascade was evaluated on.

        `thresholds` are those of its design, if any.
        """
        stages = [report for report in evaluation.exits if report.stage is not None]
        counts = ((report.n_rows, report.n_correct) for report in stages)
        buys = tuple(report.features for report in stages)
        so_far = [(report.cost, report.delay) for report in stages]
        mean = None if evaluation.cost_deviation is None else evaluation.cost
        return cls._from_counts(buys, so_far, evaluation.n_rows, counts, thresholds, mean)

    @classmethod
    def _from_counts(
        cls,
        buys: tuple[tuple[str, ...], ...],
        so_far: list[tuple[float, float]],
        n_rows: float,
        counts: Iterable[tuple[float, float]],
        thresholds: StageThresholds | None,
        mean_cost: float | None,
    ) -> Self:
        """Build a flow; `so_far` has the cost and the delay of a row after each stage."""
        stages, before, reached = [], 0.0, n_rows
        for number, (features, (cost, delay), (left, correct)) in enumerate(
            zip(buys, so_far, counts, strict=True), start=1
        ):
            own = reached, left, correct, delay
            stages.append(FlowStage(number, features, cost - before, cost, *own))
            before, reached = cost, stages[-1].staying
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
        found = {**asdict(self), "thresholds": self.thresholds and [*map(plain, self.thresholds)]}
        if not self.worst_delay:
            for stage in found["stages"]:
                del stage["delay_so_far"]
        return found

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
        costs = aligned([stage.cost for stage in self.stages], digits=6)
        so_far = aligned([stage.cost_so_far for stage in self.stages], digits=6)
        waits = [f"{one.delay_so_far:g}" for one in self.stages] if self.worst_delay else []
        rules = [[rule] for rule in map(self.rule, self.stages) if rule]
        lines = [
            (
                f"stage {stage.number}",
                listed(stage.features, _MOST_NAMES),
                *(rules[stage.number - 1] if rules else ()),
                cost,
                paid,
                *waits[stage.number - 1 : stage.number],
                whole(stage.reached),
                whole(stage.left),
                f"{self.share(stage.left):.1%}",
                f"{stage.accuracy:.1%}" if stage.left else "",
            )
            for stage, cost, paid in zip(self.stages, costs, so_far, strict=True)
        ]
        rejected, share = whole(self.rejected), f"{self.share(self.rejected):.1%}"
        own, leaves_at = ([""], ["leaves at"]) if rules else ([], [])
        paid = (so_far[-1], *waits[-1:])
        lines.append(("rejected", "", *own, "", *paid, rejected, rejected, share, ""))
        so_far_headings = ("cost", "cost so far", *["delay so far" for _ in waits[:1]])
        headings = ("", "buys", *leaves_at, *so_far_headings, "reached", "left", "share", "correct")
        title = f"Flow of {counted(self.n_rows, 'row')}: {in_short(self)}"
        return fragment(title, table(headings, lines, ("", "buys", "leaves at")))


@dataclass(frozen=True, slots=True)
class StageBox:
    """A box with a name, a caption, and details for a reader who opens it."""

    names: str
    name_details: str
    name_caption: str
    kind: str = "single"
    estimators: None = None
    doc_link_label: None = None
    dash_wrapped: bool = True

    def _sk_visual_block_(self) -> StageBox:
        return self


@dataclass(frozen=True, slots=True)
class CascadeBoxes:
    """The boxes of a cascade, one below the other."""

    estimators: tuple[StageBox, ...]
    names: tuple[str, ...]
    name_details: tuple[str, ...]
    kind: str = "serial"
    dash_wrapped: bool = True


def cascade_boxes(flow: Flow, min_confidence: MinConfidence) -> CascadeBoxes:
    """Make a box for each stage of a flow of scored rows, and one for the rejected rows.

    `min_confidence` is that of the stages if the flow has no thresholds.
    """
    thresholds = flow.thresholds or (min_confidence,) * len(flow.stages)
    parts = []
    for stage, least in zip(flow.stages, thresholds, strict=True):
        sure = "at any confidence"
        if not answers_all(least):
            sure = f"with confidence of at least {in_words(least)}"
        correct = f", {stage.accuracy:.1%} correct" if stage.left else ""
        delay = f"\ndelay so far {stage.delay_so_far:g}" if flow.worst_delay else ""
        parts.append(
            StageBox(
                f"stage {stage.number}, cost {stage.cost:g}",
                f"buys {', '.join(stage.features)}\n"
                f"cost {stage.cost:g}, so far {stage.cost_so_far:g}{delay}\n"
                f"{whole(stage.reached)} scored rows reach it\n"
                f"{whole(stage.left)} leave, {sure}{correct}",
                f"{listed(stage.features, 3)}; {flow.share(stage.left):.1%} leave{correct}",
            )
        )
    last = flow.stages[-1].cost_so_far
    parts.append(
        StageBox(
            "rejected",
            f"{whole(flow.rejected)} of {whole(flow.n_rows)} scored rows, each at cost {last:g}",
            f"{flow.share(flow.rejected):.1%} of scored rows",
        )
    )
    return CascadeBoxes(
        tuple(parts),
        tuple(part.names for part in parts),
        tuple(part.name_details for part in parts),
    )
