"""Reference points: what you would get without a cascade, measured on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.documents import Fields
from emsco._base.objectives import Objectives, objectives_from_dict
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco.cascade import Cascade, Decisions
from emsco.costs import FeatureCosts, GivenPrices
from emsco.data.labels import check_truth, positions_of
from emsco.data.weights import check_weights
from emsco.designs.thresholds import answers_all
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts, Total
from emsco.stats.promises import Promise

KINDS = ("commonest", "everything", "answered")
REJECTED = "rejected"  # made from the others where it is shown; no file has it
KINDS_ANSWERING = ("commonest", "answered")  # where nobody gave a confidence


@dataclass(frozen=True, slots=True)
class Reference(Objectives):
    """Coverage, accuracy and cost without a cascade.

    Attributes
    ----------
    kind : {"commonest", "everything", "answered", "rejected"}
        Always answer with the commonest class, for nothing; buy everything at once and reject
        below the confidence that you have given; buy everything at once and answer every row; or
        reject every row, for nothing.
    by_class : ByClass
    """

    kind: str
    by_class: ByClass

    @classmethod
    def from_counts(cls, kind: str, by_class: ByClass, cost: float) -> Self:
        """Create a reference from its results by class and the cost of a row."""
        answered = float(by_class.answered.sum())
        return cls(
            coverage=min(1.0, answered / (float(by_class.rows.sum()) or 1.0)),
            accuracy=by_class.accuracy,
            cost=cost,
            kind=kind,
            by_class=by_class,
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Add up the same reference on several sets of rows."""
        by_class = ByClass.joined([part.by_class for part in parts])
        return cls.from_counts(parts[0].kind, by_class, parts[0].cost)

    def rejecting(self) -> Self:
        """Return what rejecting every one of the same rows gives."""
        return self.from_counts(REJECTED, self.by_class.all_rejected(), 0.0)

    @property
    def title(self) -> str:
        """The reference in a few words."""
        if self.kind == "commonest":
            return f"always {self.label!r}"
        if self.kind == REJECTED:
            return "reject everyone"
        return "everything" if self.kind == "everything" else "everything, all answered"

    @property
    def label(self) -> object:
        """The label that is given most often."""
        return self.by_class.labels[int(self.by_class.given.argmax())]

    def delay(self, costs: FeatureCosts) -> float:
        """Return the time that every row waits: for the slowest feature, if it buys any."""
        return 0.0 if self.kind in ("commonest", REJECTED) else float(costs.delays.max())

    @property
    def buys_everything(self) -> bool:
        """Whether every row gets all features."""
        return self.kind in ("everything", "answered")

    def scored_by(self, metric: str) -> Objectives:
        """Return the objectives with the accuracy that `metric` names."""
        if metric == "accuracy":
            return self.objectives
        return replace(self.objectives, accuracy=self.by_class.balanced_accuracy)

    def total(self, error_cost: Any, reject_cost: Any = None) -> Total:
        """Return what a row costs with its features, errors and rejections; see `ParetoPoint`."""
        labels = self.by_class.labels
        return self.total_with(
            ErrorCosts.from_parameters(
                error_cost, reject_cost, labels, may_reject=self.coverage < 1
            )
        )

    def total_with(self, costs: ErrorCosts, *, cheapest_label: bool = False) -> Total:
        """Return the same for costs that are checked already.

        With `cheapest_label`, rows for which everything is bought get labels of least expected
        cost, as those of a cascade do; see `ParetoPoint.total`.
        """
        if cheapest_label and self.buys_everything:
            relabelled = costs.relabelled(self.by_class)
            return self.from_counts(self.kind, relabelled, self.cost).total_with(costs)
        return costs.total(self.objectives, self.by_class, promised=True)

    def keeps(self, promise: Promise) -> bool:
        """Whether its rows are as promised."""
        if promise.costs is not None:
            return promise.is_met_by(self.total_with(promise.costs).value)
        if promise.label is None:
            return promise.is_met_by(getattr(self, promise.kind))
        place = self.by_class.labels.index(promise.label)
        shares = self.by_class.recall if promise.kind == "recall" else self.by_class.precision
        return promise.is_met_by(float(shares[place]))  # 0 without any row

    def figures(
        self, costs: ErrorCosts | None = None, *, cheapest_label: bool = False
    ) -> dict[str, Any]:
        """Return plain values for a reader: with its title, and results by class with labels.

        With costs of errors, they have its total; `cheapest_label` is as for `total_with`.
        """
        figures = {"title": self.title, **self.to_dict(), "by_class": self.by_class.to_dict()}
        if costs is not None:
            total = self.total_with(costs, cheapest_label=cheapest_label)
            figures["total"] = total.to_dict()
        return figures

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {"kind": self.kind, **asdict(self.objectives), "by_class": self.by_class.to_lists()}

    @classmethod
    def from_dict(cls, fields: Fields, kind: str, labels: Sequence[object]) -> Self:
        """Read a reference from a file and check it."""
        if fields.text("kind") != kind:
            fields.refuse("kind", repr(kind), fields.get("kind"))
        figures = asdict(objectives_from_dict(fields))
        by_class = ByClass.from_dict(fields, "by_class", labels)
        return cls(**figures, kind=kind, by_class=by_class)


