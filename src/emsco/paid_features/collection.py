"""Several paid features together: a dry run, answers for a fit, decisions, and the bill."""

from __future__ import annotations

import asyncio
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from emsco._base.checks import check_number, check_whole
from emsco._base.documents import PathLike
from emsco._base.progress import JobProgress
from emsco._base.text import brief, counted, duration, rounded
from emsco.cascade.acquisition import Bought, Retries
from emsco.cascade.cascade import Cascade
from emsco.cascade.decisions import Decisions
from emsco.costs import FeatureCosts
from emsco.errors import AnswerError, DataWarning, ParameterError
from emsco.paid_features.answers import Answer, Price
from emsco.paid_features.cache import AnswerCache
from emsco.paid_features.endpoints import CallError
from emsco.paid_features.features import PaidFeature

_FAILURES_IN_A_ROW = 10  # after which a service is taken as down

_Result: TypeAlias = Answer | CallError
_Jobs: TypeAlias = list[tuple[Future[list[_Result]], int]]  # by row: its result is at a position
_Asked: TypeAlias = dict[str, _Jobs]  # by feature
_Submit: TypeAlias = Callable[[Sequence[PaidFeature], Sequence[int]], _Asked]


@dataclass(frozen=True, slots=True)
class Use:
    """What one feature has used, or is expected to use.

    Attributes
    ----------
    feature : str
    calls : int
        Attempts, those that failed too.
    cached : int
        Answers that came from the cache.
    failed : int
        Attempts that failed.
    tokens_in, tokens_out : int
    spent : float
    basis : str
        Of an estimate: where the price comes from.
    seconds : float
        Of an estimate: about how long the calls take; 0 if that is not known.
    """

    feature: str
    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    spent: float = 0.0
    basis: str = ""
    seconds: float = 0.0


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
    def calls(self) -> int:
        """Number of calls."""
        return sum(use.calls for use in self.uses)

    @property
    def total(self) -> float:
        """Money in all."""
        return math.fsum(use.spent for use in self.uses)

    def __str__(self) -> str:
        return "\n".join(self._lines("for"))

    def _lines(self, amounts: str) -> list[str]:
        lines = [f"{counted(self.calls, 'call')} {amounts} {rounded(self.total)}"]
        for use in self.uses:
            line = f"  {use.feature}: {counted(use.calls, 'call')} {amounts} {rounded(use.spent)}"
            if use.basis and use.calls:
                line += f" ({use.basis})"
            if use.seconds and use.calls:
                line += f", {duration(use.seconds)}"
            if use.tokens_in or use.tokens_out:
                line += f", {use.tokens_in:,} tokens in, {use.tokens_out:,} out"
            if use.failed:
                line += f"; {use.failed:,} failed"
            if use.cached:
                line += f"; {counted(use.cached, 'answer')} from the cache"
            lines.append(line)
        return lines


