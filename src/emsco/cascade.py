"""Cascades: the fitted stages of one design, ready to decide rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.costs import FeatureCosts
from emsco.design import Design
from emsco.errors import DataError
from emsco.frames import Columns, to_pandas, to_polars
from emsco.kernels import load
from emsco.rows import check_finite, table_rows
from emsco.subsets.models import Models
from emsco.subsets.scaling import Scaling

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Cascade", "Decisions", "Evaluation", "ExitReport"]


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a cascade decided about each row.

    Attributes
    ----------
    guesses : ndarray of shape (n_rows,)
        The likeliest class at the last stage that saw the row, for rejected rows too.
    accepted : ndarray of bool
    confidence : ndarray of float
        Probability of that class.
    stage : ndarray of int
        The last stage that saw the row, from 1.
    cost : ndarray of float
        What was bought for the row.

    Examples
    --------
    >>> decisions = Decisions(
    ...     guesses=np.array([0, 1, 1]),
    ...     accepted=np.array([True, True, False]),
    ...     confidence=np.array([0.9, 0.8, 0.6]),
    ...     stage=np.array([1, 2, 2]),
    ...     cost=np.array([1.0, 4.0, 4.0]),
    ... )
    >>> decisions
    Decisions(3 rows: 2 accepted, 1 rejected; mean cost 3)
    >>> decisions.labels.tolist()
    [0, 1, None]
    """

    guesses: AnyArray
    accepted: BoolArray
    confidence: FloatArray
    stage: IntArray
    cost: FloatArray

    def __post_init__(self) -> None:
        """Lock the arrays."""
        for field in fields(self):
            locked = getattr(self, field.name).view()
            locked.setflags(write=False)
            object.__setattr__(self, field.name, locked)

    @property
    def labels(self) -> np.ma.MaskedArray[Any, Any]:
        """Decided labels, masked where a row was rejected."""
        return np.ma.MaskedArray(self.guesses, mask=~self.accepted)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.accepted)

    def __repr__(self) -> str:
        """How many were accepted, and at what cost."""
        if not len(self):
            return "Decisions(0 rows)"
        return (
            f"Decisions({len(self)} rows: {self.accepted.sum()} accepted, "
            f"{(~self.accepted).sum()} rejected; mean cost {self.cost.mean():.6g})"
        )

    def to_pandas(self) -> pd.DataFrame:
        """A row per decision; the label is missing where rejected."""
        return to_pandas(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """The same table for Polars."""
        return to_polars(self._columns())

    def _columns(self) -> Columns:
        return {
            "label": self.labels,
            "accepted": self.accepted,
            "confidence": self.confidence,
            "stage": self.stage,
            "cost": self.cost,
        }


@dataclass(frozen=True, slots=True)
class ExitReport:
    """Rows that left a cascade in one place: at a stage (from 1), or rejected (stage None)."""

    stage: int | None
    features: tuple[str, ...]
    cost: float
    n_rows: int
    n_correct: int

    @property
    def accuracy(self) -> float:
        """Share of these rows with the right label; 0 where there are none."""
        return self.n_correct / max(self.n_rows, 1)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A cascade's three objectives on labelled rows, and where rows left.

    Attributes
    ----------
    n_rows : int
    coverage, accuracy, cost : float
        Share of rows with a label; share of those that are right; mean cost of all rows.
    exits : tuple of ExitReport
        One per stage, and a last one for rejected rows, of which none counts as correct.
    """

    n_rows: int
    coverage: float
    accuracy: float
    cost: float
    exits: tuple[ExitReport, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    def __repr__(self) -> str:
        """The objectives, then a line per exit."""
        lines = [
            f"Evaluation on {self.n_rows} rows: coverage {self.coverage:.3f}, "
            f"accuracy {self.accuracy:.3f}, cost {self.cost:.6g}"
        ]
        for leave in self.exits:
            place = "rejected" if leave.stage is None else f"stage {leave.stage}"
            judged = leave.stage is not None and leave.n_rows > 0
            right = f", accuracy {leave.accuracy:.3f}" if judged else ""
            lines.append(f"  {place:<9} {leave.n_rows:>7} rows at cost {leave.cost:g}{right}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Cascade:
    """The fitted stages of one design; independent of the search that found it.

    Attributes
    ----------
    design : Design
    costs : FeatureCosts
    classes : ndarray of shape (2,)
    min_confidence : float
        A row leaves at the first stage that is at least this sure; one that never does is rejected.
    scaling : Scaling
    coefs : ndarray of shape (n_stages, n_features + 1)
        Intercept, then the weight of each standardised feature; 0 where a stage does not know it.
    """

    design: Design
    costs: FeatureCosts
    classes: AnyArray
    min_confidence: float
    scaling: Scaling
    coefs: FloatArray

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name in ("classes", "coefs"):
            owned = np.array(getattr(self, name))
            owned.setflags(write=False)
            object.__setattr__(self, name, owned)

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return self.design.n_stages

    @cached_property
    def stage_costs(self) -> FloatArray:
        """What a row has cost after each stage."""
        total: FloatArray = self.design.subsets() @ self.costs.costs
        return total

    def decide(self, X: ArrayLike) -> Decisions:
        """Decide every row of a table: an array in column order, or a data frame by column names.

        A row's decision never depends on the rows beside it.
        """
        rows = table_rows(X, self.design.names)
        check_finite(rows, self.design.names)
        return self._decide(rows)

    def evaluate(self, X: ArrayLike, y: ArrayLike) -> Evaluation:
        """The three objectives on labelled rows, and the rows, accuracy and cost of each exit."""
        decisions, truth = self.decide(X), np.asarray(y)
        if truth.shape != decisions.accepted.shape:
            raise DataError(
                f"y must have one label for each of {len(decisions)} rows, got shape {truth.shape}."
            )
        if unknown := [label for label in np.unique(truth).tolist() if label not in self.classes]:
            raise DataError(f"y must hold the classes {self.classes.tolist()}, got {unknown[0]!r}.")
        right = decisions.accepted & (decisions.guesses == truth)
        n_accepted = int(decisions.accepted.sum())
        return Evaluation(
            n_rows=len(decisions),
            coverage=n_accepted / max(len(decisions), 1),
            accuracy=int(right.sum()) / max(n_accepted, 1),
            cost=float(decisions.cost.mean()) if len(decisions) else 0.0,
            exits=self._exits(decisions, right),
        )

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the last stage that saw each row, shape (n_rows, 2)."""
        decisions = self.decide(X)
        first = np.where(
            decisions.guesses == self.classes[0], decisions.confidence, 1 - decisions.confidence
        )
        return np.column_stack([first, 1 - first])

    def __repr__(self) -> str:
        """The design, its threshold, and the cost at each stage."""
        steps = " → ".join(
            f"{', '.join(self.design.features(j))} [{cost:g}]"
            for j, cost in enumerate(self.stage_costs)
        )
        return f"Cascade({steps}; accept at {self.min_confidence:g})"

    @cached_property
    def _models(self) -> Models:
        return Models.of(self.design.subsets(), self.coefs)

    def _decide(self, rows: FloatArray) -> Decisions:
        stage = np.empty(len(rows), dtype=np.int64)
        winner = np.empty(len(rows), dtype=np.int64)
        confidence = np.empty(len(rows))
        load("deciding").decide_rows(
            rows,
            self.scaling.mean,
            self.scaling.inverse,
            self._models.columns,
            self._models.sizes,
            self._models.coefs,
            self.min_confidence,
            stage,
            winner,
            confidence,
        )
        last = np.minimum(stage, self.n_stages - 1)
        return Decisions(
            guesses=self.classes[winner],
            accepted=stage < self.n_stages,
            confidence=confidence,
            stage=last + 1,
            cost=self.stage_costs[last],
        )

    def _exits(self, decisions: Decisions, right: BoolArray) -> tuple[ExitReport, ...]:
        reports = []
        for j, cost in enumerate(self.stage_costs.tolist()):
            here = decisions.accepted & (decisions.stage == j + 1)
            reports.append(
                ExitReport(
                    j + 1, self.design.features(j), cost, int(here.sum()), int(right[here].sum())
                )
            )
        n_rejected = int((~decisions.accepted).sum())
        return (*reports, ExitReport(None, (), float(self.stage_costs[-1]), n_rejected, 0))
