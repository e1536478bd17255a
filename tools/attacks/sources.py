"""Sources that fail, lie or stall: no row of a run may be lost, or charged or labelled wrongly.

Each schedule draws a cascade, a way to run it (plain or async), batches, retries, a budget and a
misbehaviour for every call of the source.
"""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from attacks.fits import Disturbed
from emsco import Bought, Cascade, Decisions, EMSCOClassifier, FeatureCosts
from emsco._base.typing import FloatArray

__all__ = ["try_sources"]

_NAMES = list("abcd")
_LARGE = 0.05  # of the schedules take any number of rows, others a dozen at most
_HARMLESS = ("well", "lists", "frame", "extra", "swapped")
_MISCHIEF = (*_HARMLESS, "well", "well", "raises", "short", "long", "blank", "text", "none", "odd",
             "unpriced", "dear", "cancelled")  # fmt: skip


class _OddError(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def try_sources(seed: int, numbers: range) -> Iterator[Disturbed]:
    """Carry out schedules."""
    table, cascades = _prepared()
    said = {id(cascade): cascade.decide(table) for cascade in cascades}
    for number in numbers:
        rng = random.Random(f"sources {seed} {number}")
        cascade = rng.choice(cascades)
        schedule = _Schedule(table, cascade, said[id(cascade)], rng)
        try:
            wrong = schedule.carry_out()
        except Exception as error:  # whatever it is, a run must not raise it
            wrong = f"{type(error).__name__}: {_words(error)}"
        yield Disturbed(number, schedule.what, wrong)


def _words(error: Exception) -> str:
    try:
        return str(error)[:200]
    except Exception:
        return "(no words)"


def _prepared() -> tuple[pd.DataFrame, list[Cascade]]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=_NAMES)
    table["price"] = np.round(rng.uniform(0, 5, size=60), 2)
    y = (table.a + table.b + table.c - table.d > 0).astype(int)
    fees = {"visit": (3, ["b", "c"])}
    cascades = []
    for cost_of in ({"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 1, "b": "price", "c": 3, "d": 4}):
        costs = FeatureCosts.from_mapping(
            cost_of, [*_NAMES, "price"] if "price" in cost_of.values() else _NAMES, fees=fees
        )
        clf = EMSCOClassifier(costs, min_confidence=0.8, max_stages=3, generations=8,
                              estimator="logistic", cv=1 / 3, random_state=0)  # fmt: skip
        clf.fit(table if costs.prices else table[_NAMES], y)
        many = [point for point in clf.front_ if point.n_stages > 1]
        cascades += [clf.front_.cascade(point) for point in many[:3]]
    return table, cascades


class _Schedule:
    """One run with a source that misbehaves."""

    def __init__(
        self, table: pd.DataFrame, cascade: Cascade, said: Decisions, rng: random.Random
    ) -> None:
        self._cascade, self._said, self._rng = cascade, said, rng
        self._values, self._prices = table[_NAMES].to_numpy(), table["price"].to_numpy()
        self._n_rows = rng.randint(0, len(table) if rng.random() < _LARGE else 12)
        self._ids = rng.sample(range(len(table)), self._n_rows)
        self._share = rng.choice([0.0, 0.1, 0.5, 1.0])
        self._is_async = rng.random() < 0.4
        self._settings: dict[str, Any] = {
            "batch_size": rng.choice([1, 3, 7, None]),
            "retries": rng.choice([0, 1, 2]),
            "pause": 0.0,
            "budget": rng.choice([None, None, rng.uniform(0, 12)]),
        }
        self._priced = bool(len(cascade.stages.prices))
        self._tells = rng.random() < 0.5
        if self._priced and not self._tells:
            self._settings["prices"] = {"b": self._prices[self._ids]}
        self._called: list[str] = []

    @property
    def what(self) -> str:
        """The schedule in words."""
        kind = "arun" if self._is_async else "run"
        return (
            f"{kind} of {self._n_rows} rows, {self._settings}, calls: {', '.join(self._called[:8])}"
        )

    def carry_out(self) -> str:
        """Run, and say what is wrong with the decisions."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._is_async:
                decisions = asyncio.run(
                    self._cascade.arun(self._ids, self._answer_later, **self._settings)
                )
            else:
                decisions = self._cascade.run(self._ids, self._answer, **self._settings)
        return self._check(decisions)

    async def _answer_later(self, names: list[str], ids: list[Any]) -> Any:
        await asyncio.sleep(0)
        return self._answer(names, ids)

    def _answer(self, names: list[str], ids: list[Any]) -> Any:
        kind = self._rng.choice(_MISCHIEF) if self._rng.random() < self._share else "well"
        self._called.append(kind)
        good = self._values[np.ix_(ids, [_NAMES.index(name) for name in names])]
        if kind == "raises":
            raise self._rng.choice([OSError("gone"), ValueError(), _OddError(), TimeoutError()])
        if kind == "cancelled" and self._is_async:
            raise asyncio.CancelledError
        values = _changed(kind, good, names)
        if self._priced and self._tells and "b" in names and kind != "unpriced":
            spent = self._prices[ids]
            return Bought(values, {"b": -spent - 1 if kind == "dear" else spent})
        return values

    def _check(self, decisions: Any) -> str:
        """Compare every decision with that of the table."""
        if decisions.ids.tolist() != self._ids:
            return f"ids {decisions.ids.tolist()[:5]} instead of {self._ids[:5]}"
        if not self._n_rows:
            return ""
        accepted, guesses = self._said.accepted[self._ids], self._said.guesses[self._ids]
        paid = [0.0] * self._n_rows
        for i, stage in enumerate(decisions.stage):
            known = {name for bought in self._cascade.design.buys[:stage] for name in bought}
            price_of = {
                "a": 1,
                "b": self._prices[self._ids[i]] if self._priced else 2,
                "c": 3,
                "d": 4,
            }
            paid[i] = sum(price_of[name] for name in known) + 3 * bool({"b", "c"} & known)
        if not np.allclose(decisions.cost, paid):
            return f"costs {decisions.cost[:3]} instead of {paid[:3]}"
        wrong = decisions.accepted & (~accepted | (decisions.guesses != guesses))
        if wrong.any():
            return f"row {decisions.ids[wrong][0]} has a label that the table does not give"
        if not all(isinstance(reason, str) and reason for reason in decisions.reasons):
            return "a row without a reason"
        budget = self._settings["budget"]
        # A price that is told afterwards may turn out higher than the usual one.
        is_known = not (self._priced and self._tells)
        if budget is not None and is_known and (decisions.cost > budget + 1e-9).any():
            return f"a row costs {decisions.cost.max()}, past the budget"
        bad = set(self._called) - set(_HARMLESS)
        if not bad and budget is None and not np.array_equal(decisions.accepted, accepted):
            return "a source that behaves well, and other decisions than of the table"
        return ""


def _changed(kind: str, good: FloatArray, names: list[str]) -> Any:
    """Return the values of a call as the kind of mischief has them."""
    if kind == "none":
        return None
    if kind == "short":
        return good[:-1]
    if kind == "long":
        return np.concatenate([good, good])
    if kind == "blank":
        return np.where(np.random.default_rng(0).random(good.shape) < 0.3, np.nan, good)
    if kind == "text":
        return np.char.add(good.astype(str), "?")
    if kind == "odd":
        return np.full(good.shape, Decimal("sNaN"), dtype=object)
    if kind == "lists":
        return dict(zip(names, good.T.tolist(), strict=True))
    if kind not in ("frame", "swapped", "extra"):
        return good
    frame = pd.DataFrame(good, columns=names)
    if kind == "swapped":
        return frame[names[::-1]]
    return frame.assign(more=1) if kind == "extra" else frame