def everything_of(references: Sequence[Reference]) -> ByClass | None:
    """Return the results by class of buying everything; None without references."""
    return next((one.by_class for one in references if one.kind != "commonest"), None)


def with_rejecting(
    references: Sequence[Reference], costs: ErrorCosts | None
) -> tuple[Reference, ...]:
    """Add rejecting everyone to references, if rejections have a cost."""
    if not references or costs is None or not costs.costs[:, -1].any():
        return tuple(references)
    return (*references, references[0].rejecting())


def measure_references(
    everything: Cascade,
    commonest: object,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    prices: GivenPrices = None,
) -> tuple[Reference, ...]:
    """Measure all references on labelled rows, given the cascade that buys everything."""
    decisions = everything.decide(X, prices)
    truth = check_truth(y, everything.classes, len(decisions))
    weights = check_weights(sample_weight, len(decisions))
    return references_from_decisions(everything, commonest, decisions, truth, weights)


def references_from_decisions(
    everything: Cascade,
    commonest: object,
    decisions: Decisions,
    truth: AnyArray,
    weights: FloatArray | None,
) -> tuple[Reference, ...]:
    """Measure all references on rows that the cascade that buys everything has decided."""
    labels = everything.classes.tolist()
    cost = everything.stages.costs[-1]
    if len(everything.stages.prices) and len(decisions):  # rows have prices of their own
        cost = float(np.average(decisions.cost, weights=weights))
    return references_of(
        labels,
        positions_of(truth, everything.classes),
        positions_of(decisions.guesses, everything.classes),
        None if answers_all(everything.min_confidence) else decisions.accepted,
        labels.index(commonest),
        cost,
        weights,
    )


def references_of(
    labels: Sequence[object],
    truth: IntArray,
    winner: IntArray | LabelArray,
    sure: BoolArray | None,
    commonest: int,
    cost: float,
    weights: FloatArray | None,
) -> tuple[Reference, ...]:
    """Measure all references.

    Parameters
    ----------
    labels : sequence
    truth, winner : ndarray of shape (n_rows,)
        True class, and likeliest class of the model that sees everything.
    sure : ndarray of bool, shape (n_rows,), or None
        Whether that model is confident enough; None if it is to answer every row.
    commonest : int
        Position of the commonest class of the rows that were fitted.
    cost : float
        Cost of everything.
    weights : ndarray of shape (n_rows,) or None
    """
    given = {"commonest": np.full(len(truth), commonest)}
    if sure is not None:
        # The number of classes stands for a rejection.
        given["everything"] = np.where(sure, winner, len(labels))
    given["answered"] = np.asarray(winner)
    return tuple(
        Reference.from_counts(
            kind,
            ByClass.from_labels(labels, truth, said, weights),
            0.0 if kind == "commonest" else cost,
        )
        for kind, said in given.items()
    )
