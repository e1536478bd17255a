"""Watch whether a deployed cascade still keeps what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import refused
from emsco._base.documents import PathLike, read_document, write_document
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.cascade import monitor_files
from emsco.cascade.cascade import Cascade
from emsco.cascade.decisions import Decisions
from emsco.cascade.targets import check_promises, exit_costs
from emsco.data.labels import known_truth, positions_of, unknown_labels
from emsco.errors import DataError, FileError, Hint, Remedy
from emsco.pictures.notebook import fragment, table
from emsco.pictures.plotting.figures import COLUMN
from emsco.pictures.plotting.monitor import PromiseTrack, draw_monitor
from emsco.trust.monitoring import MonitorState
from emsco.trust.promises import MonitoredPromise, Promise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Monitor"]

_MOST_DRAWN = 100  # looks in a picture
_SAME_COST = 1e-9


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
    >>> clf = EMSCOClassifier(max_stages=2, generations=5, cv=1 / 3, random_state=0)
    >>> cascade = clf.fit(X[:300], y[:300]).cascade_
    >>> monitor = Monitor(cascade, min_accuracy=0.8, delta=0.05)
    >>> monitor = monitor.update(cascade.decide(X[300:]), y[300:])
    >>> monitor.alarm, monitor.promises[0].verdict.value
    (False, 'holds')
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
        promises = check_promises(self.cascade, self.targets, self.delta)
        if self.state is None:
            object.__setattr__(self, "state", MonitorState.begin(promises, float(self.delta)))

    @property
    def targets(self) -> dict[str, Any]:
        """The promises by name, as they were given."""
        names = ("min_accuracy", "min_coverage", "max_cost", "min_recall")
        every = {name: getattr(self, name) for name in names}
        return {name: target for name, target in every.items() if target is not None}

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
        >>> cascade = EMSCOClassifier(cv=1 / 3, random_state=0).fit(X, y).cascade_
        >>> monitor, decisions = Monitor(cascade, min_recall={2: 0.5}), cascade.decide(X)
        >>> monitor = monitor.update(decisions)  # labels come later
        >>> monitor = monitor.update(decisions, y, late=True)
        >>> monitor.n_rows, monitor.promises[0].n_rows
        (150, 50)
        """
        if not isinstance(decisions, Decisions):
            raise refused("decisions", "be Decisions of a cascade", decisions)
        _check_decisions(decisions, self.cascade)
        classes = self.cascade.classes
        unknown = np.full(len(decisions), -1)
        truth = unknown if y is None else known_truth(y, classes, len(decisions))
        given = unknown.copy()
        given[decisions.accepted] = positions_of(decisions.guesses[decisions.accepted], classes)
        tally = Tally.from_rows(self.cascade, self.state, decisions.cost, given, truth, late)
        return self.counting(tally)

    def counting(self, tally: Tally) -> Self:
        """Return the monitor that has counted some rows, as one look."""
        if not tally.n_rows and not tally.n_labelled:
            return self
        more = (tally.n_rows, tally.n_answered, tally.n_labelled)
        return replace(self, state=self.state.add(tally.counts, *more))

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
        targets, delta = monitor_files.targets_from_fields(fields, cascade)
        promises = check_promises(cascade, targets, delta)
        state = monitor_files.state_from_fields(fields, MonitorState.begin(promises, delta))
        return cls(cascade, **targets, delta=delta, state=state)

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
                one.verdict.value,
            )
            for one in self.promises
        ]
        headings = ("promise", "rows", "seen", "interval", "evidence", "verdict")
        return fragment(self._title(), table(headings, lines, ("promise", "verdict")))


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Rows to count for each promise of a monitor.

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

    @classmethod
    def from_rows(
        cls,
        cascade: Cascade,
        state: MonitorState,
        cost: FloatArray,
        given: IntArray,
        truth: IntArray,
        late: bool,
    ) -> Self:
        """Count rows by cost, the class they were given and their true class.

        Classes are positions; -1 is a rejected row or an unknown label.
        """
        counts = tuple(
            np.zeros(len(one.promise.values), dtype=np.int64)
            if late and not one.promise.needs_labels
            else _count(one.promise, cascade, cost, given, truth)
            for one in state.promises
        )
        n_rows = 0 if late else len(given)
        return cls(n_rows, int((given >= 0).sum()) * (not late), int((truth >= 0).sum()), counts)

    def __add__(self, other: Tally) -> Tally:
        """Add the rows of another part of a file."""
        counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
        return Tally(
            self.n_rows + other.n_rows,
            self.n_answered + other.n_answered,
            self.n_labelled + other.n_labelled,
            counts,
        )


def _count(
    promise: Promise, cascade: Cascade, cost: FloatArray, given: IntArray, truth: IntArray
) -> IntArray:
    """Count the rows that have each value of a promise."""
    if promise.name == "max_cost":
        places = np.abs(cost[:, None] - exit_costs(cascade)).argmin(axis=1)
        return np.bincount(places, minlength=len(promise.values))
    if promise.name == "min_coverage":
        return np.bincount(given >= 0, minlength=2)
    label = None if promise.label is None else cascade.classes.tolist().index(promise.label)
    if promise.name == "min_recall":
        return np.bincount(given[truth == label] == label, minlength=2)
    which = (given >= 0 if label is None else given == label) & (truth >= 0)
    return np.bincount(given[which] == truth[which], minlength=2)


def _check_decisions(decisions: Decisions, cascade: Cascade) -> None:
    """Refuse decisions that this cascade cannot have made."""
    rule = "decisions must be of the cascade that is monitored"
    if unknown := unknown_labels(decisions.guesses[decisions.accepted], cascade.classes):
        classes = cascade.classes.tolist()
        raise DataError(f"{rule}, whose classes are {classes}, got the label {unknown[0]!r}.")
    exits = exit_costs(cascade)
    far = np.abs(decisions.cost[:, None] - exits).min(axis=1) > _SAME_COST * exits[-1]
    if far.any():
        cost, known = decisions.cost[far][0], ", ".join(f"{one:g}" for one in exits)
        raise DataError(f"{rule}, where rows cost {known}, got a cost of {cost:g}.")


def _track(one: MonitoredPromise, looks: list[tuple[int, tuple[int, ...]]]) -> PromiseTrack:
    """Return the figure and interval of a promise at each look that had rows for it."""
    found = [(n_rows, np.array(counts)) for n_rows, counts in looks if sum(counts)]
    intervals = [one.promise.interval(counts, 1 - one.delta) for _, counts in found]
    return PromiseTrack(
        title=str(one.promise),
        target=one.target,
        rows=np.array([n_rows for n_rows, _ in found]),
        figure=np.array([one.promise.mean(counts) for _, counts in found], dtype=np.float64),
        low=np.array([low for low, _ in intervals]),
        high=np.array([high for _, high in intervals]),
        alarm=None if one.alarm is None else one.alarm.row,
        stretch=None if one.alarm is None else (one.alarm.since, one.alarm.figure),
    )
