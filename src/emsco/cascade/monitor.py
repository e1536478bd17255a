"""Watch whether a deployed cascade still keeps what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_number, refused
from emsco._base.documents import PathLike, read_document, write_document
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.cascade import monitor_files
from emsco.cascade.cascade import Cascade
from emsco.cascade.decisions import Decisions
from emsco.data.labels import known_truth, unknown_labels
from emsco.errors import DataError, FileError, Hint, Remedy
from emsco.pictures.notebook import fragment, table
from emsco.pictures.plotting.figures import COLUMN
from emsco.pictures.plotting.monitor import PromiseTrack, draw_monitor
from emsco.trust.monitoring import MonitorState
from emsco.trust.promises import LIMITS, Promise, limits_of, promises_of
from emsco.trust.watching import MonitoredPromise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Monitor"]

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
        body = monitor_files.to_dict(self.cascade, self.delta, self.state)
        write_document(path, "monitor", monitor_files.FORMAT, body)

    @classmethod
    def load(cls, path: PathLike, cascade: Cascade) -> Self:
        """Read a monitor from a file that `save` wrote, for the same cascade.

        Raises
        ------
        FileError
            If the file is missing, damaged, edited, too new or of another cascade.
        """
        fields = read_document(path, "monitor", monitor_files.FORMAT)
        if fields.text("cascade") != cascade.stages.identity:
            raise FileError(
                f"{str(path)!r} must be of the cascade that is monitored, got one of another; ",
                Hint(Remedy.NEW_MONITOR),
                ".",
            )
        promises, delta = monitor_files.promises_and_delta(fields, cascade)
        blank = MonitorState.begin(promises, delta, exit_costs(cascade).tolist())
        state = monitor_files.state_from_fields(fields, blank)
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
