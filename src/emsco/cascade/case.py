"""The case: one row that asks for the features of a stage at a time, until it is decided."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_number
from emsco._base.documents import document_text, parse_document
from emsco.cascade import telemetry
from emsco.cascade.stages import Stages
from emsco.data.rows import as_float
from emsco.errors import CostsError, DataError, FileError, ParameterError

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class CaseDecision:
    """State of a case: its label or rejection once it is decided, and its cost so far.

    Attributes
    ----------
    decided : bool
        Whether the case is closed and needs no further features.
    accepted : bool
        Whether the case got a label.
    label : object
        The label; None for a rejected or open case.
    confidence : float
        Probability of the most likely class at the last stage; NaN before the first. If the
        cascade gives labels of least expected cost, the probability of that label.
    stage : int
        Last stage that has judged the case, from 1; 0 before the first.
    cost : float
        Total cost of these stages.
    reason : str
        Why the case was accepted or rejected, or the features it waits for.
    delay : float
        Total time that it waited for these stages.
    path : tuple of str
        The stages that have judged the case, and what held at each branch between them.
    """

    decided: bool
    accepted: bool
    label: Any
    confidence: float
    stage: int
    cost: float
    reason: str
    delay: float = field(default=0.0, repr=False)
    path: tuple[str, ...] = field(default=(), repr=False)


class Case:
    """One row whose features you buy on demand; `Cascade.open` returns it.

    Read `needs`, get these values from any source, and pass them to `give`. Repeat until `needs`
    is empty, then read `decision`. The case itself does no input or output.

    Parameters
    ----------
    stages : Stages
        Stages of the cascade.
    budget : float or None
        Highest cost of the row. The case is rejected before a stage that would exceed it.
    prices : mapping or None
        What the row pays for features with prices by row, as far as it is known.
    """

    __slots__ = (
        "_accepted",
        "_asked_at",
        "_budget",
        "_confidence",
        "_given",
        "_last",
        "_next",
        "_path",
        "_prices",
        "_reason",
        "_row",
        "_stages",
        "_winner",
    )

    def __init__(
        self,
        stages: Stages,
        budget: float | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        self._stages = stages
        self._budget = check_budget(budget)
        # NaN where not known yet.
        self._prices = stages.prices.of_rows(1, prices)[0].tolist()
        # Values not bought yet are NaN, which no stage so far reads.
        self._row = [math.nan] * stages.encoding.n_inputs
        self._given: dict[str, Any] = {}
        self._winner, self._confidence = 0, math.nan
        self._accepted = False
        self._last, self._next = -1, 0  # stages, from 0
        self._path: list[str] = []  # of a cascade that branches
        self._reason: str | None = None
        self._asked_at = 0 if telemetry.tracer is None else time.time_ns()
        self._check_next()

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns to buy next; empty once the case is decided.

        A group of features needs all its columns.
        """
        return () if self._reason is not None else self._stages.columns[self._next]

    @property
    def next_stage(self) -> int:
        """Stage that the columns to buy next are for, from 1; 0 once the case is decided."""
        return 0 if self._reason is not None else self._next + 1

    @property
    def next_cost(self) -> float:
        """Cost of the columns to buy next; 0 once the case is decided.

        A price that is not known yet is the usual one.
        """
        if self._reason is not None:
            return 0.0
        return self._cost(self._next) - self._cost(self._last)

    @property
    def given(self) -> Mapping[str, Any]:
        """Values given so far, by name; None where a value was missing."""
        return MappingProxyType({name: plain_value(value) for name, value in self._given.items()})

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each value given so far that is unlike those of the training rows.

        It is a number outside their range, an unknown category, or a missing value that is imputed
        although no training row lacked it. The case takes all of them: a model extrapolates the
        number, reads the category as none that it knows, and takes the missing value as the mean.
        """
        return self._stages.encoding.warnings(self._given)

    def give(self, values: Mapping[str, Any], spent: Mapping[str, float] | None = None) -> Self:
        """Give a value for each name in `needs`, and let the stage judge the row.

        Pass None or NaN for a value that you cannot get. The cascade was fitted to refuse it, to
        impute it or to skip the stage. `spent` is what the row paid for features with prices by
        row, if that was not known before.

        Raises
        ------
        DataError
            If a name is missing or not needed, a value is not valid for its column, or the case
            is already decided. The case stays as it was.
        """
        if telemetry.tracer is None:
            return self._take(values, spent)
        stage, before = self._next, self._last
        self._take(values, spent)
        span = telemetry.tracer.start_span(
            telemetry.NAME,
            start_time=self._asked_at or None,
            attributes={
                **telemetry.attributes_of(self._stages, stage),
                "emsco.price": self._cost(stage) - self._cost(before),
            },
        )
        span.end()
        self._asked_at = time.time_ns()
        return self

    def _take(self, values: Mapping[str, Any], spent: Mapping[str, float] | None = None) -> Self:
        """As `give`, without a span: a case that is read from a file has bought these before."""
        if self._reason is not None:
            raise DataError(f"give() must not be called once a case is decided ({self._reason}).")
        stages, stage = self._stages, self._next
        # Checked before anything is changed, so that a refused value leaves the case as it was.
        numbers = stages.encoding.row(values, stages.buys[stage])
        if self._prices or spent is not None:
            # The price of everything that the row buys now must be known.
            paid = stages.prices.of_rows(1, spent, what="spent")
            known = np.where(np.isnan(paid), self._prices, paid)
            stages.prices.check_paid(np.array([stage]), known)
            # Only once the stage's prices are complete: a refusal keeps what was known.
            self._prices = known[0].tolist()
        for i, number in zip(stages.inputs[stage], numbers, strict=True):
            self._row[i] = number
        self._given.update(values)
        self._judge()
        return self

    def reject(self, reason: str) -> Self:
        """Close the case without a label, for example if you cannot get a feature."""
        if self._reason is not None:
            raise DataError(f"reject() must not be called once a case is decided ({self._reason}).")
        if not isinstance(reason, str) or not reason:
            raise ParameterError(f"reason must be text that is not empty, got {reason!r}.")
        self._reason = reason
        return self

    @property
    def decision(self) -> CaseDecision:
        """Label or rejection, confidence, stage, cost so far, and the reason."""
        stages, last, reason = self._stages, self._last, self._reason
        return CaseDecision(
            decided=reason is not None,
            accepted=self._accepted,
            label=stages.labels[self._winner] if self._accepted else None,
            confidence=self._confidence,
            stage=last + 1,
            cost=self._cost(last),
            # An open case has a reason as well, for people who look at it.
            reason=reason or f"waiting for {', '.join(self.needs)}",
            delay=stages.delays[last] if last >= 0 and stages.delays else 0.0,
            path=tuple(self._path) if stages.branches else stages.names[: last + 1],
        )

    def to_json(self) -> str:
        """Write the case as text, so that `Cascade.resume` can continue it later or elsewhere."""
        prices = zip(self._stages.prices.features, self._prices, strict=True)
        known = {name: price for name, price in prices if not math.isnan(price)}
        body = {
            "cascade": self._stages.identity,
            "budget": self._budget,
            "given": {name: plain_value(value) for name, value in self._given.items()},
            **({"prices": known} if self._prices else {}),
            "rejected": None if self._accepted else self._reason,
        }
        return document_text("case", _FORMAT, body)

    @classmethod
    def from_json(cls, stages: Stages, text: str | bytes) -> Self:
        """Read a case that `to_json` wrote, for the same stages."""
        fields = parse_document(text, "case", _FORMAT, "the case")
        # Another cascade would read the same values and decide differently.
        if fields.text("cascade") != stages.identity:
            raise FileError(
                "the case must be of this cascade, got a case of another one; resume it with the "
                "cascade that opened it."
            )
        prices = fields.fields("prices").values if "prices" in fields.values else None
        budget = None if fields.get("budget") is None else fields.number("budget", 0)
        try:
            case = cls(stages, budget, prices)
        except (CostsError, DataError) as error:
            raise FileError(f"the case must hold valid prices: {error}") from None
        left = dict(fields.fields("given").values)
        # Given anew, stage by stage: what was decided then is decided again, and not believed.
        while left and case.needs:
            if missing := [name for name in case.needs if name not in left]:
                raise FileError(f"the case must hold whole stages, got no {missing[0]!r}.")
            try:
                case._take({name: left.pop(name) for name in case.needs})
            except DataError as error:
                raise FileError(f"the case must hold valid values: {error}") from None
        if left:
            raise FileError(
                f"the case must hold needed features only, got {next(iter(left))!r} too."
            )
        reason = None if fields.get("rejected") is None else fields.text("rejected")
        if reason == "":
            fields.refuse("rejected", "text that is not empty", reason)
        # A case may also have been rejected by its last stage, which happened again above.
        if reason is not None and case.needs:
            case.reject(reason)
        return case

    def __repr__(self) -> str:
        """Show the decision, or the features needed next."""
        now = self.decision
        state = "undecided" if not now.decided else repr(now.label) if now.accepted else "rejected"
        delay = f", delay {now.delay:g}" if self._stages.delays else ""
        return f"Case({state}: {now.reason}; stage {now.stage}, cost {now.cost:g}{delay})"

    def _judge(self) -> None:
        """Let the next stage judge the row."""
        stages, stage = self._stages, self._next
        sure, winner, confidence = stages.judge_one(self._row, stage)
        self._last = stage
        if stages.branches:
            self._path.append(stages.names[stage])
        if not sure:
            self._next = stage + 1
            if stages.branches:
                self._next, way = stages.go_on_one(stage, self._row, winner, confidence)
                self._path += [way] if way else []
        self._winner, self._confidence = winner, confidence
        if (relabelled := stages.relabelled(np.array([self._row]), stage)) is not None:
            self._winner, self._confidence = int(relabelled[0][0]), float(relabelled[1][0])
        if sure:
            self._accepted = True
            self._reason = stages.why_labelled[stage, self._winner]
        else:
            self._check_next()

    def _check_next(self) -> None:
        """Decide the case if no value is needed: nothing is bought, or no stage is left.

        It is rejected before a stage that would exceed the budget.
        """
        if self._next == len(self._stages):
            self._reason = self._stages.why_rejected(np.array([self._row]), self._last)[0]
        elif not self._stages.columns[self._next]:
            self._judge()
        # Before the stage is bought: a budget is never exceeded.
        elif self._budget is not None and (cost := self._cost(self._next)) > self._budget:
            self._reason = over_budget(self._next, cost, self._budget)

    def _cost(self, stage: int) -> float:
        """Cost of the row after a stage, 0 before the first; unknown prices are the usual ones."""
        if stage < 0 or not self._prices:
            return self._stages.costs[stage] if stage >= 0 else 0.0
        return float(self._stages.prices.after_stages(np.array([self._prices]))[0, stage])


def check_budget(budget: float | None) -> float | None:
    """Check a budget and return it; None and infinity both mean no limit and return None."""
    limit = math.inf if budget is None else check_number("budget", budget, 0, math.inf)
    # JSON has no infinity, and a case must be written as JSON.
    return limit if math.isfinite(limit) else None


def over_budget(stage: int, cost: float, budget: float) -> str:
    """Say why a stage, counted from 0, is not bought."""
    return f"stage {stage + 1} would cost {cost:g}, past the budget of {budget:g}"


def plain_value(value: Any) -> Any:
    """Convert an accepted value to text, a truth value or a number; None if it is missing."""
    # Scalars of NumPy and the like.
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, (str, bool)):
        return value
    number = as_float(value)
    return None if math.isnan(number) else number
