"""Several paid features together: a dry run, answers for a fit, decisions, and the bill."""

from __future__ import annotations

import asyncio
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from emsco._base.checks import check_number, check_whole, refused
from emsco._base.documents import PathLike
from emsco._base.progress import JobProgress
from emsco._base.text import brief, counted, first_line, rounded
from emsco.cascade.acquisition import Bought, Retries
from emsco.cascade.cascade import Cascade
from emsco.cascade.decisions import Decisions
from emsco.costs import FeatureCosts
from emsco.errors import AnswerError, DataWarning
from emsco.paid_features.answers import Answer
from emsco.paid_features.cache import AnswerCache, Paid
from emsco.paid_features.endpoints import CallError, without_keys
from emsco.paid_features.features import PaidFeature

_FAILURES_IN_A_ROW = 10  # after which a service is taken as down

_Result: TypeAlias = Paid | CallError


@dataclass(frozen=True, slots=True)
class Use:
    """What one feature has used, or is expected to use.

    Attributes
    ----------
    feature : str
    calls : int
        Attempts, those that failed too.
    cached : int
        Answers that were there already.
    failed : int
        Attempts that failed.
    tokens_in, tokens_out : int
    spent : float
    over : int
        Calls that cost more than was declared.
    basis : str
        Of an estimate: where the price comes from.
    seconds : float or None
        Of an estimate: about how long the calls take, if that is known.
    """

    feature: str
    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    spent: float = 0.0
    over: int = 0
    basis: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What answers for some rows will cost: the dry run. Printed, it is a table.

    Attributes
    ----------
    uses : tuple of Use
        One for each feature.
    left : float or None
        What the spending limit still allows.
    """

    uses: tuple[Use, ...]
    left: float | None = None

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(use.calls for use in self.uses)

    @property
    def total(self) -> float:
        """Money in all."""
        return math.fsum(use.spent for use in self.uses)

    def __str__(self) -> str:
        lines = [f"{counted(self.calls, 'call')} for about {rounded(self.total)}"]
        for use in self.uses:
            line = f"  {use.feature}: {counted(use.calls, 'call')} for about {rounded(use.spent)}"
            line += f" ({use.basis})" if use.calls and use.basis else ""
            line += f", about {_duration(use.seconds)}" if use.calls and use.seconds else ""
            lines.append(line + (f"; {use.cached:,} answers are there" if use.cached else ""))
        if self.left is not None:
            lines.append(f"The spending limit allows {rounded(self.left)} more.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Bill:
    """What a `PaidFeatures` has spent since it was made. Printed, it is a table.

    Attributes
    ----------
    uses : tuple of Use
        One for each feature.
    """

    uses: tuple[Use, ...]

    @property
    def total(self) -> float:
        """Money in all."""
        return math.fsum(use.spent for use in self.uses)

    def __str__(self) -> str:
        lines = [f"{rounded(self.total)} for {counted(sum(u.calls for u in self.uses), 'call')}"]
        for use in self.uses:
            line = f"  {use.feature}: {rounded(use.spent)} for {counted(use.calls, 'call')}"
            if use.tokens_in or use.tokens_out:
                line += f", {use.tokens_in:,} tokens in, {use.tokens_out:,} out"
            line += f"; {use.failed:,} failed" if use.failed else ""
            line += f"; {use.over:,} cost more than declared" if use.over else ""
            lines.append(line + (f"; {use.cached:,} from the cache" if use.cached else ""))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Answers for some rows, ready for a fit.

    Attributes
    ----------
    table : pyarrow.Table
        A column for each value, and one for each price that differs from row to row.
    costs : FeatureCosts
        One feature for each service.
    delays : dict
        Feature → seconds that an answer took on average.
    failures : dict
        Number of a row → why it lacks an answer.
    """

    table: Any
    costs: FeatureCosts
    delays: Mapping[str, float]
    failures: Mapping[int, str]

    def complete(self, y: Any) -> tuple[Any, list[Any]]:
        """Return the rows that lack no answer, and their labels."""
        kept = [i for i in range(self.table.num_rows) if i not in self.failures]
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        return self.table.take(kept), [labels[i] for i in kept]


