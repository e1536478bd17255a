"""Who is ahead in a contest: duels over splits, ranks, and promises beside what was kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from emsco._base.typing import FloatArray
from emsco.lab.contest_records import SHARED, TASKS, Contest, Task
from emsco.lab.contests import EMSCO
from emsco.stats.tests import ALPHA, holm, paired_p_values, standard_error

AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
_DIGITS = 9  # beyond these digits, figures differ by rounding alone


@dataclass(frozen=True, slots=True)
class Duel:
    """Two methods in one cell of a table, over the same splits.

    Attributes
    ----------
    method, rival : str
    budget : float or None
        None for the hypervolume, which has no budget.
    gain : float
        Mean advantage of `method` in accuracy or hypervolume.
    p_value : float
        By the paired t-test for splits that share rows, corrected by Holm's method.
    """

    method: str
    rival: str
    budget: float | None
    gain: float
    p_value: float

    @property
    def verdict(self) -> str:
        """Whether `method` is ahead or behind beyond chance, else level."""
        if self.p_value >= ALPHA:
            return LEVEL
        return AHEAD if self.gain > 0 else BEHIND


def task_duels(contest: Contest, task: Task, method: str = EMSCO) -> list[Duel]:
    """Compare a method with each rival at each budget; all these tests are corrected together."""
    if method not in contest.methods:
        return []
    places, gains = [], []
    for rival in _rivals(contest, method):
        for question in task.questions:
            mine, their = (contest.standings[one, question].accuracy for one in (method, rival))
            places.append((rival, question.budget))
            gains.append(mine - their)
    return _tested(method, places, gains, contest)


def volume_duels(contest: Contest, method: str = EMSCO) -> list[Duel]:
    """Compare the hypervolume of a method with that of each rival."""
    if method not in contest.methods:
        return []
    rivals = _rivals(contest, method)
    gains = [contest.volumes[method] - contest.volumes[rival] for rival in rivals]
    return _tested(method, [(rival, None) for rival in rivals], gains, contest)


def _rivals(contest: Contest, method: str) -> list[str]:
    return [one for one in contest.methods if one != method]


def _tested(
    method: str,
    places: Sequence[tuple[str, float | None]],
    gains: Sequence[FloatArray],
    contest: Contest,
) -> list[Duel]:
    """Test the gains of all places together."""
    if not places:
        return []
    table = np.column_stack(gains).round(_DIGITS)
    # An accuracy is a whole number of test rows, so equal gains on a few splits may be chance.
    least = 1 / (np.sqrt(12) * contest.n_effective)
    corrected = holm(paired_p_values(table, SHARED, least)).tolist()
    means = table.mean(axis=0).tolist()
    return [
        Duel(method, rival, budget, gain, p_value)
        for (rival, budget), gain, p_value in zip(places, means, corrected, strict=True)
    ]


def task_ranks(contest: Contest, task: Task) -> dict[float, dict[str, float]]:
    """Rank methods by mean accuracy at each budget, from 1; equal ones share the mean rank."""
    return {
        question.budget: _ranks(
            {method: contest.standings[method, question].mean for method in contest.methods}
        )
        for question in task.questions
    }


def volume_ranks(contest: Contest) -> dict[str, float]:
    """Rank methods by mean hypervolume."""
    return _ranks({method: float(found.mean()) for method, found in contest.volumes.items()})


def _ranks(figures: Mapping[str, float]) -> dict[str, float]:
    places = stats.rankdata([-round(figure, _DIGITS) for figure in figures.values()])
    return dict(zip(figures, places.tolist(), strict=True))


def mean_ranks(cells: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Mean rank of every method over the cells that it is in, the best method first."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        for method, rank in cell.items():
            found.setdefault(method, []).append(rank)
    means = {method: float(np.mean(ranks)) for method, ranks in found.items()}
    return dict(sorted(means.items(), key=lambda item: item[1]))


@dataclass(frozen=True, slots=True)
class Promise:
    """Accuracy that a method promised beside what it kept, over all budgets and splits.

    Attributes
    ----------
    promised, kept : float
        Means.
    error : float or None
        Standard error of their difference over splits that share rows; None for a single split.
    overspent, short : float
        Mean overrun of budgets, as a share of the cost of everything, and of the coverage asked
        for.
    """

    promised: float
    kept: float
    error: float | None
    overspent: float
    short: float

    @property
    def gap(self) -> float:
        """Promised less kept."""
        return self.promised - self.kept

    @property
    def in_errors(self) -> float | None:
        """The gap in standard errors, if that is defined."""
        return self.gap / self.error if self.error else None


def promise_of(contest: Contest, method: str, tasks: Sequence[Task] = TASKS) -> Promise:
    """Average what a method promised and kept in some tasks."""
    cells = [contest.standings[method, one] for task in tasks for one in task.questions]
    promised = np.mean([cell.promised for cell in cells], axis=0)
    kept = np.mean([cell.accuracy for cell in cells], axis=0)
    gaps = (promised - kept)[:, None]
    return Promise(
        float(promised.mean()),
        float(kept.mean()),
        float(standard_error(gaps, SHARED)[0]) if len(gaps) > 1 else None,
        float(np.mean([cell.overspent for cell in cells])),
        float(np.mean([cell.short for cell in cells])),
    )
