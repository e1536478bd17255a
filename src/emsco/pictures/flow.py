"""The flow of rows through a design: what every picture, page and table of a cascade shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

from emsco._base.text import aligned, counted, in_short, listed
from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.pictures.notebook import fragment, table

__all__ = ["Flow", "FlowStage"]

_MOST_NAMES = 30  # of a stage, in a notebook
_ROUNDING = 1e-9  # of sums of weights: a share of rows below this is none


class _Exit(Protocol):
    """Rows that left in one place, as `ExitReport` has them."""

    @property
    def stage(self) -> int | None: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def cost(self) -> float: ...
    @property
    def n_rows(self) -> float: ...
    @property
    def n_correct(self) -> float: ...


class _Evaluated(Protocol):
    """Where labelled rows left a cascade, as `Evaluation` has it, which shows a flow itself."""

    @property
    def n_rows(self) -> float: ...
    @property
    def exits(self) -> Sequence[_Exit]: ...


@dataclass(frozen=True, slots=True)
class FlowStage:
    """One stage of a flow.

    Attributes
    ----------
    number : int
        From 1.
    features : tuple of str
        What the stage buys.
    cost : float
        What that costs, the stage's own evaluation cost included.
    cost_so_far : float
        What a row that leaves here has cost.
    reached, left, correct : float
        Rows that get here, leave here with a label, and leave here with the right one; with
        sample weights, what they weigh.
    """

    number: int
    features: tuple[str, ...]
    cost: float
    cost_so_far: float
    reached: float
    left: float
    correct: float

    @property
    def staying(self) -> float:
        """Rows that get no label here: they go on to the next stage, or are rejected."""
        rest = self.reached - self.left
        return rest if rest > _ROUNDING * self.reached else 0

    @property
    def accuracy(self) -> float:
        """Share of right labels among those given here; 0 where none is."""
        return self.correct / (self.left or 1)


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows on their way through the stages of a design.

    Attributes
    ----------
    stages : tuple of FlowStage
    n_rows : float
        How many there are; with sample weights, what they weigh.
    rejected : float
        Rows that no stage gives a label.
    """

    stages: tuple[FlowStage, ...]
    n_rows: float
    rejected: float

    @classmethod
    def from_design(
        cls,
        design: Design,
        costs: FeatureCosts,
        n_rows: float,
        exits: Sequence[float],
        correct_exits: Sequence[float],
    ) -> Self:
        """From the rows that leave at each stage, and those of them with the right label."""
        paid = costs.after_stages(design.subsets())
        return cls._from_counts(
            design.buys, paid.tolist(), n_rows, zip(exits, correct_exits, strict=True)
        )

    @classmethod
    def from_evaluation(cls, evaluation: _Evaluated) -> Self:
        """On labelled rows that a cascade has decided."""
        stages = [leave for leave in evaluation.exits if leave.stage is not None]
        counts = ((leave.n_rows, leave.n_correct) for leave in stages)
        buys = tuple(leave.features for leave in stages)
        return cls._from_counts(buys, [leave.cost for leave in stages], evaluation.n_rows, counts)

    @classmethod
    def _from_counts(
        cls,
        buys: tuple[tuple[str, ...], ...],
        paid: list[float],
        n_rows: float,
        counts: Iterable[tuple[float, float]],
    ) -> Self:
        stages, before, reached = [], 0.0, n_rows
        for number, (features, cost, (left, correct)) in enumerate(
            zip(buys, paid, counts, strict=True), start=1
        ):
            stages.append(FlowStage(number, features, cost - before, cost, reached, left, correct))
            before, reached = cost, stages[-1].staying
        return cls(tuple(stages), n_rows, reached)

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
        """Share of right labels among those given; 0 where none is."""
        return sum(stage.correct for stage in self.stages) / (self.accepted or 1)

    @property
    def cost(self) -> float:
        """Mean cost of a row; rejected rows have paid for every stage."""
        paid = sum(rows * cost for cost, rows in self.cost_histogram())
        return paid / (self.n_rows or 1)

    def cost_histogram(self) -> list[tuple[float, float]]:
        """Every cost that a row can have, from the lowest, and how many rows have it."""
        rows: dict[float, float] = {}
        for stage in self.stages:
            rows[stage.cost_so_far] = rows.get(stage.cost_so_far, 0) + stage.left
        last = self.stages[-1].cost_so_far
        rows[last] += self.rejected
        return sorted(rows.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    def share(self, rows: float) -> float:
        """Rows as a share of all."""
        return rows / (self.n_rows or 1)

    def _repr_html_(self) -> str:
        """A line per stage, and one for the rejected, for notebooks."""
        costs = aligned([stage.cost for stage in self.stages], digits=6)
        so_far = aligned([stage.cost_so_far for stage in self.stages], digits=6)
        lines = [
            (
                f"stage {stage.number}",
                listed(stage.features, _MOST_NAMES),
                cost,
                paid,
                f"{stage.reached:,.10g}",
                f"{stage.left:,.10g}",
                f"{self.share(stage.left):.1%}",
                f"{stage.accuracy:.1%}" if stage.left else "",
            )
            for stage, cost, paid in zip(self.stages, costs, so_far, strict=True)
        ]
        rejected, share = f"{self.rejected:,.10g}", f"{self.share(self.rejected):.1%}"
        lines.append(("rejected", "", "", so_far[-1], rejected, rejected, share, ""))
        headings = ("", "buys", "cost", "cost so far", "reach it", "leave", "of all", "correct")
        title = f"Flow of {counted(self.n_rows, 'row')}: {in_short(self)}"
        return fragment(title, table(headings, lines, ("", "buys")))