@dataclass(frozen=True, slots=True)
class Estimate(Bill):
    """What answers for some rows will cost: the dry run. Printed, it is a table.

    Attributes
    ----------
    uses : tuple of Use
        One for each feature.
    left : float or None
        What the spending limit still allows.
    """

    left: float | None = None

    def __str__(self) -> str:
        lines = self._lines("for about")
        if self.left is not None:
            lines.append(f"The spending limit allows {rounded(self.left)} more.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Answers for some rows, ready for a fit.

    Attributes
    ----------
    table : pyarrow.Table
        A column for each value, and one for each price that differs from row to row.
        ``table.to_pandas()`` is a data frame.
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

    def __repr__(self) -> str:
        size = f"{counted(self.table.num_rows, 'row')}, {len(self.failures):,} lack an answer"
        return f"Collected({size}; columns {', '.join(self.table.column_names)})"


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
            raise ParameterError(f"features must be a list of PaidFeature, got {brief(features)}.")
        columns = [name for one in self.features for name in {one.name, *one.columns}]
        if twice := [name for name in columns if columns.count(name) > 1]:
            raise ParameterError(f"features must have different names, got {twice[0]!r} twice.")
        if all(one.pricing == Price() for one in self.features):
            raise ParameterError(
                "features must include one with a price above 0, got none; for a model on your "
                "machine, take price=Price(per_second=1)."
            )
        if spending_limit is not None:
            check_number("spending_limit", spending_limit, 0, math.inf)
        self.spending_limit = spending_limit
        self.per_rows = check_whole("per_rows", per_rows, 1)
        self._cache = AnswerCache(cache)
        self._uses = {one.name: Use(one.name) for one in self.features}
        self._reserved = 0.0  # for calls that are under way
        self._lock = threading.Lock()
        self._models: dict[str, str] = {}  # by feature: who answered first
        self._surprises: dict[tuple[str, str], str] = {}  # what to warn of, by feature and kind
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

        Prices are the mean of cached answers to these rows; without any, the mean of the calls so
        far; without these, as declared. So collect a few rows first if you do not know how many
        tokens a call takes.
        """
        rows = Rows.of(inputs)
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
        rows = Rows.of(inputs)
        for feature in self.features:
            feature.check_ready()
        estimate = self.estimate(rows)
        if estimate.left is not None and estimate.total > estimate.left:
            raise AnswerError(
                f"answers for {counted(len(rows), 'row')} must cost at most "
                f"{rounded(estimate.left)}, which is left of spending_limit, got about "
                f"{rounded(estimate.total)} for {counted(estimate.calls, 'call')}; raise it, or "
                "take fewer rows."
            )
        with self._asking(rows) as submit, JobProgress("answers") as bar:
            asked = submit(self.features, range(len(rows)))
            names = {future: name for name, jobs in asked.items() for future, _ in jobs}
            streaks = dict.fromkeys(asked, 0)
            for done, future in enumerate(as_completed(names), start=1):
                result = future.result()[-1]
                if isinstance(result, CallError):
                    streaks[names[future]] += 1
                    _check_alive(result, streaks[names[future]])
                else:
                    streaks[names[future]] = 0
                bar.job(done, len(names), "")
        self._warn_of_surprises()
        collected = self._collected(asked)
        if collected.failures:
            reasons = list(collected.failures.values())
            commonest = max(dict.fromkeys(reasons), key=reasons.count)
            warnings.warn(
                DataWarning(
                    f"{len(reasons)} of {len(rows)} rows lack an answer, most often: "
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
        rows = Rows.of(inputs)
        self._check_cascade(cascade)
        with self._asking(rows) as submit:

            def acquire(names: list[str], ids: list[int]) -> Bought:
                return Bought(*self._columns(submit(self._sources(names), ids)))

            decisions = cascade.run(range(len(rows)), acquire, budget, retries=0)
        self._warn_of_surprises()
        return decisions

    async def arun(self, cascade: Cascade, inputs: Any, budget: float | None = None) -> Decisions:
        """Decide rows as `run` does, without waiting for one another at a stage.

        To be awaited in an event loop, such as that of a web service.
        """
        rows = Rows.of(inputs)
        self._check_cascade(cascade)
        with self._asking(rows) as submit:

            async def acquire(names: list[str], ids: list[int]) -> Bought:
                asked = submit(self._sources(names), ids)
                for jobs in asked.values():
                    for future, _ in jobs:
                        await asyncio.wrap_future(future)
                return Bought(*self._columns(asked))

            at_a_time = sum(one.concurrency for one in self.features)
            decisions = await cascade.arun(
                range(len(rows)), acquire, budget, concurrency=at_a_time, retries=0
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
        known: list[Answer] = []
        for i in range(n_rows):
            one = rows.one(i)
            key = feature.key(one)
            if (answer := self._cache.get(key)) is None:
                missing[key] = one
            else:
                known.append(answer)
        so_far = self._uses[feature.name]
        seconds = 0.0
        if known:
            spent = math.fsum(one.price or 0.0 for one in known) / len(known) * len(missing)
            basis = f"mean of {counted(len(known), 'answer')}"
            seconds = math.fsum(one.seconds for one in known) / len(known)
            seconds *= len(missing) / feature.concurrency
        elif so_far.calls:
            spent = so_far.spent / so_far.calls * len(missing)
            basis = f"mean of {counted(so_far.calls, 'call')}"
        else:
            spent = math.fsum(feature.expected_price(one) for one in missing.values())
            basis = "as declared"
        if feature.max_per_minute is not None:
            seconds = max(seconds, 60 * len(missing) / feature.max_per_minute)
        return Use(
            feature=feature.name,
            calls=len(missing),
            cached=len(known),
            spent=spent,
            basis=basis,
            seconds=seconds,
        )

    @contextmanager
    def _asking(self, rows: Rows) -> Iterator[_Submit]:
        """Open threads that ask; the value asks features about rows and returns futures."""
        stop = threading.Event()
        pools = {one.name: ThreadPoolExecutor(one.concurrency) for one in self.features}

        def jobs(feature: PaidFeature, ids: Sequence[int]) -> _Jobs:
            pool = pools[feature.name]
            if feature.takes_many:
                job = pool.submit(self._ask_many, feature, rows.some(list(ids)), len(ids))
                return [(job, position) for position in range(len(ids))]
            questions: dict[str, Future[list[_Result]]] = {}  # the same one twice is asked once
            asked = []
            for i in ids:
                one = rows.one(i)
                key = feature.key(one)
                if key not in questions:
                    questions[key] = pool.submit(self._ask, feature, key, one, stop)
                asked.append((questions[key], 0))
            return asked

        try:
            yield lambda features, ids: {one.name: jobs(one, ids) for one in features}
        finally:
            stop.set()  # after an error or Ctrl-C, nobody goes on buying
            for pool in pools.values():
                pool.shutdown(wait=False, cancel_futures=True)

    def _ask(
        self, feature: PaidFeature, key: str, one: Any, stop: threading.Event
    ) -> list[_Result]:
        """Answer one question, from the cache or by asking, with retries."""
        if (known := self._cache.get(key)) is not None:
            self._count(feature, cached=1)
            self._models.setdefault(feature.name, known.model)
            return [known]
        for pause in Retries(feature.retries, feature.pause).pauses():
            try:
                answer = self._buy(feature, one, stop)
            except CallError as error:
                words = f"{feature.name!r}: {error}"
                failure = CallError(words, is_hopeless=error.is_hopeless)
                if pause is None or not error.may_pass or stop.wait(max(pause, error.wait)):
                    break
            else:
                self._cache.put(key, feature.name, answer)
                return [answer]
        return [failure]

    def _buy(self, feature: PaidFeature, one: Any, stop: threading.Event) -> Answer:
        """Make one attempt, and put it on the bill."""
        feature.pace.wait()
        if stop.is_set():
            raise CallError("stopped.", may_pass=False)
        expected = feature.expected_price(one)
        with self._lock:
            spent, limit = self.bill.total, self.spending_limit
            if limit is not None and spent + self._reserved + expected > limit:
                rule = f"the spending limit of {rounded(limit)} is reached"
                raise CallError(f"{rule} ({rounded(spent)} spent).", may_pass=False)
            self._reserved += expected
        try:
            answer = feature.call(one)
        except CallError as error:
            self._count(feature, error.used or Answer(None), failed=1)
            raise
        else:
            self._count(feature, answer)
            return answer
        finally:
            with self._lock:
                self._reserved -= expected

    def _ask_many(self, feature: PaidFeature, inputs: Any, n_rows: int) -> list[_Result]:
        """Ask a local model about many rows at once."""
        try:
            answers = feature.call_many(inputs, n_rows)
        except CallError as error:
            return [CallError(f"{feature.name!r}: {error}")] * n_rows
        for answer in answers:
            self._count(feature, answer)
        return [*answers]

    def _count(
        self,
        feature: PaidFeature,
        answer: Answer | None = None,
        *,
        cached: int = 0,
        failed: int = 0,
    ) -> None:
        """Put a call, or answers from the cache, on the bill; remember what is surprising."""
        name, used = feature.name, answer or Answer(None)
        price = used.price or 0.0
        with self._lock:
            use = self._uses[name]
            self._uses[name] = replace(
                use,
                calls=use.calls + (answer is not None),
                cached=use.cached + cached,
                failed=use.failed + failed,
                tokens_in=use.tokens_in + used.tokens_in,
                tokens_out=use.tokens_out + used.tokens_out,
                spent=use.spent + price,
            )
            if feature.max_price is not None and price > feature.max_price * (1 + 1e-9):
                self._surprises[name, "price"] = (
                    f"{name!r} must cost at most {feature.max_price:g} for a call, as declared, "
                    f"got one for {price:g}; the bill has what calls cost."
                )
            if answer is None or failed:
                return
            first = self._models.setdefault(name, used.model)
            if used.model != first:
                self._surprises[name, "model"] = (
                    f"{name!r} must be answered by one model, got answers of {first!r} and "
                    f"{used.model!r}; collect and fit again with the new one."
                )

    def _warn_of_surprises(self) -> None:
        """Warn once of each feature that cost more than declared, or whose model has changed."""
        for key, words in list(self._surprises.items()):
            if key not in self._warned:
                self._warned.add(key)
                warnings.warn(DataWarning(words), stacklevel=3)

    def _check_cascade(self, cascade: Cascade) -> None:
        known = {name for one in self.features for name in one.columns}
        if unknown := [name for name in cascade.columns if name not in known]:
            raise ParameterError(
                f"cascade must buy columns of these features only, got {unknown[0]!r}."
            )
        for feature in self._sources(cascade.columns):
            feature.check_ready()

    def _sources(self, names: Sequence[str]) -> list[PaidFeature]:
        """Return the features that columns belong to."""
        return [one for one in self.features if not {*one.columns}.isdisjoint(names)]

    def _collected(self, asked: _Asked) -> Collected:
        import pyarrow as pa

        table, prices, failures = self._columns(asked)
        costs: dict[str, Any] = {}
        delays = {}
        for one in self.features:
            if one.name in prices:
                costs[one.name] = f"{one.name} price"
                table[f"{one.name} price"] = prices[one.name]
            else:
                costs[one.name] = self.per_rows * one.pricing.per_call
            seconds = [r.seconds for r in _results(asked[one.name]) if isinstance(r, Answer)]
            delays[one.name] = math.fsum(seconds) / max(len(seconds), 1)
        groups = {one.name: one.columns for one in self.features if one.columns != (one.name,)}
        return Collected(
            table=pa.table(table),
            costs=FeatureCosts.from_mapping(costs, list(table), groups),
            delays=delays,
            failures=failures,
        )

    def _columns(
        self, asked: _Asked
    ) -> tuple[dict[str, list[Any]], dict[str, list[float]], dict[int, str]]:
        """Return columns of values, prices by row, and the positions of rows that lack a value."""
        columns: dict[str, list[Any]] = {}
        prices: dict[str, list[float]] = {}
        failures: dict[int, str] = {}
        for feature in self.features:
            if feature.name not in asked:
                continue
            answers = _results(asked[feature.name])
            for j, column in enumerate(feature.columns):
                columns[column] = [r.value[j] if isinstance(r, Answer) else None for r in answers]
            if not feature.pricing.is_fixed:
                paid = [(r.price or 0.0) if isinstance(r, Answer) else 0.0 for r in answers]
                prices[feature.name] = [self.per_rows * price for price in paid]
            for i, result in enumerate(answers):
                if isinstance(result, CallError):
                    failures.setdefault(i, str(result))
        return columns, prices, dict(sorted(failures.items()))


def _results(jobs: _Jobs) -> list[_Result]:
    """Return the results of rows, in their order."""
    return [future.result()[position] for future, position in jobs]


def _check_alive(failure: CallError, n_failures: int) -> None:
    """Stop collecting if further calls would fail as well."""
    if failure.is_hopeless:
        raise AnswerError(f"{failure} Answers so far are kept.")
    if n_failures >= _FAILURES_IN_A_ROW:
        raise AnswerError(
            f"{n_failures} questions in a row have failed, the last one so: {failure} Answers so "
            "far are kept; collect again to go on."
        )


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
            raise ParameterError(
                f"inputs must be a list or table, one entry per row, got {brief(inputs)}."
            )

    @classmethod
    def of(cls, inputs: Any) -> Rows:
        """Return inputs as rows, unless they are."""
        return inputs if isinstance(inputs, cls) else cls(inputs)

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
