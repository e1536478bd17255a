"""Watch whether a deployed cascade still keeps what was promised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_number, refused
from emsco._base.documents import Fields, PathLike, is_number, read_document, write_document
from emsco._base.objectives import Interval
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.cascade.cascade import Cascade
from emsco.cascade.decisions import Decisions
from emsco.data.labels import known_truth, unknown_labels
from emsco.errors import DataError, FileError, Hint, Remedy
from emsco.plotting.figures import COLUMN
from emsco.plotting.notebook import fragment, table
from emsco.plotting.promises import PromiseTrack, draw_monitor
from emsco.stats.betting import log_capital_above, log_capital_below, log_sum_exp, mean_interval
from emsco.stats.promises import (
    LIMITS,
    Promise,
    Verdict,
    limits_of,
    promises_from_fields,
    promises_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS_BETWEEN_STARTS = 100
MOST_STARTS = 64
_LARGEST_LOG = 700.0  # whose exponential is a finite number


@dataclass(frozen=True, slots=True)
class Start:
    """A moment from which one share of the money bets.

    Attributes
    ----------
    number : int
        0 is the beginning; later ones are counted from 1.
    row : int
        Number of rows that the monitor had seen by then.
    counts : tuple of int
        Rows of each value that the promise had by then.
    """

    number: int
    row: int
    counts: tuple[int, ...]

    @property
    def log_share(self) -> float:
        """Logarithm of the share of the money."""
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
        """Watch a promise from now on; `costs` is what a row can cost, in ascending order."""
        scale = (costs[-1] or 1.0) if promise.is_ceiling else 1.0
        values = tuple(cost / scale for cost in costs) if promise.is_ceiling else (0.0, 1.0)
        nothing = (0,) * len(values)
        return cls(promise, delta, values, scale, nothing, (Start(0, 0, nothing),))

    def add(self, more: IntArray, row: int) -> Self:
        """Count more rows, given how many have each value, and look at the evidence.

        `row` is the number of rows that the monitor has seen, these included.
        """
        if not more.any():
            return self
        counts = np.array(self.counts) + more
        since = counts - np.array([start.counts for start in self.starts])
        logs = self._log_capitals(since)
        shares = logs + np.array([start.log_share for start in self.starts])
        kept_back = -math.log(2 * (self.n_restarts + 1))  # money of starts that are to come
        capital = float(log_sum_exp(np.append(shares, kept_back)))
        alarm = self.alarm
        if alarm is None and capital >= -math.log(self.delta):
            best = int(shares.argmax())
            figure = self.mean(since[best]) or 0.0
            alarm = Alarm(row, self.starts[best].row, int(since[best].sum()), figure)
        looked = replace(
            self,
            counts=tuple(counts.tolist()),
            log_capital=capital,
            log_evidence=max(self.log_evidence, capital),
            alarm=alarm,
        )
        due = since[-1].sum() >= ROWS_BETWEEN_STARTS
        return looked._restart(row, logs) if due else looked

    def _restart(self, row: int, logs: FloatArray) -> Self:
        """Start over with the next share; of too many starts, forget the one that lost most.

        Forgetting gives its money away, which makes an alarm no likelier.
        """
        starts = [*self.starts, Start(self.n_restarts + 1, row, self.counts)]
        if len(starts) > MOST_STARTS:
            del starts[1 + int(logs[1:].argmin())]
        return replace(self, starts=tuple(starts), n_restarts=self.n_restarts + 1)

    def _log_capitals(self, counts: IntArray) -> FloatArray:
        """Logarithm of what bets against the promise have won, one for each line of counts."""
        bet = log_capital_above if self.promise.is_ceiling else log_capital_below
        return bet(self.values, counts, self.promise.limit / self.scale)

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
            "alarm": self.alarm and asdict(self.alarm),
        }

    def __str__(self) -> str:
        """Show the promise, the figure with its interval, and the verdict."""
        if self.figure is None:
            return f"{self.promise}: no rows yet"
        low, high = self.interval
        seen = f"{self.figure:.3g} ({low:.3g} to {high:.3g}) of {counted(self.n_rows, 'row')}"
        return f"{self.promise}: {seen}, {self.verdict}"


MOST_LOOKS = 500
MOST_SOURCES = 1000


@dataclass(frozen=True, slots=True)
class Look:
    """How every promise stood after an update.

    Attributes
    ----------
    n_rows : int
        Rows so far.
    counts : tuple of tuple of int
        For each promise, its rows of each value so far.
    log_capital : tuple of float
        For each promise, the logarithm of the evidence at this look.
    """

    n_rows: int
    counts: tuple[tuple[int, ...], ...]
    log_capital: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file whose rows a monitor has counted.

    Attributes
    ----------
    name : str
    n_rows : int
    rows, labels : str
        Digests of the features and of the labels; the latter is empty if no row had a label.
    late : bool
        Whether only its labels were counted.
    """

    name: str
    n_rows: int
    rows: str
    labels: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class MonitorState:
    """Everything that a monitor has counted.

    Attributes
    ----------
    promises : tuple of MonitoredPromise
    n_rows, n_answered, n_labelled : int
        Rows so far, those that got a label from the cascade, and true labels.
    looks : tuple of Look
        Up to 500. If there are more, every second one is dropped, so that older looks are sparser.
    sources : tuple of Source
        The last 1,000 files that were counted.
    """

    promises: tuple[MonitoredPromise, ...]
    n_rows: int = 0
    n_answered: int = 0
    n_labelled: int = 0
    looks: tuple[Look, ...] = ()
    sources: tuple[Source, ...] = ()

    @classmethod
    def begin(cls, promises: Sequence[Promise], delta: float, costs: Sequence[float]) -> Self:
        """Watch promises from now on; each gets the same part of `delta`.

        `costs` is what a row can cost, in ascending order.

        If `delta` is divided, an alarm names the promise that is broken. An average of the
        evidence against all promises would be enough a little sooner, but names none.
        """
        share = delta / len(promises)
        return cls(tuple(MonitoredPromise.begin(promise, share, costs) for promise in promises))

    def add(self, counts: Sequence[IntArray], rows: int, answered: int, labelled: int) -> Self:
        """Count more rows for every promise, and look."""
        n_rows = self.n_rows + rows
        promises = tuple(
            promise.add(more, n_rows) for promise, more in zip(self.promises, counts, strict=True)
        )
        look = Look(
            n_rows,
            tuple(promise.counts for promise in promises),
            tuple(promise.log_capital for promise in promises),
        )
        return replace(
            self,
            promises=promises,
            n_rows=n_rows,
            n_answered=self.n_answered + answered,
            n_labelled=self.n_labelled + labelled,
            looks=_thinned((*self.looks, look)),
        )

    def remember(self, source: Source) -> Self:
        """Remember a file that was counted."""
        return replace(self, sources=(*self.sources, source)[-MOST_SOURCES:])


