"""Watch whether a deployed cascade still keeps what was promised.

Every promise is a bet. A stake of 1 bets against it as rows come in; if the promise is kept, the
stake reaches 1 / delta with a chance of at most delta, however often one looks. Half the money
bets from the beginning, and shares that get smaller bet from later starts, so that a promise
broken late is noticed soon. An alarm is the moment at which the money reaches 1 / delta.

`MonitoredPromise` bets against one promise, `MonitorState` has all that was counted, and `Monitor`
counts the decisions of a cascade and writes its file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_number
from emsco._base.documents import Fields, PathLike, is_finite_number, read_document, write_document
from emsco._base.objectives import Estimate, Interval
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.cascade.cascade import Cascade
from emsco.cascade.decisions import Decisions, name_of_path
from emsco.data.labels import known_truth, unknown_labels
from emsco.errors import DataError, FileError, ParameterError
from emsco.plotting.figures import COLUMN
from emsco.plotting.notebook import fragment, table
from emsco.plotting.promises import PromiseTrack, draw_monitor
from emsco.stats.betting import log_capital_above, log_capital_below, log_sum_exp, mean_interval
from emsco.stats.promises import (
    LIMITS,
    Promise,
    Verdict,
    limits_of,
    promises_from_dict,
    promises_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1
ROWS_BETWEEN_STARTS = 100
MOST_STARTS = 64
MOST_LOOKS = 500
MOST_SOURCES = 1000
_MOST_DRAWN = 100  # looks in a picture
_LARGEST_LOG = 700.0  # whose exponential is a finite number
_SAME_COST = 1e-9


@dataclass(frozen=True, slots=True)
class Start:
    """A moment from which one share of the money bets."""

    number: int  # 0 is the beginning; later ones are counted from 1
    row: int  # rows that the monitor had seen by then
    counts: tuple[int, ...]  # rows of each value that the promise had by then

    @property
    def log_share(self) -> float:
        """Logarithm of the share of the money.

        It is 1/2 at the beginning and 1 / (2 k (k + 1)) for later start k: together 1.
        """
        return -math.log(2 * self.number * (self.number + 1) if self.number else 2)


@dataclass(frozen=True, slots=True)
class Alarm:
    """The moment at which the evidence against a promise was enough.

    Attributes
    ----------
    row : int
        Number of rows that the monitor had seen.
    since : int
        Number of rows before the stretch that has most of the evidence; 0 is the beginning.
    n_rows : int
        Rows of that stretch that count for the promise.
    figure : float
        Their figure.
    """

    row: int
    since: int
    n_rows: int
    figure: float


@dataclass(frozen=True, slots=True)
class MonitoredPromise:
    """A promise, what the rows so far say about it, and the evidence that it is broken.

    Attributes
    ----------
    promise : Promise
    delta : float
        Its share of the chance of a false alarm.
    values : tuple of float
        Values that a row can have, as shares of `scale`, in ascending order; the figure is their
        mean.
    scale : float
        The largest value.
    counts : tuple of int
        Rows of each value.
    starts : tuple of Start
        Moments from which money bets, the beginning first.
    n_restarts : int
        Number of later starts so far, also of those that are forgotten.
    log_capital, log_evidence : float
        Logarithm of the money now, and of the most there has been at any look.
    alarm : Alarm or None

    Examples
    --------
    >>> watched = MonitoredPromise.begin(Promise("accuracy", 0.95), delta=0.05)
    >>> later = watched.add(np.array([30, 170]), row=300)
    >>> later.figure, later.verdict.value, later.alarm.row
    (0.85, 'not kept', 300)
    >>> print(later)
    accuracy at least 0.95: 0.85 (0.747 to 0.923) of 200 rows, not kept
    """

    promise: Promise
    delta: float
    values: tuple[float, ...]
    scale: float
    counts: tuple[int, ...]
    starts: tuple[Start, ...]
    n_restarts: int = 0
    log_capital: float = 0.0
    log_evidence: float = 0.0
    alarm: Alarm | None = None

    @classmethod
    def begin(cls, promise: Promise, delta: float, costs: Sequence[float] = (0.0, 1.0)) -> Self:
        """Watch a promise from now on; `costs` is what features of a row can cost."""
        scale, values = 1.0, (0.0, 1.0)
        if promise.is_ceiling:
            # Betting needs values from 0 to 1: amounts are shares of the highest.
            amounts = promise.amounts(costs)
            scale = float(amounts[-1]) or 1.0
            values = tuple((amounts / scale).tolist())
        nothing = (0,) * len(values)
        return cls(promise, delta, values, scale, nothing, (Start(0, 0, nothing),))

    def add(self, more: IntArray, row: int) -> Self:
        """Count more rows, given how many have each value, and look at the evidence.

        `row` is the number of rows that the monitor has seen, these included.
        """
        if not more.any():
            return self
        counts = np.array(self.counts) + more
        # Rows since each start: a drop shows sooner where no good rows from before dilute it.
        since = counts - np.array([start.counts for start in self.starts])
        bet = log_capital_above if self.promise.is_ceiling else log_capital_below
        won = bet(self.values, since, self.promise.limit / self.scale)  # of each start, as logs
        shares = won + np.array([start.log_share for start in self.starts])
        kept_back = -math.log(2 * (self.n_restarts + 1))  # money of starts that are to come
        # The bettor's money is spread over starts, so the sum of what they hold is a fair game,
        # too.
        capital = float(log_sum_exp(np.append(shares, kept_back)))
        alarm = self.alarm
        if alarm is None and capital >= -math.log(self.delta):
            # The start that won most says since when the promise is broken.
            best = int(shares.argmax())
            figure = self.mean(since[best]) or 0.0
            alarm = Alarm(row, self.starts[best].row, int(since[best].sum()), figure)
        starts, n_restarts = list(self.starts), self.n_restarts
        # A new start after so many rows of this promise, whatever the looks were.
        if since[-1].sum() >= ROWS_BETWEEN_STARTS:
            n_restarts += 1
            starts.append(Start(n_restarts, row, tuple(counts.tolist())))
            if len(starts) > MOST_STARTS:
                # Forget the later start that lost most: giving its money away makes no alarm
                # likelier.
                del starts[1 + int(won[1:].argmin())]
        return replace(
            self,
            counts=tuple(counts.tolist()),
            starts=tuple(starts),
            n_restarts=n_restarts,
            log_capital=capital,
            # The highest so far: evidence that a broken promise left stays, though luck may turn.
            log_evidence=max(self.log_evidence, capital),
            alarm=alarm,
        )

    def mean(self, counts: IntArray) -> float | None:
        """The figure, given how many rows have each value; None without rows."""
        n_rows = int(counts.sum())
        return float(counts @ np.array(self.values)) / n_rows * self.scale if n_rows else None

    def interval_of(self, counts: IntArray) -> Interval:
        """Interval of the true figure, given how many rows have each value."""
        low, high = mean_interval(self.values, counts, 1 - self.delta)
        return Interval(low * self.scale, high * self.scale)

    @property
    def n_rows(self) -> int:
        """Rows that count for the promise."""
        return sum(self.counts)

    @property
    def figure(self) -> float | None:
        """The figure seen on all rows so far; None without rows."""
        return self.mean(np.array(self.counts))

    @property
    def interval(self) -> Interval:
        """Interval of the true figure; it holds at all looks together."""
        return self.interval_of(np.array(self.counts))

    @property
    def evidence(self) -> float:
        """Most that a stake of 1 against the promise has grown to at any look.

        It is the maximum of an e-process: if the promise is kept, it reaches 1 / `delta` with a
        chance of at most `delta`, ever.
        """
        # Floats end where evidence is far beyond any limit.
        return math.exp(min(self.log_evidence, _LARGEST_LOG))

    @property
    def verdict(self) -> Verdict:
        """Not kept after an alarm, for good; kept if the whole interval is within the limit."""
        if self.alarm is not None:
            return Verdict.NOT_KEPT
        is_kept = self.promise.is_met_by(self.promise.worst(self.interval))
        return Verdict.KEPT if is_kept else Verdict.TOO_FEW

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        low, high = self.interval
        return {
            **self.promise.to_dict(),
            "n_rows": self.n_rows,
            "figure": self.figure,
            "low": low,
            "high": high,
            "delta": self.delta,
            "log_evidence": self.log_evidence,
            "evidence": self.evidence,
            "verdict": self.verdict.value,
            "alarm": None if self.alarm is None else asdict(self.alarm),
        }

    def __str__(self) -> str:
        """Show the promise, the figure with its interval, and the verdict."""
        if self.figure is None:
            return f"{self.promise}: no rows yet"
        seen = Estimate(self.figure, *self.interval)
        return f"{self.promise}: {seen} of {counted(self.n_rows, 'row')}, {self.verdict}"

    def track(self, looks: Sequence[tuple[int, tuple[int, ...]]]) -> PromiseTrack:
        """Return the figure and interval at each look that had rows for the promise.

        A look has the number of rows that the monitor had seen, and the counts by then.
        """
        shown = [(n_rows, np.array(counts)) for n_rows, counts in looks if sum(counts)]
        intervals = [self.interval_of(counts) for _, counts in shown]
        return PromiseTrack(
            title=str(self.promise),
            limit=self.promise.limit,
            rows=np.array([n_rows for n_rows, _ in shown]),
            figure=np.array([self.mean(counts) for _, counts in shown], dtype=np.float64),
            low=np.array([low for low, _ in intervals]),
            high=np.array([high for _, high in intervals]),
            alarm=None if self.alarm is None else self.alarm.row,
            stretch=None if self.alarm is None else (self.alarm.since, self.alarm.figure),
        )

    def state_to_dict(self) -> dict[str, Any]:
        """Return what the file of a monitor holds: the promise and all that was counted."""
        return {
            **self.promise.to_dict(),
            "counts": list(self.counts),
            "starts": [[start.number, start.row, *start.counts] for start in self.starts],
            "n_restarts": self.n_restarts,
            "log_capital": self.log_capital,
            "log_evidence": self.log_evidence,
            "alarm": None if self.alarm is None else asdict(self.alarm),
        }

    def with_state(self, fields: Fields, n_rows: int) -> Self:
        """Return the same promise with what was counted by the time of a file, of `n_rows` rows."""
        n_values = len(self.values)
        counts = fields.wholes("counts", n_values, 0, n_rows)
        if sum(counts) > n_rows:
            fields.refuse("counts", f"of at most {n_rows:,} rows together", counts)
        starts = fields.items("starts")
        # A start has a number, a row, and counts that are not above those now.
        are_starts = all(
            _are_counts(start)
            and len(start) == 2 + n_values
            and all(then <= now for then, now in zip(start[2:], counts, strict=True))
            for start in starts
        )
        if not are_starts or not 1 <= len(starts) <= MOST_STARTS:
            numbers = f"{n_values + 2} whole numbers, none above the counts"
            fields.refuse("starts", f"1 to {MOST_STARTS} starts of {numbers}", starts)
        order = [start[0] for start in starts]
        # The first start is the beginning of the monitor, before any row.
        if any(starts[0]) or order != sorted(set(order)):
            fields.refuse("starts", "the beginning, then later ones in order", order)
        alarm = None
        if fields.get("alarm"):
            given = fields.fields("alarm")
            row = given.whole("row", 0, n_rows)
            since = given.whole("since", 0, row)
            alarm = Alarm(row, since, given.whole("n_rows", 1), given.number("figure", 0))
        evidence = fields.number("log_evidence", 0)
        return replace(
            self,
            counts=tuple(counts),
            starts=tuple(Start(number, row, tuple(then)) for number, row, *then in starts),
            n_restarts=fields.whole("n_restarts", order[-1]),
            log_capital=fields.number("log_capital", high=evidence),
            log_evidence=evidence,
            alarm=alarm,
        )


def _are_counts(value: Any) -> bool:
    """Tell whether a value of a file is a list of whole numbers from 0."""
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


@dataclass(frozen=True, slots=True)
class Look:
    """How every promise stood after an update."""

    n_rows: int  # so far
    counts: tuple[tuple[int, ...], ...]  # for each promise, its rows of each value so far
    log_capital: tuple[float, ...]  # for each promise, the evidence at this look

    def to_list(self) -> list[Any]:
        """Return plain values."""
        return [self.n_rows, [list(counts) for counts in self.counts], list(self.log_capital)]

    @classmethod
    def from_list(cls, value: Any, sizes: list[int], n_rows: int) -> Self | None:
        """Read what `to_list` returned, of promises with so many values; None if it is no look."""
        if not isinstance(value, list) or [type(one) for one in value] != [int, list, list]:
            return None
        n, counts, logs = value
        # Counts of a promise are of rows that were seen by then.
        if not 0 <= n <= n_rows or not all(_are_counts(line) and sum(line) <= n for line in counts):
            return None
        if [len(line) for line in counts] != sizes or len(logs) != len(sizes):
            return None
        return (
            cls(n, tuple(map(tuple, counts)), tuple(logs))
            if all(map(is_finite_number, logs))
            else None
        )


@dataclass(frozen=True, slots=True, eq=False)
class LookCounts:
    """Rows that a monitor counts at one look."""

    n_rows: int
    n_answered: int
    n_labelled: int
    counts: tuple[IntArray, ...]  # for each promise, how many rows have each of its values
    by_path: tuple[int, ...] = ()  # rows of each path, if the cascade branches

    def __add__(self, other: LookCounts) -> LookCounts:
        """Add the rows of another part of a file."""
        counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
        return LookCounts(
            self.n_rows + other.n_rows,
            self.n_answered + other.n_answered,
            self.n_labelled + other.n_labelled,
            counts,
            tuple(map(add, self.by_path, other.by_path)),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """A file whose rows a monitor has counted."""

    name: str
    n_rows: int
    rows: str  # digest of the features
    labels: str  # digest of the labels, empty if no row had one
    late: bool = False  # whether only its labels were counted


@dataclass(frozen=True, slots=True)
class MonitorState:
    """Everything that a monitor has counted."""

    promises: tuple[MonitoredPromise, ...]
    n_rows: int = 0
    n_answered: int = 0  # rows that got a label from the cascade
    n_labelled: int = 0  # true labels
    looks: tuple[Look, ...] = ()  # at most 500: older ones are sparser
    sources: tuple[Source, ...] = ()  # the last 1,000
    by_path: tuple[int, ...] = ()  # rows of each path, if the cascade branches

    @classmethod
    def begin(
        cls, promises: Sequence[Promise], delta: float, costs: Sequence[float], n_paths: int = 0
    ) -> Self:
        """Watch promises from now on; `costs` is what features of a row can cost."""
        # Since `delta` is divided, an alarm names the promise that is broken. An average of the
        # evidence against all promises would be enough a little sooner, but names none.
        share = delta / len(promises)
        return cls(
            tuple(MonitoredPromise.begin(promise, share, costs) for promise in promises),
            by_path=(0,) * n_paths,
        )

    def add(self, more: LookCounts) -> Self:
        """Count more rows for every promise, and look."""
        n_rows = self.n_rows + more.n_rows
        promises = tuple(
            promise.add(counts, n_rows)
            for promise, counts in zip(self.promises, more.counts, strict=True)
        )
        look = Look(
            n_rows,
            tuple(promise.counts for promise in promises),
            tuple(promise.log_capital for promise in promises),
        )
        looks = (*self.looks, look)
        return replace(
            self,
            promises=promises,
            n_rows=n_rows,
            n_answered=self.n_answered + more.n_answered,
            n_labelled=self.n_labelled + more.n_labelled,
            # Of too many looks, drop every second one, but never the last.
            looks=looks if len(looks) <= MOST_LOOKS else looks[::-2][::-1],
            by_path=tuple(map(add, self.by_path, more.by_path)),
        )

    def remember(self, source: Source) -> Self:
        """Remember a file that was counted."""
        return replace(self, sources=(*self.sources, source)[-MOST_SOURCES:])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {
            "n_rows": self.n_rows,
            "n_answered": self.n_answered,
            "n_labelled": self.n_labelled,
            "promises": [promise.state_to_dict() for promise in self.promises],
            "looks": [look.to_list() for look in self.looks],
            "files": [asdict(source) for source in self.sources],
            **({"by_path": list(self.by_path)} if self.by_path else {}),
        }

    def with_state(self, fields: Fields) -> Self:
        """Return the same promises with what was counted by the time of a file."""
        n_rows = fields.whole("n_rows", 0)
        promises = tuple(
            promise.with_state(one, n_rows)
            for promise, one in zip(self.promises, fields.many_fields("promises"), strict=True)
        )
        sizes = [len(promise.counts) for promise in promises]
        values = fields.items("looks")
        looks = [Look.from_list(value, sizes, n_rows) for value in values]
        known = tuple(look for look in looks if look is not None)
        if len(looks) > MOST_LOOKS or len(known) < len(looks):
            fields.refuse("looks", f"at most {MOST_LOOKS} looks of {len(sizes)} promises", values)
        files = fields.many_fields("files") if fields.items("files") else []
        if len(files) > MOST_SOURCES:
            fields.refuse("files", f"at most {MOST_SOURCES} files", f"{len(files):,}")
        sources = tuple(
            Source(
                name=one.text("name"),
                n_rows=one.whole("n_rows", 0),
                rows=one.text("rows"),
                labels=one.text("labels"),
                late=one.flag("late"),
            )
            for one in files
        )
        by_path = self.by_path
        if by_path:
            by_path = tuple(fields.wholes("by_path", len(by_path), 0, n_rows))
            if sum(by_path) != n_rows:
                fields.refuse("by_path", f"of {n_rows:,} rows together", by_path)
        return replace(
            self,
            by_path=by_path,
            promises=promises,
            n_rows=n_rows,
            n_answered=fields.whole("n_answered", 0, n_rows),
            n_labelled=fields.whole("n_labelled", 0, n_rows),
            looks=known,
            sources=sources,
        )


class _Certificate(Protocol):
    """A certificate: what is promised, at which level, and for which cascades."""

    @property
    def promises(self) -> tuple[Promise, ...]: ...
    @property
    def delta(self) -> float: ...
    def require(self, cascade: Cascade) -> None: ...


@dataclass(frozen=True, eq=False, repr=False)
class Monitor:
    """Watch whether a deployed cascade still keeps what was promised.

    Pass decisions as they come, with true labels if you know them, in any number, and look as
    often as you like. An alarm says that a promise is broken. The chance that a cascade which
    keeps all promises ever raises one, over all looks and promises together, is at most `delta`.

    A monitor never changes: `update` returns a new one.

    Parameters
    ----------
    cascade : Cascade
    min_accuracy : float or dict, optional
        Promised share of correct labels among rows that get one. A dict has a promise for each
        label: ``{"well": 0.99}`` says that 99 % of the rows called well are; its key None stands
        for all labels.
    min_coverage : float, optional
        Promised share of rows that get a label.
    max_cost : float, optional
        Promised mean cost of a row.
    max_total : float, optional
        Promised mean total of a row: features, errors and rejections. Rows with a known label
        count.
    min_recall : dict, optional
        Promised share of a class that gets the correct label, as in ``{"ill": 0.9}``. Rejected
        rows count as not found.
    error_cost, reject_cost : float, mapping or array-like, optional
        Costs of an error and of a rejection, for `max_total`; as for `Cascade.evaluate`.
    delta : float
        Chance of a false alarm, for all promises and all looks together.
    state : MonitorState, optional
        Rows counted so far; by default none.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(estimator="logistic", generations=5, cv=1 / 3, random_state=0)
    >>> cascade = clf.fit(X[:300], y[:300]).cascade_
    >>> monitor = Monitor(cascade, min_accuracy=0.8, delta=0.05)
    >>> monitor = monitor.update(cascade.decide(X[300:]), y[300:])
    >>> monitor.alarm, monitor.promises[0].verdict.value
    (False, 'kept')
    >>> monitor.update(cascade.decide(X[300:]), 1 - y[300:]).alarm  # all labels are now wrong
    True
    """

    cascade: Cascade
    _: KW_ONLY
    min_accuracy: float | Mapping[Any, float] | None = None
    min_coverage: float | None = None
    max_cost: float | None = None
    max_total: float | None = None
    min_recall: Mapping[Any, float] | None = None
    error_cost: Any = None
    reject_cost: Any = None
    delta: float = 0.05
    state: MonitorState = field(default=None)  # type: ignore[assignment] # set in __post_init__

    def __post_init__(self) -> None:
        """Check the promises, and start with no rows unless a state is given."""
        self.cascade.costs.check_bounded(self.max_cost, self.max_total)
        error_costs = self.cascade.error_costs(self.error_cost, self.reject_cost)
        promises = promises_of(self.cascade.classes.tolist(), self.limits, error_costs)
        delta = check_number("delta", self.delta, 0, 1, "()")
        if self.state is None:
            costs, n_paths = self.exit_costs.tolist(), len(self._paths)
            state = MonitorState.begin(promises, delta, costs, n_paths)
            object.__setattr__(self, "state", state)

    @classmethod
    def from_certificate(cls, certificate: _Certificate, cascade: Cascade) -> Self:
        """Watch what a certificate promises about a cascade, at the same `delta`.

        Raises
        ------
        EMSCOError
            If the certificate is for another cascade.
        """
        certificate.require(cascade)
        return cls(cascade, **limits_of(certificate.promises), delta=certificate.delta)

    @property
    def limits(self) -> dict[str, Any]:
        """The promises by parameter, as they were given, with the costs of errors for a total."""
        names = LIMITS if self.max_total is None else (*LIMITS, "error_cost", "reject_cost")
        given = {name: getattr(self, name) for name in names}
        return {name: limit for name, limit in given.items() if limit is not None}

    @cached_property
    def exit_costs(self) -> FloatArray:
        """What a row can cost, in ascending order; 0 before the first stage."""
        return np.unique([0.0, *self.cascade.stage_costs.tolist()])

    @cached_property
    def _paths(self) -> tuple[tuple[str, ...], ...]:
        """Ways at the branches of each path, in the order of the stages; none for a chain."""
        return tuple(dict.fromkeys(self.cascade.stages.ways_to))

    @property
    def by_path(self) -> dict[str, Estimate]:
        """Share of the rows so far that took each path, with an interval; empty for a chain.

        Rows that are decided before any branch count apart, and so do those of each part. The
        intervals hold for all paths and at all looks together, with a chance of 1 - `delta`. If a
        share drifts, other rows come than those that the cascade was fitted on.
        """
        shares = {}
        for ways, n_here in zip(self._paths, self.state.by_path, strict=True):
            counts = (self.n_rows - n_here, n_here)
            low, high = mean_interval((0.0, 1.0), counts, 1 - self.delta / len(self._paths))
            shares[name_of_path(ways)] = Estimate(n_here / (self.n_rows or 1), low, high)
        return shares

    @property
    def promises(self) -> tuple[MonitoredPromise, ...]:
        """Every promise with the figure seen, its interval, the evidence and a verdict."""
        return self.state.promises

    @property
    def alarm(self) -> bool:
        """Whether a promise is broken; once raised, an alarm stays."""
        return any(promise.alarm is not None for promise in self.promises)

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return self.state.n_rows

    def update(
        self, decisions: Decisions, y: ArrayLike | None = None, *, late: bool = False
    ) -> Self:
        """Count more rows, look at the evidence, and return the monitor that knows them.

        The order of rows within an update does not matter. When an update happens must not depend
        on its labels: do not hold back a bad week.

        Parameters
        ----------
        decisions : Decisions
            Decisions of this cascade: results of `decide`, `run` or `arun`.
        y : array-like of shape (n_rows,), optional
            True labels; None or NaN where one is not known. Coverage and cost need none. Accuracy
            counts rows with a known label that got one from the cascade, recall also rejected
            ones.
        late : bool
            The rows were counted before without labels: now count their labels alone.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from emsco import EMSCOClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = EMSCOClassifier(estimator="logistic", cv=1 / 3, random_state=0)
        >>> cascade = clf.fit(X, y).cascade_
        >>> monitor, decisions = Monitor(cascade, min_recall={2: 0.5}), cascade.decide(X)
        >>> monitor = monitor.update(decisions)  # labels come later
        >>> monitor = monitor.update(decisions, y, late=True)
        >>> monitor.n_rows, monitor.promises[0].n_rows
        (150, 50)
        """
        if not isinstance(decisions, Decisions):
            raise ParameterError(f"decisions must be Decisions of a cascade, got {decisions!r}.")
        if n_waiting := int(decisions.waiting.sum()):
            raise ParameterError(f"decisions must be of decided rows, got {n_waiting} waiting.")
        n_rows, classes = len(decisions), self.cascade.classes
        # Refuse decisions that this cascade cannot have made.
        rule = "decisions must be of the cascade that is monitored"
        if unknown := unknown_labels(decisions.guesses[decisions.accepted], classes):
            known = classes.tolist()
            raise DataError(f"{rule}, whose classes are {known}, got the label {unknown[0]!r}.")
        exits = self.exit_costs
        # Costs in files are rounded, so near is equal.
        far = np.abs(decisions.cost[:, None] - exits).min(axis=1) > _SAME_COST * exits[-1]
        if far.any() and not len(self.cascade.stages.prices):  # with prices, any cost may be
            cost, costs = decisions.cost[far][0], ", ".join(f"{one:g}" for one in exits)
            raise DataError(f"{rule}, where rows cost {costs}, got a cost of {cost:g}.")
        truth = np.full(n_rows, -1) if y is None else known_truth(y, classes, n_rows)
        return self.look(self.count(decisions, truth, late=late))

    def count(self, decisions: Decisions, truth: IntArray, *, late: bool = False) -> LookCounts:
        """Count rows for each promise; `truth` is the position of a class, -1 if not known."""
        labels = self.cascade.classes.tolist()
        given = decisions.given(self.cascade.classes)
        counts = []
        for one in self.promises:
            # Rows without labels were counted when they came: only promises about labels learn of
            # them now.
            if late and not one.promise.needs_labels:
                counts.append(np.zeros(len(one.values), dtype=np.int64))
            elif one.promise.is_ceiling:
                members, _ = one.promise.rows(labels, truth, given)
                spent = one.promise.spent(decisions.cost[members], truth[members], given[members])
                # Amounts are one of a few; the nearest undoes rounding.
                amounts = one.promise.amounts(self.exit_costs.tolist())
                nearest = np.abs(spent[:, None] - amounts).argmin(axis=1)
                counts.append(np.bincount(nearest, minlength=len(one.values)))
            else:
                members, kept = one.promise.rows(labels, truth, given)
                counts.append(np.bincount(kept[members], minlength=2))
        return LookCounts(
            n_rows=0 if late else len(decisions),
            n_answered=0 if late else int(decisions.accepted.sum()),
            n_labelled=int((truth >= 0).sum()),
            counts=tuple(counts),
            by_path=self._count_paths(decisions, late=late),
        )

    def _count_paths(self, decisions: Decisions, *, late: bool) -> tuple[int, ...]:
        """Count the rows of each path; late rows were counted when they came."""
        if not self._paths or late:
            return (0,) * len(self._paths)
        # A row that no stage has judged, 0, took no branch, as the first stage.
        path_of = [0, *map(self._paths.index, self.cascade.stages.ways_to)]
        n_here = np.bincount(np.array(path_of)[decisions.stage], minlength=len(self._paths))
        return tuple(n_here.tolist())

    def look(self, counts: LookCounts) -> Self:
        """Return the monitor that knows some counted rows, after one look at the evidence."""
        if not counts.n_rows and not counts.n_labelled:
            return self
        n_rows = self.n_rows + counts.n_rows
        n_labelled = self.state.n_labelled + counts.n_labelled
        # More labels than rows: these cannot be late labels of what was counted.
        if n_labelled > n_rows:
            raise DataError(
                f"late labels must be of rows that were counted before, got {n_labelled:,} labels "
                f"of {counted(n_rows, 'row')}."
            )
        return replace(self, state=self.state.add(counts))

    def save(self, path: PathLike) -> None:
        """Write the monitor to a JSON file; a failure leaves the file as it was."""
        identity = self.cascade.stages.identity
        body = {"cascade": identity, "delta": float(self.delta), **self.state.to_dict()}
        write_document(path, "monitor", FORMAT, body)

    @classmethod
    def load(cls, path: PathLike, cascade: Cascade) -> Self:
        """Read a monitor from a file that `save` wrote, for the same cascade.

        Raises
        ------
        FileError
            If the file is missing, damaged, edited, too new or of another cascade.
        """
        fields = read_document(path, "monitor", FORMAT)
        if fields.text("cascade") != cascade.stages.identity:
            raise FileError(
                f"{str(path)!r} must be of the cascade that is monitored, got one of another; "
                "start a new one."
            )
        delta = fields.number("delta", 0, 1)
        if delta in (0, 1):
            fields.refuse("delta", "a number between 0 and 1", delta)
        promises = promises_from_dict(fields, cascade.classes.tolist())
        monitor = cls(cascade, **limits_of(promises), delta=delta)
        # Read into a blank state, so that the file fills in counts and nothing else.
        costs, n_paths = monitor.exit_costs.tolist(), len(monitor._paths)
        blank = MonitorState.begin(promises, delta, costs, n_paths)
        return replace(monitor, state=blank.with_state(fields))

    def tracks(self) -> tuple[PromiseTrack, ...]:
        """Return what a picture shows: for each promise its figure and interval at every look."""
        looks = self.state.looks
        step = -(-len(looks) // _MOST_DRAWN) or 1
        shown = looks[::-step][::-1]  # with the last look
        return tuple(
            promise.track([(look.n_rows, look.counts[i]) for look in shown])
            for i, promise in enumerate(self.promises)
        )

    def plot(self, width: float = COLUMN) -> Figure:
        """Draw every promise over time: its figure, the interval, the limit and the alarm.

        Parameters
        ----------
        width : float
            Width in inches.
        """
        return draw_monitor(self.tracks(), width)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "alarm": self.alarm,
            "delta": self.delta,
            "n_rows": self.n_rows,
            "n_answered": self.state.n_answered,
            "n_labelled": self.state.n_labelled,
            "n_looks": len(self.state.looks),
            "promises": [promise.to_dict() for promise in self.promises],
            **(
                {"by_path": {path: share._asdict() for path, share in self.by_path.items()}}
                if self._paths
                else {}
            ),
        }

    def __repr__(self) -> str:
        """Show a line for every promise and every path."""
        lines = [self._title(), *(f"  {promise}" for promise in self.promises)]
        for path, share in self.by_path.items():
            seen = f"{share.value:.3g} ({share.low:.3g} to {share.high:.3g})"
            lines.append(f"  path {path}: {seen} of the rows")
        return "\n".join(lines)

    def _title(self) -> str:
        rows = f"{counted(self.n_rows, 'row')}, {self.state.n_labelled:,} with a true label"
        return f"Monitor on {rows}: {'ALARM' if self.alarm else 'no alarm'}"

    def _repr_html_(self) -> str:
        """Show a line for every promise and every path, for notebooks."""
        lines = [
            (
                str(one.promise),
                f"{one.n_rows:,}",
                "" if one.figure is None else f"{one.figure:.4g}",
                "{:.4g} to {:.4g}".format(*one.interval),
                f"{one.evidence:.3g}",
                str(one.verdict),
            )
            for one in self.promises
        ]
        headings = ("promise", "rows", "seen", "interval", "evidence", "verdict")
        promises = table(headings, lines, ("promise", "verdict"))
        if not self._paths:
            return fragment(self._title(), promises)
        paths = [
            (path, f"{one.value:.1%}", f"{one.low:.1%} to {one.high:.1%}")
            for path, one in self.by_path.items()
        ]
        of_paths = table(("path", "share of rows", "interval"), paths, ("path",))
        return fragment(self._title(), promises, of_paths)
