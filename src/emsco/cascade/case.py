"""The one-row session: says which features to buy next, takes their values, knows when to stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from emsco._base.checks import check_number, refused
from emsco._base.documents import document_text, parse_document
from emsco.cascade.stages import Stages
from emsco.data.rows import NUMBERS
from emsco.errors import DataError, FileError

__all__ = ["Case", "CaseDecision", "check_budget", "why_no_more"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class CaseDecision:
    """How a case stands.

    Attributes
    ----------
    decided : bool
        Whether it has ended; nothing more is bought then.
    accepted : bool
        Whether it ended with a label.
    label : object
        The label; None where there is none.
    confidence : float
        Probability of the likeliest class at the last stage passed; NaN before the first.
    stage : int
        How many stages have been passed.
    cost : float
        What the stages passed have cost.
    reason : str
        Why it has ended, or what it waits for.
    """

    decided: bool
    accepted: bool
    label: Any
    confidence: float
    stage: int
    cost: float
    reason: str


class Case:
    """One row whose features are bought on demand; made by `Cascade.open`.

    It reads and writes nothing itself: the caller asks `needs`, gets the values from wherever
    they come, and gives them.

    Parameters
    ----------
    stages : Stages
    budget : float or None
        Most that may be spent; a stage that would pass it is not bought, and the case rejected.
    """

    __slots__ = (
        "_accepted",
        "_budget",
        "_confidence",
        "_given",
        "_passed",
        "_reason",
        "_row",
        "_stages",
        "_winner",
    )

    def __init__(self, stages: Stages, budget: float | None = None) -> None:
        self._stages = stages
        self._budget = check_budget(budget)
        self._row = [math.nan] * stages.encoding.n_inputs
        self._given: dict[str, Any] = {}
        self._winner, self._confidence = 0, math.nan
        self._accepted = False
        self._passed = 0
        self._reason: str | None = None
        self._check_next()

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of what to buy next, the columns of a group each; none once the case is decided."""
        return () if self._reason is not None else self._stages.columns[self._passed]

    @property
    def given(self) -> Mapping[str, Any]:
        """What was given so far, by name; None where there was a gap."""
        return MappingProxyType({name: plain_value(value) for name, value in self._given.items()})

    def give(self, values: Mapping[str, Any]) -> Self:
        """Take the values of what `needs` lists, all of them and nothing else.

        A value that could not be had is None or NaN: refused, imputed, or the stage is skipped,
        as the cascade was fitted to.

        Raises
        ------
        DataError
            Where a value is missing, not needed or none that its column can have, or the case is
            decided; nothing has changed then.
        """
        if self._reason is not None:
            raise DataError(f"give() must not be called once a case is decided ({self._reason}).")
        stages, stage = self._stages, self._passed
        numbers = stages.encoding.row(values, stages.buys[stage])
        for i, number in zip(stages.inputs[stage], numbers, strict=True):
            self._row[i] = number
        self._given.update(values)
        sure, self._winner, self._confidence = stages.judge_one(self._row, stage)
        self._passed = stage + 1
        if sure:
            self._accepted = True
            self._reason = f"sure at stage {stage + 1}"
        else:
            self._check_next()
        return self

    def reject(self, reason: str) -> Self:
        """End the case without a label, such as when a feature cannot be had."""
        if self._reason is not None:
            raise DataError(f"reject() must not be called once a case is decided ({self._reason}).")
        if not isinstance(reason, str) or not reason:
            raise refused("reason", "be some words", reason)
        self._reason = reason
        return self

    @property
    def decision(self) -> CaseDecision:
        """Label or rejection, confidence, stage, cost so far, and why."""
        stages, passed, reason = self._stages, self._passed, self._reason
        return CaseDecision(
            decided=reason is not None,
            accepted=self._accepted,
            label=stages.labels[self._winner] if self._accepted else None,
            confidence=self._confidence,
            stage=passed,
            cost=stages.costs[passed - 1] if passed else 0.0,
            reason=reason or f"waiting for {', '.join(self.needs)}",
        )

    def to_json(self) -> str:
        """The case as text, for `Cascade.resume` to go on with, days later or elsewhere."""
        now = self.decision
        body = {
            "cascade": self._stages.identity,
            "budget": self._budget,
            "given": dict(self.given),
            "rejected": now.reason if now.decided and not now.accepted else None,
        }
        return document_text("case", _FORMAT, body)

    @classmethod
    def from_json(cls, stages: Stages, text: str | bytes) -> Self:
        """The case behind such a text, for the same stages."""
        fields = parse_document(text, "case", _FORMAT, "the case")
        if fields.text("cascade") != stages.identity:
            raise FileError(
                "the case must be of this cascade, got a case of another one; resume it with the "
                "cascade that opened it."
            )
        case = cls(stages, None if fields.get("budget") is None else fields.number("budget", 0))
        left = dict(fields.fields("given").values)
        while left and case.needs:
            if missing := [name for name in case.needs if name not in left]:
                raise FileError(f"the case must hold all that a stage buys, got no {missing[0]!r}.")
            try:
                case.give({name: left.pop(name) for name in case.needs})
            except DataError as error:
                raise FileError(f"the case must hold values it can have: {error}") from None
        if left:
            raise FileError(f"the case must hold what was asked for, got {next(iter(left))!r} too.")
        reason = None if fields.get("rejected") is None else fields.text("rejected")
        if reason == "":
            fields.refuse("rejected", "some words", reason)
        if reason is not None and case.needs:
            case.reject(reason)
        return case

    def __repr__(self) -> str:
        """The decision, or what is needed next."""
        now = self.decision
        state = "undecided" if not now.decided else repr(now.label) if now.accepted else "rejected"
        return f"Case({state}: {now.reason}; stage {now.stage}, cost {now.cost:g})"

    def _check_next(self) -> None:
        """End the case where no stage is left, or the next one would pass the budget."""
        self._reason = why_no_more(self._stages, self._passed, self._budget)


def check_budget(budget: float | None) -> float | None:
    """A limit of what a row may cost; None and infinity are none."""
    limit = math.inf if budget is None else check_number("budget", budget, 0, math.inf)
    return limit if math.isfinite(limit) else None


def why_no_more(stages: Stages, passed: int, budget: float | None) -> str | None:
    """Why no stage is bought after so many: none is left, or its cost; None where one is bought."""
    if passed == len(stages):
        return "never sure"
    cost = stages.costs[passed]
    if budget is not None and cost > budget:
        return f"stage {passed + 1} would cost {cost:g}, past the budget of {budget:g}"
    return None


def plain_value(value: Any) -> Any:
    """A value that has passed as text, truth value or number, for a file; None for a gap."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, (str, bool)):
        return value
    number = float(value) if isinstance(value, NUMBERS) else math.nan
    return None if math.isnan(number) else number