def _thinned(looks: tuple[Look, ...]) -> tuple[Look, ...]:
    """Drop every second look, the last one never, if there are too many."""
    return looks if len(looks) <= MOST_LOOKS else looks[::-2][::-1]


FORMAT = 1


def _state_to_dict(cascade: Cascade, delta: float, state: MonitorState) -> dict[str, Any]:
    """Return plain values."""
    return {
        "cascade": cascade.stages.identity,
        "delta": float(delta),
        "n_rows": state.n_rows,
        "n_answered": state.n_answered,
        "n_labelled": state.n_labelled,
        "promises": [_promise_to_dict(promise) for promise in state.promises],
        "looks": [
            [look.n_rows, [list(counts) for counts in look.counts], list(look.log_capital)]
            for look in state.looks
        ],
        "files": [asdict(source) for source in state.sources],
    }


def _promise_to_dict(one: MonitoredPromise) -> dict[str, Any]:
    return {
        **one.promise.to_dict(),
        "counts": list(one.counts),
        "starts": [[start.number, start.row, *start.counts] for start in one.starts],
        "n_restarts": one.n_restarts,
        "log_capital": one.log_capital,
        "log_evidence": one.log_evidence,
        "alarm": None if one.alarm is None else asdict(one.alarm),
    }


def promises_and_delta(fields: Fields, cascade: Cascade) -> tuple[tuple[Promise, ...], float]:
    """Read what is promised, and the chance of a false alarm."""
    delta = fields.number("delta", 0, 1)
    if delta in (0, 1):
        fields.refuse("delta", "a number between 0 and 1", delta)
    return promises_from_fields(fields, cascade.classes.tolist()), delta