class PaidFeatures:
    """Models and services that a cascade may ask, with a cache of answers and a spending limit.

    Parameters
    ----------
    features : sequence of PaidFeature
    cache : path, optional
        Folder for answers, so that nobody pays for one twice; by default they are remembered
        until the process ends.
    spending_limit : float, optional
        Most that this object spends. A call that could exceed it is not made.
    per_rows : int
        Costs of fits and decisions are for so many rows. With 1000, a call for 0.0003 dollars
        counts 0.3: dollars for 1,000 rows. Bills, estimates and limits stay plain money.

    Examples
    --------
    >>> from emsco.paid_features import PaidFeature
    >>> words = PaidFeature("words", lambda text: len(text.split()), returns="score", price=0.5)
    >>> services = PaidFeatures([words])
    >>> print(services.estimate(["Where is my parcel?", "Refund, please"]))
    2 calls for about 1
      words: 2 calls for about 1 (as declared)
    >>> services.collect(["Where is my parcel?", "Refund, please"]).table["words"].to_pylist()
    [4.0, 2.0]
    """

    def __init__(
        self,
        features: Sequence[PaidFeature],
        *,
        cache: PathLike | None = None,
        spending_limit: float | None = None,
        per_rows: int = 1,
    ) -> None:
        self.features = tuple(features)
        if not self.features or not all(isinstance(one, PaidFeature) for one in self.features):
            raise refused("features", "be a list of PaidFeature", features, got=brief(features))
        columns = [name for one in self.features for name in {one.name, *one.columns}]
        if twice := [name for name in columns if columns.count(name) > 1]:
            raise refused("features", "have different names", features, got=f"{twice[0]!r} twice")
        if spending_limit is not None:
            check_number("spending_limit", spending_limit, 0, math.inf)
        self.spending_limit = spending_limit
        self.per_rows = check_whole("per_rows", per_rows, 1)
        self._cache = AnswerCache(cache)
        self._uses = {one.name: Use(one.name) for one in self.features}
        self._reserved = 0.0  # for calls that are under way
        self._lock = threading.Lock()
        self._models: dict[str, str] = {}  # by feature: who answered first
        self._changed: dict[str, str] = {}  # who answered later, if that is another one
        self._warned: set[tuple[str, str]] = set()

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.features)
        return f"PaidFeatures({names}; {rounded(self.bill.total)} spent)"

    @property
    def bill(self) -> Bill:
        """What has been spent so far, by feature."""
        return Bill(tuple(self._uses.values()))

    def estimate(self, inputs: Any) -> Estimate:
        """Say what `collect` would spend on these rows; nothing is asked.

        Prices are as declared, or the mean of answers that are there. So collect a few rows first
        if you do not know how many tokens a call takes.
        """
        return self._estimate(Rows(inputs))

    def _estimate(self, rows: Rows) -> Estimate:
        left = None
        if self.spending_limit is not None:
            left = max(0.0, self.spending_limit - self.bill.total)
        return Estimate(tuple(self._expected(one, rows) for one in self.features), left)

    def collect(self, inputs: Any) -> Collected:
        """Ask all features about all rows, and return a table and costs for a fit.

        Answers that the cache has are not asked for again, so a second call goes on where the
        first one ended. A row that a service fails on lacks its value; `Collected.failures` says
        why.

        Raises
        ------
        AnswerError
            If the spending limit is too low for these rows, a key is wrong, or a service fails
            ten times in a row. Answers so far are in the cache.
        """
        inputs = Rows(inputs)
        n_rows = len(inputs)
        for feature in self.features:
            feature.check_ready()
        estimate = self._estimate(inputs)
        if estimate.left is not None and estimate.total > estimate.left:
            raise AnswerError(
                f"answers for {counted(n_rows, 'row')} must cost at most {rounded(estimate.left)}, "
                f"which is left of spending_limit, got about {rounded(estimate.total)} for "
                f"{counted(estimate.calls, 'call')}; raise it, or take fewer rows."
            )
        results: dict[str, list[_Result]] = {}
        with self._asking(inputs) as submit, JobProgress("answers") as bar:
            waiting: dict[Future[list[_Result]], tuple[PaidFeature, list[int]]] = {}
            for feature in self.features:
                results[feature.name] = [CallError("not asked")] * n_rows
                for rows, future in submit(feature, list(range(n_rows))):
                    waiting[future] = feature, rows
            streaks = dict.fromkeys(results, 0)
            for done, future in enumerate(as_completed(waiting), start=1):
                feature, rows = waiting[future]
                for i, result in zip(rows, future.result(), strict=True):
                    results[feature.name][i] = result
                failed = isinstance(result, CallError)
                streaks[feature.name] = streaks[feature.name] + 1 if failed else 0
                if isinstance(result, CallError):
                    self._check_alive(result, streaks[feature.name])
                bar.job(done, len(waiting), "")
        self._warn_of_surprises()
        collected = self._collected(results)
        if collected.failures:
            reasons = list(collected.failures.values())
            commonest = max(dict.fromkeys(reasons), key=reasons.count)
            warnings.warn(
                DataWarning(
                    f"{len(reasons)} of {n_rows} rows lack an answer, most often: "
                    f"{commonest} Collect again, fit without them (complete), or fit with "
                    "gaps='skip'."
                ),
                stacklevel=2,
            )
        return collected

    def run(self, cascade: Cascade, inputs: Any, budget: float | None = None) -> Decisions:
        """Decide rows; a row asks only what it needs, and many rows ask at a time.

        A row that a service fails on is rejected with the reason, unless the cascade was fitted
        with `gaps` to go on without the value. `Decisions.cost` has what the answers of each row
        cost when they were bought; `bill` has what was spent now.
        """
        inputs = Rows(inputs)
        n_rows = len(inputs)
        self._check_cascade(cascade)
        with self._asking(inputs) as submit:

            def acquire(names: list[str], ids: list[int]) -> Bought:
                results = {}
                for feature in self._asked(names):
                    answers = [(rows, future.result()) for rows, future in submit(feature, ids)]
                    results[feature.name] = _in_order(answers, ids)
                return self._bought(results)

            decisions = cascade.run(range(n_rows), acquire, budget, retries=0)
        self._warn_of_surprises()
        return decisions

    async def arun(self, cascade: Cascade, inputs: Any, budget: float | None = None) -> Decisions:
        """Decide rows as `run` does, without waiting for one another at a stage.

        To be awaited in an event loop, such as that of a web service.
        """
        inputs = Rows(inputs)
        n_rows = len(inputs)
        self._check_cascade(cascade)
        with self._asking(inputs) as submit:

            async def acquire(names: list[str], ids: list[int]) -> Bought:
                pending = {one.name: submit(one, ids) for one in self._asked(names)}
                results = {}
                for name, jobs in pending.items():
                    answers = [(rows, await asyncio.wrap_future(future)) for rows, future in jobs]
                    results[name] = _in_order(answers, ids)
                return self._bought(results)

            at_a_time = sum(one.concurrency for one in self.features)
            decisions = await cascade.arun(
                range(n_rows), acquire, budget, concurrency=at_a_time, retries=0
            )
        self._warn_of_surprises()
        return decisions

    def _expected(self, feature: PaidFeature, rows: Rows) -> Use:
        """Return what one feature is expected to use for these rows."""
        n_rows = len(rows)
        if feature.takes_many:
            price = feature.expected_price("")
            return Use(feature.name, n_rows, spent=price * n_rows, basis="as declared")
        missing: dict[str, Any] = {}
        known: list[Paid] = []
        for i in range(n_rows):
            one = rows.one(i)
            key = feature.key(one)
            if (paid := self._cache.get(key)) is None:
                missing[key] = one
            else:
                known.append(paid)
        if known:
            spent = math.fsum(paid.price for paid in known) / len(known) * len(missing)
            basis = f"mean of {counted(len(known), 'answer')}"
            seconds = math.fsum(paid.seconds for paid in known) / len(known)
            seconds *= len(missing) / feature.concurrency
        else:
            spent = math.fsum(feature.expected_price(one) for one in missing.values())
            basis, seconds = "as declared", 0.0
        if feature.max_per_minute is not None:
            seconds = max(seconds, 60 * len(missing) / feature.max_per_minute)
        return Use(
            feature=feature.name,
            calls=len(missing),
            cached=len(known),
            spent=spent,
            basis=basis,
            seconds=seconds or None,
        )

    @contextmanager
    def _asking(
        self, inputs: Rows
    ) -> Iterator[
        Callable[[PaidFeature, list[int]], list[tuple[list[int], Future[list[_Result]]]]]
    ]:
        """Open threads that ask; the value submits rows of a feature and returns their futures."""
        stop = threading.Event()
        pools = {one.name: ThreadPoolExecutor(one.concurrency) for one in self.features}

        def submit(
            feature: PaidFeature, rows: list[int]
        ) -> list[tuple[list[int], Future[list[_Result]]]]:
            pool = pools[feature.name]
            if feature.takes_many:
                return [(rows, pool.submit(self._ask_many, feature, inputs, rows))] if rows else []
            by_key: dict[str, list[int]] = {}
            for i in rows:  # the same question twice is asked once
                by_key.setdefault(feature.key(inputs.one(i)), []).append(i)
            return [
                (same, pool.submit(self._ask, feature, key, inputs.one(same[0]), len(same), stop))
                for key, same in by_key.items()
            ]

        try:
            yield submit
        finally:
            stop.set()  # after an error or Ctrl-C, nobody goes on buying
            for pool in pools.values():
                pool.shutdown(wait=False, cancel_futures=True)

    def _ask(
        self, feature: PaidFeature, key: str, one: Any, n_rows: int, stop: threading.Event
    ) -> list[_Result]:
        """Answer one question for so many rows, from the cache or by asking, with retries."""
        if (known := self._cache.get(key)) is not None and len(known.values) == len(
            feature.columns
        ):
            self._count(feature, cached=n_rows)
            self._models.setdefault(feature.name, known.model)
            return [known] * n_rows
        for pause in Retries(feature.retries, feature.pause).pauses():
            try:
                paid = self._buy(feature, one, stop)
            except CallError as error:
                failure = CallError(
                    f"{feature.name!r}: {error}", is_hopeless=error.is_hopeless, wait=error.wait
                )
                if pause is None or not error.may_pass or stop.wait(max(pause, error.wait)):
                    break
            else:
                self._cache.put(key, feature.name, paid)
                return [paid] * n_rows
        return [failure] * n_rows

    def _buy(self, feature: PaidFeature, one: Any, stop: threading.Event) -> Paid:
        """Make one attempt, and put it on the bill."""
        expected = feature.expected_price(one)
        with self._lock:
            spent = math.fsum(use.spent for use in self._uses.values())
            limit = self.spending_limit
            if limit is not None and spent + self._reserved + expected > limit:
                rule = f"the spending limit of {rounded(limit)} is reached"
                raise CallError(f"{rule} ({rounded(spent)} spent).", may_pass=False)
            self._reserved += expected
        begun = time.perf_counter()
        try:
            feature.wait_for_turn()
            if stop.is_set():
                raise CallError("stopped.", may_pass=False)
            paid = feature.call(one)
        except CallError as error:
            if str(error) != "stopped.":
                used = error.used or Answer(None, price=0.0)
                price = feature.price_of(used, time.perf_counter() - begun)
                self._count(feature, used, price, failed=1)
            raise
        else:
            self._count(feature, Answer(None, paid.tokens_in, paid.tokens_out), paid.price)
            if paid.model != self._models.setdefault(feature.name, paid.model):
                self._changed[feature.name] = paid.model
            return paid
        finally:
            with self._lock:
                self._reserved -= expected

    def _ask_many(self, feature: PaidFeature, inputs: Rows, rows: list[int]) -> list[_Result]:
        """Ask a local model about many rows at once."""
        try:
            answers = feature.call_many(inputs.some(rows))
            if len(answers) != len(rows):
                raise CallError(f"{len(rows)} answers must come back, got {len(answers)}.")
        except Exception as error:  # a model may raise anything
            why = f"{type(error).__name__}: " if not isinstance(error, CallError) else ""
            words = f"{feature.name!r}: {why}{without_keys(first_line(error))}."
            return [CallError(words)] * len(rows)
        for paid in answers:
            self._count(feature, Answer(None), paid.price)
        return [*answers]

    def _count(
        self,
        feature: PaidFeature,
        used: Answer | None = None,
        price: float = 0.0,
        *,
        cached: int = 0,
        failed: int = 0,
    ) -> None:
        """Put a call, or answers from the cache, on the bill."""
        with self._lock:
            use = self._uses[feature.name]
            self._uses[feature.name] = replace(
                use,
                calls=use.calls + (used is not None),
                cached=use.cached + cached,
                failed=use.failed + failed,
                tokens_in=use.tokens_in + (used.tokens_in if used else 0),
                tokens_out=use.tokens_out + (used.tokens_out if used else 0),
                spent=use.spent + price,
                over=use.over + feature.is_over(price),
            )

    def _check_alive(self, failure: CallError, n_failures: int) -> None:
        """Stop collecting if further calls would fail as well."""
        if failure.is_hopeless:
            raise AnswerError(f"{failure} Answers so far are kept.")
        if n_failures >= _FAILURES_IN_A_ROW:
            raise AnswerError(
                f"{n_failures} questions in a row have failed, the last one so: {failure} Answers "
                "so far are kept; collect again once the service is back."
            )

    def _warn_of_surprises(self) -> None:
        """Warn once of each feature that cost more than declared, or whose model has changed."""
        for feature in self.features:
            use = self._uses[feature.name]
            said = []
            if use.over:
                said.append(
                    f"{feature.name!r} must cost at most what was declared, got more for "
                    f"{use.over} of {counted(use.calls, 'call')}; the bill has what they cost."
                )
            if feature.name in self._changed:
                first, now = self._models[feature.name], self._changed[feature.name]
                said.append(
                    f"{feature.name!r} must be answered by one model, got answers of {first!r} and "
                    f"{now!r}; collect and fit again with the new one."
                )
            for words in said:
                key = feature.name, words[:40]
                if key not in self._warned:
                    self._warned.add(key)
                    warnings.warn(DataWarning(words), stacklevel=3)

    def _check_cascade(self, cascade: Cascade) -> None:
        known = {name for one in self.features for name in one.columns}
        if unknown := [name for name in cascade.columns if name not in known]:
            rule = "buy columns of these features only"
            raise refused("cascade", rule, cascade, got=repr(unknown[0]))
        for feature in self._asked(cascade.columns):
            feature.check_ready()

    def _asked(self, names: Sequence[str]) -> list[PaidFeature]:
        """Return the features that columns belong to."""
        return [one for one in self.features if not {*one.columns}.isdisjoint(names)]

    def _bought(self, results: Mapping[str, list[_Result]]) -> Bought:
        """Return answers as a cascade takes them."""
        columns, prices, failures = self._columns(results)
        return Bought(columns, prices, failures)

    def _collected(self, results: Mapping[str, list[_Result]]) -> Collected:
        import pyarrow as pa

        columns, prices, failures = self._columns(results)
        table = {**columns, **{_price_column(name): prices[name] for name in prices}}
        costs: dict[str, Any] = {}
        delays = {}
        for one in self.features:
            costs[one.name] = (
                _price_column(one.name)
                if one.has_row_prices
                else self.per_rows * one.price_of(Answer(None), 0.0)
            )
            seconds = [r.seconds for r in results[one.name] if isinstance(r, Paid)]
            delays[one.name] = math.fsum(seconds) / max(len(seconds), 1)
        groups = {one.name: one.columns for one in self.features if one.columns != (one.name,)}
        return Collected(
            table=pa.table(table),
            costs=FeatureCosts.from_mapping(costs, list(table), groups),
            delays=delays,
            failures=failures,
        )

    def _columns(
        self, results: Mapping[str, list[_Result]]
    ) -> tuple[dict[str, list[Any]], dict[str, list[float]], dict[int, str]]:
        """Return columns of values, prices by row, and the positions of rows that lack a value."""
        columns: dict[str, list[Any]] = {}
        prices: dict[str, list[float]] = {}
        failures: dict[int, str] = {}
        for feature in self.features:
            if feature.name not in results:
                continue
            answers = results[feature.name]
            for j, column in enumerate(feature.columns):
                columns[column] = [r.values[j] if isinstance(r, Paid) else None for r in answers]
            if feature.has_row_prices:
                prices[feature.name] = [
                    self.per_rows * r.price if isinstance(r, Paid) else 0.0 for r in answers
                ]
            for i, result in enumerate(answers):
                if isinstance(result, CallError):
                    failures.setdefault(i, str(result))
        return columns, prices, dict(sorted(failures.items()))


