"""Watch a promise: the evidence against it as rows come in.

Whoever doubts a promise bets against it, see `betting`. Half of the money bets on all rows since
the beginning. The other half is for a promise that was kept for long and is broken now: it starts
over every hundred rows, each time with a smaller share of what is left, so that all shares
together are 1 and the chance of a false alarm, ever, stays below δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from emsco._base.intervals import Interval
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.trust.betting import log_capital_above, log_capital_below, log_sum_exp, mean_interval
from emsco.trust.promises import Promise, Verdict

__all__ = ["Alarm", "MonitoredPromise", "Start"]

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