def state_from_fields(fields: Fields, blank: MonitorState) -> MonitorState:
    """Read what was counted; `blank` has the promises."""
    n_rows = fields.whole("n_rows", 0)
    promises = [
        _promise_from_fields(one, promise, n_rows)
        for one, promise in zip(fields.many_fields("promises"), blank.promises, strict=True)
    ]
    sizes = [len(promise.counts) for promise in promises]
    looks = fields.items("looks")
    if len(looks) > MOST_LOOKS or not all(_is_look(look, sizes, n_rows) for look in looks):
        fields.refuse("looks", f"at most {MOST_LOOKS} looks of {len(sizes)} promises", looks)
    return MonitorState(
        tuple(promises),
        n_rows,
        fields.whole("n_answered", 0, n_rows),
        fields.whole("n_labelled", 0, n_rows),
        tuple(Look(n, tuple(map(tuple, counts)), tuple(logs)) for n, counts, logs in looks),
        _sources(fields),
    )


def _promise_from_fields(one: Fields, blank: MonitoredPromise, n_rows: int) -> MonitoredPromise:
    n_values = len(blank.counts)
    counts = one.wholes("counts", n_values, 0, n_rows)
    if sum(counts) > n_rows:
        one.refuse("counts", f"of at most {n_rows:,} rows together", counts)
    starts = one.items("starts")
    if not 1 <= len(starts) <= MOST_STARTS or not all(_is_start(s, counts) for s in starts):
        rule = f"1 to {MOST_STARTS} starts of {n_values + 2} whole numbers, none above the counts"
        one.refuse("starts", rule, starts)
    numbers = [start[0] for start in starts]
    if any(starts[0]) or numbers != sorted(set(numbers)):
        one.refuse("starts", "the beginning, then later ones in order", numbers)
    alarm = None if one.get("alarm") is None else _alarm(one.fields("alarm"), n_rows)
    evidence = one.number("log_evidence", 0)
    return replace(
        blank,
        counts=tuple(counts),
        starts=tuple(Start(number, row, tuple(then)) for number, row, *then in starts),
        n_restarts=one.whole("n_restarts", numbers[-1]),
        log_capital=one.number("log_capital", high=evidence),
        log_evidence=evidence,
        alarm=alarm,
    )


def _alarm(fields: Fields, n_rows: int) -> Alarm:
    row = fields.whole("row", 0, n_rows)
    since = fields.whole("since", 0, row)
    return Alarm(row, since, fields.whole("n_rows", 1), fields.number("figure", 0))


def _sources(fields: Fields) -> tuple[Source, ...]:
    if not fields.items("files"):
        return ()
    found = tuple(
        Source(
            one.text("name"),
            one.whole("n_rows", 0),
            one.text("rows"),
            one.text("labels"),
            one.flag("late"),
        )
        for one in fields.many_fields("files")
    )
    if len(found) > MOST_SOURCES:
        fields.refuse("files", f"at most {MOST_SOURCES} files", f"{len(found):,}")
    return found


def _is_start(value: Any, counts: list[int]) -> bool:
    """Tell whether a value is a start: number, row and counts that are not above those now."""
    if not isinstance(value, list) or len(value) != 2 + len(counts):
        return False
    if not all(type(number) is int and number >= 0 for number in value):
        return False
    return all(then <= now for then, now in zip(value[2:], counts, strict=True))


def _is_look(value: Any, sizes: list[int], n_rows: int) -> bool:
    """Tell whether a value is a look: rows, counts by promise and their evidence."""
    if not isinstance(value, list) or [type(one) for one in value] != [int, list, list]:
        return False
    n, counts, logs = value
    are_counts = [len(line) if _are_counts(line, n) else -1 for line in counts] == sizes
    are_logs = len(logs) == len(sizes) and all(map(is_number, logs))
    return 0 <= n <= n_rows and are_counts and are_logs