def _price_column(name: str) -> str:
    return f"{name} price"


def _in_order(answers: list[tuple[list[int], list[_Result]]], ids: list[int]) -> list[_Result]:
    """Return results in the order of the rows."""
    by_row = {i: one for rows, results in answers for i, one in zip(rows, results, strict=True)}
    return [by_row[i] for i in ids]


class Rows:
    """Inputs one by one or many at a time, whatever they came in."""

    def __init__(self, inputs: Any) -> None:
        import narwhals as nw

        self._inputs: Any = nw.from_native(
            inputs, eager_only=True, allow_series=True, pass_through=True
        )
        if isinstance(self._inputs, nw.Series):
            self._inputs = self._inputs.to_list()
        self._is_frame = isinstance(self._inputs, nw.DataFrame)
        has_rows = hasattr(self._inputs, "__len__") or hasattr(self._inputs, "shape")
        if isinstance(inputs, (str, bytes, Mapping)) or not has_rows:
            rule = "be a list or table, one entry per row"
            raise refused("inputs", rule, inputs, got=brief(inputs))

    def __len__(self) -> int:
        shaped = hasattr(self._inputs, "shape")  # sparse matrices have no length
        return int(self._inputs.shape[0]) if shaped else len(self._inputs)

    def one(self, i: int) -> Any:
        """Return an entry of a list, a row of an array, or a row of a frame as a mapping."""
        if self._is_frame:
            return dict(zip(self._inputs.columns, self._inputs.row(i), strict=True))
        return self._inputs[i]

    def some(self, rows: list[int]) -> Any:
        """Return some rows in the form that they came in."""
        if self._is_frame:
            return self._inputs[rows].to_native()
        return self._inputs[rows] if hasattr(self._inputs, "shape") else [self.one(i) for i in rows]


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 1):.0f} s"
