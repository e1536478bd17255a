"""Questions that every method of a comparison answers, and what it offers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco._base.typing import AnyArray, BoolArray, FloatArray
from emsco.stats.error_costs import ErrorCosts

BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)
_ROUNDING = 1e-9
_LEAST_CHANCE = 1e-3  # some rivals say 0, which would make any log loss infinite


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """A request for the most accurate design within two limits.

    Both limits hold on the rows that choose.

    Attributes
    ----------
    coverage : float
        Least share of rows that get a label.
    budget : float
        Largest mean cost of a row, as a share of the cost of everything.
    """

    coverage: float
    budget: float

    def allows(self, promised: Objectives, total_cost: float) -> bool:
        """Whether figures on the rows that choose are within the limits, rounding aside."""
        return (
            promised.coverage >= self.coverage - _ROUNDING
            and promised.cost <= (self.budget + _ROUNDING) * total_cost
        )


QUESTIONS = tuple(Question(coverage, budget) for coverage in COVERAGES for budget in BUDGETS)


@dataclass(frozen=True, slots=True)
class Seen(Objectives):
    """Objectives on test rows, and the mean log loss of the labelled ones.

    Chances below 0.001 count as 0.001; the log loss is 0 if no row is labelled.
    """

    log_loss: float = 0.0

    @classmethod
    def from_rows(
        cls,
        correct: BoolArray,
        accepted: BoolArray,
        cost: FloatArray,
        chances: FloatArray,
        weights: FloatArray | None,
    ) -> Seen:
        """Measure from what happened to each row; `chances` are those of its true class."""
        counts = np.ones(len(correct)) if weights is None else weights
        labelled = counts * accepted
        n_labelled = float(labelled.sum())
        losses = -np.log(np.clip(chances, _LEAST_CHANCE, 1.0))
        share = max(n_labelled, np.finfo(np.float64).tiny)
        return cls(
            min(1.0, n_labelled / float(counts.sum())),  # rounding may exceed 1
            min(1.0, float(labelled @ correct) / share),
            float(counts @ cost / counts.sum()),
            float(labelled @ losses) / share,
        )

    @classmethod
    def from_constant(
        cls, label: Any, y: AnyArray, share: float, weights: FloatArray | None
    ) -> Seen:
        """Measure the answer `label` for everyone, for nothing, at a confidence of `share`."""
        correct = np.asarray(y == label)
        others = np.where(correct, share, 1.0 - share)
        return cls.from_rows(
            correct, np.ones(len(y), dtype=np.bool_), np.zeros(len(y)), others, weights
        )

    @classmethod
    def from_dict(cls, fields: Fields) -> Seen:
        """Read the values that `dataclasses.asdict` wrote."""
        one = Objectives.from_dict(fields)
        return cls(one.coverage, one.accuracy, one.cost, fields.number("log_loss", 0))

    def money(self, error_cost: float, reject_cost: float = 0.0) -> float:
        """Mean total of a row, if an error and a rejection cost so much."""
        return ErrorCosts.from_parameters(error_cost, reject_cost).total(self).value


@dataclass(frozen=True, slots=True)
class Offer:
    """What a method deploys in answer to a question.

    Attributes
    ----------
    question : Question
    setting : str
        The method's own setting or design, in words; "" for the commonest class.
    promised : Objectives
        On the rows that chose.
    seen : Seen
        On the test rows.
    """

    question: Question
    setting: str
    promised: Objectives
    seen: Seen

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Fields) -> Offer:
        """Read the values that `to_dict` wrote."""
        asked = fields.fields("question")
        return cls(
            Question(asked.number("coverage", 0, 1), asked.number("budget", 0)),
            fields.text("setting"),
            Objectives.from_dict(fields.fields("promised")),
            Seen.from_dict(fields.fields("seen")),
        )