def _are_counts(line: Any, n_rows: int) -> bool:
    """Tell whether a value is a list of counts, of at most so many rows together."""
    if not isinstance(line, list) or not all(type(n) is int and n >= 0 for n in line):
        return False
    return sum(line) <= n_rows


_MOST_DRAWN = 100  # looks in a picture
_SAME_COST = 1e-9


class Signed(Protocol):
    """A certificate: what is promised, at which level, and for which cascades."""

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What is promised."""

    @property
    def delta(self) -> float:
        """Highest chance of a false certificate."""

    def require(self, cascade: Cascade) -> None:
        """Raise an error unless a cascade is certified."""


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
    min_recall : dict, optional
        Promised share of a class that gets the correct label, as in ``{"ill": 0.9}``. Rejected
        rows count as not found.
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
    min_recall: Mapping[Any, float] | None = None
    delta: float = 0.05
    state: MonitorState = field(default=None)  # type: ignore[assignment] # set in __post_init__

    def __post_init__(self) -> None:
        """Check the promises, and start with no rows unless a state is given."""
        self.cascade.costs.check_bounded(self.max_cost)
        promises = promises_of(self.cascade.classes.tolist(), self.limits)
        delta = check_number("delta", self.delta, 0, 1, "()")
        if self.state is None:
            state = MonitorState.begin(promises, delta, exit_costs(self.cascade).tolist())
            object.__setattr__(self, "state", state)

    @classmethod
    def from_certificate(cls, certificate: Signed, cascade: Cascade) -> Self:
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
        """The promises by parameter, as they were given."""
        every = {name: getattr(self, name) for name in LIMITS}
        return {name: limit for name, limit in every.items() if limit is not None}

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
            raise refused("decisions", "be Decisions of a cascade", decisions)
        _check_decisions(decisions, self.cascade)
        n_rows, classes = len(decisions), self.cascade.classes
        truth = np.full(n_rows, -1) if y is None else known_truth(y, classes, n_rows)
        return self.look(self.count(decisions, truth, late=late))

    def count(self, decisions: Decisions, truth: IntArray, *, late: bool = False) -> LookCounts:
        """Count rows for each promise; `truth` is the position of a class, -1 if not known."""
        given = decisions.given(self.cascade.classes)
        counts = tuple(
            np.zeros(len(one.values), dtype=np.int64)
            if late and not one.promise.needs_labels
            else _count(one, self.cascade, decisions.cost, given, truth)
            for one in self.promises
        )
        n_rows, n_answered = (0, 0) if late else (len(given), int(decisions.accepted.sum()))
        return LookCounts(n_rows, n_answered, int((truth >= 0).sum()), counts)

    def look(self, counts: LookCounts) -> Self:
        """Return the monitor that knows some counted rows, after one look at the evidence."""
        if not counts.n_rows and not counts.n_labelled:
            return self
        more = (counts.n_rows, counts.n_answered, counts.n_labelled)
        n_rows, n_labelled = self.n_rows + more[0], self.state.n_labelled + more[2]
        if n_labelled > n_rows:
            got = f"{n_labelled:,} labels of {counted(n_rows, 'row')}"
            raise DataError(f"late labels must be of rows that were counted before, got {got}.")
        return replace(self, state=self.state.add(counts.counts, *more))

    def save(self, path: PathLike) -> None:
        """Write the monitor to a JSON file; a failure leaves the file as it was."""
        body = _state_to_dict(self.cascade, self.delta, self.state)
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
                f"{str(path)!r} must be of the cascade that is monitored, got one of another; ",
                Hint(Remedy.NEW_MONITOR),
                ".",
            )
        promises, delta = promises_and_delta(fields, cascade)
        blank = MonitorState.begin(promises, delta, exit_costs(cascade).tolist())
        state = state_from_fields(fields, blank)
        return cls(cascade, **limits_of(promises), delta=delta, state=state)

    def tracks(self) -> tuple[PromiseTrack, ...]:
        """Return what a picture shows: for each promise its figure and interval at every look."""
        looks = self.state.looks
        step = -(-len(looks) // _MOST_DRAWN) or 1
        shown = looks[::-step][::-1]  # with the last look
        return tuple(
            _track(promise, [(look.n_rows, look.counts[i]) for look in shown])
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
        }

    def __repr__(self) -> str:
        """Show a line for every promise."""
        lines = [self._title(), *(f"  {promise}" for promise in self.promises)]
        return "\n".join(lines)

    def _title(self) -> str:
        rows = f"{counted(self.n_rows, 'row')}, {self.state.n_labelled:,} with a true label"
        return f"Monitor on {rows}: {'ALARM' if self.alarm else 'no alarm'}"

    def _repr_html_(self) -> str:
        """Show a line for every promise, for notebooks."""
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
        return fragment(self._title(), table(headings, lines, ("promise", "verdict")))


@dataclass(frozen=True, slots=True, eq=False)
class LookCounts:
    """Rows that a monitor counts at one look.

    Attributes
    ----------
    n_rows, n_answered, n_labelled : int
    counts : tuple of ndarray
        For each promise, how many rows have each of its values.
    """

    n_rows: int
    n_answered: int
    n_labelled: int
    counts: tuple[IntArray, ...]

    def __add__(self, other: LookCounts) -> LookCounts:
        """Add the rows of another part of a file."""
        counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
        return LookCounts(
            self.n_rows + other.n_rows,
            self.n_answered + other.n_answered,
            self.n_labelled + other.n_labelled,
            counts,
        )


def exit_costs(cascade: Cascade) -> FloatArray:
    """Return what a row of a cascade can cost, in ascending order; 0 before the first stage."""
    found: FloatArray = np.unique([0.0, *cascade.stage_costs.tolist()])
    return found


def _count(
    one: MonitoredPromise, cascade: Cascade, cost: FloatArray, given: IntArray, truth: IntArray
) -> IntArray:
    """Count the rows that have each value of a promise."""
    if one.promise.is_ceiling:
        places = np.abs(cost[:, None] - exit_costs(cascade)).argmin(axis=1)
        return np.bincount(places, minlength=len(one.values))
    members, kept = one.promise.rows(cascade.classes.tolist(), truth, given)
    return np.bincount(kept[members], minlength=2)


def _check_decisions(decisions: Decisions, cascade: Cascade) -> None:
    """Refuse decisions that this cascade cannot have made."""
    rule = "decisions must be of the cascade that is monitored"
    if unknown := unknown_labels(decisions.guesses[decisions.accepted], cascade.classes):
        classes = cascade.classes.tolist()
        raise DataError(f"{rule}, whose classes are {classes}, got the label {unknown[0]!r}.")
    if len(cascade.stages.prices):
        return
    exits = exit_costs(cascade)
    far = np.abs(decisions.cost[:, None] - exits).min(axis=1) > _SAME_COST * exits[-1]
    if far.any():
        cost, known = decisions.cost[far][0], ", ".join(f"{one:g}" for one in exits)
        raise DataError(f"{rule}, where rows cost {known}, got a cost of {cost:g}.")


def _track(one: MonitoredPromise, looks: list[tuple[int, tuple[int, ...]]]) -> PromiseTrack:
    """Return the figure and interval of a promise at each look that had rows for it."""
    found = [(n_rows, np.array(counts)) for n_rows, counts in looks if sum(counts)]
    intervals = [one.interval_of(counts) for _, counts in found]
    return PromiseTrack(
        title=str(one.promise),
        limit=one.promise.limit,
        rows=np.array([n_rows for n_rows, _ in found]),
        figure=np.array([one.mean(counts) for _, counts in found], dtype=np.float64),
        low=np.array([low for low, _ in intervals]),
        high=np.array([high for _, high in intervals]),
        alarm=None if one.alarm is None else one.alarm.row,
        stretch=None if one.alarm is None else (one.alarm.since, one.alarm.figure),
    )
