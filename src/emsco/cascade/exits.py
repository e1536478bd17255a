"""The exits of a cascade: the rows that leave at each stage, and those that it rejects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.cascade.decisions import Decisions
from emsco.cascade.effective import Outcomes
from emsco.data.labels import positions_of

__all__ = ["ExitReport", "amount", "exits_of", "outcomes_of"]


@dataclass(frozen=True, slots=True)
class ExitReport:
    """Rows that left a cascade at one stage, or that it rejected.

    If `confidence` is well above `accuracy`, the stage is overconfident about these rows.

    Attributes
    ----------
    stage : int or None
        Number of the stage, from 1; None for the rejected rows.
    features : tuple of str
        Features that the stage buys.
    cost : float
        Cost of a row that leaves here.
    n_rows : int or float
        Rows that leave here; with sample weights, their total weight.
    n_correct : int or float
        Rows that leave here with the correct label, counted in the same way.
    confidence : float
        Mean confidence of the rows that leave here.
    delay : float
        Time that a row has waited when it leaves here.
    """

    stage: int | None
    features: tuple[str, ...]
    cost: float
    n_rows: float
    n_correct: float
    confidence: float = math.nan
    delay: float = field(default=0.0, repr=False)

    @classmethod
    def from_fields(cls, fields: Fields, stage: int | None, features: tuple[str, ...]) -> Self:
        """Read an exit from a file and check that its stage buys these features."""
        for name, value in (("stage", stage), ("features", list(features))):
            if fields.get(name) != value:
                fields.refuse(name, f"{value}, as in the design", fields.get(name))
        n_rows = amount(fields, "n_rows")
        n_correct = amount(fields, "n_correct", n_rows)
        delay = fields.number("delay", 0) if "delay" in fields.values else 0.0
        own = n_rows, n_correct, fields.number("confidence", 0, 1), delay
        return cls(stage, features, fields.number("cost", 0), *own)

    @classmethod
    def joined(cls, parts: Sequence[ExitReport]) -> Self:
        """Add up reports of the same exit, such as those of several chunks of a file."""
        first, n_rows = parts[0], sum(part.n_rows for part in parts)
        confidence = sum(part.confidence * part.n_rows for part in parts) / (n_rows or 1)
        n_correct = min(n_rows, sum(part.n_correct for part in parts))
        own = n_rows, n_correct, min(1.0, confidence), first.delay
        costs = {part.cost for part in parts}  # more than one if rows have prices of their own
        mean = sum(part.cost * part.n_rows for part in parts) / (n_rows or 1)
        return cls(first.stage, first.features, first.cost if len(costs) == 1 else mean, *own)

    @property
    def accuracy(self) -> float:
        """Share of labels given here that are correct; 0 if there are none."""
        return self.n_correct / (self.n_rows or 1)

    @property
    def gives_labels(self) -> bool:
        """Whether rows leave here with a label."""
        return self.stage is not None and self.n_rows > 0

    @property
    def place(self) -> str:
        """The stage in words."""
        return "rejected" if self.stage is None else f"stage {self.stage}"

    def to_dict(self, *, with_delay: bool) -> dict[str, Any]:
        """Return plain values, with the delay or without it."""
        found = asdict(self)
        return found if with_delay else {name: found[name] for name in found if name != "delay"}


def outcomes_of(
    decisions: Decisions, truth: AnyArray, classes: AnyArray, n_stages: int
) -> Outcomes:
    """Return the exit, the true class and the label of each row as numbers."""
    left: IntArray = np.where(decisions.accepted, decisions.stage - 1, n_stages)
    return Outcomes(
        left, positions_of(truth, classes), decisions.given(classes), n_stages, len(classes)
    )


def exits_of(
    decisions: Decisions,
    outcomes: Outcomes,
    weights: FloatArray | IntArray,
    buys: Sequence[tuple[str, ...]],
    costs: Sequence[float] | None,
    delays: Sequence[float],
) -> tuple[ExitReport, ...]:
    """Report the rows that leave at each stage, then the rejected rows."""
    places = [*enumerate(buys, start=1), (None, ())]
    fixed = [None] * len(places) if costs is None else [*costs, costs[-1]]
    waits = [*delays, delays[-1]] if delays else [0.0] * len(places)
    reports = []
    for i, ((stage, bought), fixed_cost) in enumerate(zip(places, fixed, strict=True)):
        here = outcomes.exit == i
        n_rows = weights[here].sum().item()
        n_correct = min(n_rows, weights[here & outcomes.correct].sum().item())
        confidence = (decisions.confidence[here] @ weights[here]).item() / (n_rows or 1)
        mean_cost = (decisions.cost[here] @ weights[here]).item() / (n_rows or 1)
        cost = mean_cost if fixed_cost is None else fixed_cost
        own = n_rows, n_correct, min(1.0, confidence), waits[i]
        reports.append(ExitReport(stage, bought, cost, *own))
    return tuple(reports)


def amount(fields: Fields, name: str, most: float = math.inf) -> float:
    """Read a number of rows, or the weight of rows, which need not be whole."""
    found = fields.number(name, 0, most)
    return int(found) if type(fields.get(name)) is int else found
