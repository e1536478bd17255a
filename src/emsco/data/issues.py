"""Columns that look wrong: leaks, ids, copies, constants, and columns with hardly any value.

The checks prefer silence to a false alarm. They say nothing about fewer than 50 rows, and one thing
about a column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from emsco._base.text import listed
from emsco._base.typing import FloatArray
from emsco.data.training import TrainingData
from emsco.errors import DataWarning

_SEED = 20_221_101  # the same rows each time, so that the same data get the same warnings
_SAMPLE = 2_000  # rows of a sample, all classes together
_LEAST_ROWS, _LEAST_LEAK_ROWS = 50, 100  # in smaller tables, all of this happens by chance
_LEAST_OF_CLASS = 20  # rows; accuracy on a smaller class is a guess
_LEAK = 0.99  # balanced accuracy of a single column on unseen rows
_EXCEPTIONS, _MANY_ROWS = 4, 1_000  # a value but for 4 of 1,000 rows or more is as good as constant
_OWN_VALUE = 0.9  # different values for each row of a column of ids
_MISSING = 0.95  # share of rows without a value
_SAME = 1e-9  # relative difference of values that only rounding tells apart
_ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index)$|ID$|Id$|Key$|Index$")
_MOST_WARNINGS, _MOST_CLASSES = 10, 6

# Kinds, most serious first, and why the command line leaves a column of some kinds out.
_KINDS = ("leak", "identifier", "copy", "constant", "nearly missing")
_LEFT_OUT = {
    "leak": "alone decides the class",
    "identifier": "looks like an id",
    "copy": "tells the same as another",
}


@dataclass(frozen=True, slots=True)
class DataIssue:
    """A column of the training rows that looks wrong.

    Attributes
    ----------
    kind : {"leak", "identifier", "copy", "constant", "nearly missing"}
    subject : str
        Name of the column.
    message : str
        A sentence that says what is odd and what to do.
    """

    kind: str
    subject: str
    message: str

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return asdict(self)


def data_issues_of(data: TrainingData) -> tuple[DataIssue, ...]:
    """Return the columns that look wrong, most serious first.

    Rows of weight 0 do not count. All rows of a column are read only if a sample looks odd.

    Examples
    --------
    >>> from emsco.costs import FeatureCosts
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.normal(size=200), np.full(200, 7.0), y + 10])
    >>> costs = FeatureCosts.from_mapping({"age": 1, "ward": 2, "bill": 3})
    >>> for issue in data_issues_of(TrainingData.from_table(X, y, None, costs, "refuse")):
    ...     print(issue)
    column 'bill' alone decides the class (balanced accuracy 100.0 % on unseen rows): is it known \
before the answer? If not, drop 'bill'.
    column 'ward' has the same value in every row, so it tells nothing; drop 'ward'.
    """
    table = _CountedRows(data)
    if len(table.rows) < _LEAST_ROWS:
        return ()
    alone = [_alone(table, i) for i in range(len(table.sampled))]
    issues = {issue.subject: issue for issue in alone if issue is not None}
    leaks = list(_leaks(table, issues))
    # Where most columns decide the class, the problem is easy and nothing leaks.
    if len(leaks) <= max(1, len(table.sampled) // 2):
        issues |= {issue.subject: issue for issue in leaks}
    every = [*issues.values(), *_copies(table, issues)]
    return tuple(sorted(every, key=lambda issue: _KINDS.index(issue.kind)))


def accuracies_alone(data: TrainingData) -> dict[str, float]:
    """Return how well each column alone tells the class of unseen rows: balanced accuracy."""
    table = _CountedRows(data)
    return dict(zip(data.encoding.columns, map(table.accuracy_alone, table.sampled), strict=True))


def class_shares(data: TrainingData) -> str:
    """Return the share of each class by weight, largest first, such as 'no 76.1 %, yes 23.9 %'."""
    shares = data.class_shares
    order = np.argsort(-shares, kind="stable")
    return listed([f"{data.classes[i]} {100 * shares[i]:.1f} %" for i in order], _MOST_CLASSES)


def suspects(data_issues: Iterable[DataIssue]) -> frozenset[str]:
    """Columns that nobody should buy before looking: leaks, ids and constants."""
    kinds = ("leak", "identifier", "constant")
    return frozenset(one.subject for one in data_issues if one.kind in kinds)


def to_leave_out(
    data_issues: Iterable[DataIssue], keep: Collection[str] = ()
) -> tuple[DataIssue, ...]:
    """Leaks, ids and copies, which nobody should buy before looking, but for those to `keep`.

    Of columns that tell the same, the cheapest is not among them, or the first if they cost alike.
    """
    return tuple(one for one in data_issues if one.kind in _LEFT_OUT and one.subject not in keep)


def left_out_warning(left_out: Sequence[DataIssue]) -> DataWarning:
    """Say in one line which columns are left out, why, and how to keep them."""
    columns = ", ".join(f"{one.subject!r} ({_LEFT_OUT[one.kind]})" for one in left_out)
    return DataWarning(f"left out: {columns}; keep brings them back.")


def warnings_of(data_issues: Sequence[DataIssue]) -> Iterator[DataWarning]:
    """Yield a warning for each of the first issues, and one that counts the others."""
    for issue in data_issues[:_MOST_WARNINGS]:
        yield DataWarning(issue.message)
    if (more := len(data_issues) - _MOST_WARNINGS) > 0:
        yield DataWarning(f"and {more:,} more like these; data_issues_ lists all of them.")


def _issue(kind: str, name: str, words: str) -> DataIssue:
    """Return an issue whose sentence begins with the column and ends with the advice to drop it."""
    return DataIssue(kind, name, f"column {name!r} {words}drop {name!r}.")


def id_issue(name: str, n_different: int, n_rows: int) -> DataIssue | None:
    """Return the issue of a column of so many different values, if they are hardly ever equal."""
    if n_different < _OWN_VALUE * n_rows:
        return None
    where = "every row" if n_different == n_rows else "nearly every row"
    return _issue("identifier", name, f"has a different value in {where}; if it is an id, ")


class _CountedRows:
    """The rows of training data that count, and up to about 2,000 of them, class by class.

    A column is one number for each row: its value or the position of its category, NaN if missing.
    """

    def __init__(self, data: TrainingData) -> None:
        self.data, self.n_classes = data, len(data.classes)
        n_rows = len(data.labels)
        weights = np.ones(n_rows) if data.weights is None else data.weights
        self.rows = np.flatnonzero(weights)
        # A seed of its own: looking at the data must not shift the draws of a search.
        rng = np.random.default_rng(_SEED)
        most = max(2 * _LEAST_OF_CLASS, _SAMPLE // self.n_classes)
        by_class = [self.rows[data.labels[self.rows] == k] for k in range(self.n_classes)]
        drawn = np.concatenate([rng.permutation(rows)[:most] for rows in by_class])
        self.labels, sample = data.labels[drawn], data.rows[drawn]
        self.sampled = [self._column(sample, i) for i in range(len(data.encoding.codes))]

    def column(self, i: int) -> FloatArray:
        """Column `i` on all rows that count."""
        return self._column(self.data.rows, i)[self.rows]

    def plain(self, i: int, values: FloatArray) -> FloatArray:
        """Return values to compare; categories are numbered as they come: names do not matter."""
        if self.data.encoding.codes[i].kind != "category":
            return values
        _, first, place = np.unique(values, return_index=True, return_inverse=True)
        return np.where(np.isnan(values), np.nan, first[place])

    def _column(self, rows: FloatArray, i: int) -> FloatArray:
        code, start = self.data.encoding.codes[i], self.data.encoding.starts[i]
        if code.kind != "category":
            return rows[:, start]
        places = rows[:, start : start + code.n_values].argmax(axis=1)
        return np.where(np.isnan(rows[:, start]), np.nan, places)

    def accuracy_alone(self, values: FloatArray) -> float:
        """Return how well one sampled column predicts the class of unseen rows, classes alike.

        The guess for a value is the class that has it most often in the other half of the rows, or
        the nearest value there. Classes with fewer than 20 rows do not count.
        """
        sizes = np.bincount(self.labels, minlength=self.n_classes)
        large = sizes >= _LEAST_OF_CLASS
        if large.sum() < 2:
            return 0.0
        # A missing value is far below all others.
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        values = np.where(np.isnan(values), low - 10 * (high - low) - 1, values)
        half, correct = np.arange(len(values)) % 2 == 0, np.zeros(len(values), dtype=np.bool_)
        for seen in (half, ~half):
            known, place = np.unique(values[seen], return_inverse=True)
            cells = place * self.n_classes + self.labels[seen]
            counts = np.bincount(cells, minlength=known.size * self.n_classes)
            shares = counts.reshape(-1, self.n_classes)
            shares = shares / np.maximum(1, shares.sum(axis=0))
            near = np.searchsorted((known[1:] + known[:-1]) / 2, values[~seen])
            correct[~seen] = shares.argmax(axis=1)[near] == self.labels[~seen]
        right = np.bincount(self.labels, correct, self.n_classes)
        return float(np.mean(right[large] / sizes[large]))


def _alone(table: _CountedRows, i: int) -> DataIssue | None:
    """Return what is odd about a single column, whatever the classes."""
    code, seen, n_rows = table.data.encoding.codes[i], table.sampled[i], len(table.rows)
    most = _EXCEPTIONS if n_rows >= _MANY_ROWS else 0
    # What is odd on all rows is odd in the sample, and most columns end here.
    may_be_id = code.kind == "number" and _are_whole_and_differ(seen)
    if _n_others(seen) <= most or 2 * np.isnan(seen).mean() > _MISSING or may_be_id:
        values = table.column(i)
        if (missing := np.isnan(values).mean()) > _MISSING:
            return _issue(
                "nearly missing", code.name, f"has no value in {missing:.1%} of the rows; "
            )
        if (n_others := _n_others(values)) <= most:
            where = f"all but {n_others} of {n_rows:,} rows" if n_others else "every row"
            little = "next to nothing" if n_others else "nothing"
            words = f"has the same value in {where}, so it tells {little}; "
            return _issue("constant", code.name, words)
        if may_be_id and is_numbering(code.name, values):
            return id_issue(code.name, np.unique(values).size, n_rows)
    return id_issue(code.name, len(code.categories), n_rows)


def _leaks(table: _CountedRows, issues: Collection[str]) -> Iterator[DataIssue]:
    """Yield columns that alone decide the class."""
    for name, seen in zip(table.data.encoding.columns, table.sampled, strict=True):
        if len(table.rows) < _LEAST_LEAK_ROWS or name in issues:
            continue
        if (accuracy := table.accuracy_alone(seen)) >= _LEAK:
            words = f"alone decides the class (balanced accuracy {100 * accuracy:.1f} % on unseen "
            words += "rows): is it known before the answer? If not, "
            yield _issue("leak", name, words)


def _copies(table: _CountedRows, issues: Collection[str]) -> Iterator[DataIssue]:
    """Yield features that tell the same as a cheaper one; columns of groups do not count."""
    costs, encoding = table.data.costs, table.data.encoding
    # What a column costs on its own, with the fees that it would be the first to pay.
    cost_of = costs.alone[list(encoding.feature_of)].tolist()
    there = [
        i
        for i, (name, feature) in enumerate(zip(encoding.columns, encoding.feature_of, strict=True))
        if name not in issues
        and len(costs.columns[feature]) == 1
        and _n_others(table.sampled[i]) > _EXCEPTIONS  # so few may agree by chance
    ]
    # A number that columns share if they tell the same, also turned round, and hardly else.
    weights = np.random.default_rng(_SEED).normal(size=len(table.labels))
    marks = np.array([abs(_standard(table.plain(i, table.sampled[i])) @ weights) for i in there])
    order = np.argsort(marks, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(marks[order]) > 1e-7) + 1):
        # The cheapest is kept, and of equal ones the first.
        members = sorted((there[place] for place in group), key=lambda i: (cost_of[i], i))
        for i in members[1:]:
            kept = members[0]
            if not is_copy(*(table.plain(k, table.column(k)) for k in (kept, i))):
                continue
            words = f"tells the same as column {encoding.columns[kept]!r}"
            if cost_of[i] > cost_of[kept]:
                words += f" but costs more ({cost_of[i]:g} instead of {cost_of[kept]:g})"
            yield _issue("copy", encoding.columns[i], f"{words}; ")


def is_copy(one: FloatArray, other: FloatArray) -> bool:
    """Tell whether one column is a multiple of another, plus a constant.

    Examples
    --------
    >>> celsius = np.array([20.0, 21.5, 37.0])
    >>> is_copy(celsius, 32 + 1.8 * celsius)
    True
    """
    x, y = _standard(one), _standard(other)
    is_alike = np.array_equal(np.isnan(one), np.isnan(other)) and x.any() and y.any()
    return bool(is_alike and np.abs(y - x * (x @ y)).max() <= _SAME * np.abs(y).max())


def is_numbering(name: str, values: FloatArray) -> bool:
    """Tell whether numbers look like those of an id.

    They are whole, and at least nine in ten differ. They also rise or fall from row to row, or
    leave few numbers out, or the column is called an id.
    """
    if not _are_whole_and_differ(values):
        return False
    steps, n_rows = np.diff(values), len(values)
    # A table may be sorted by a measurement, but then some of its values repeat.
    in_order = bool((steps > 0).all() or (steps < 0).all())
    # Ids need not begin at 0 nor be complete, but they leave few numbers out. If some repeat, of as
    # many measurements in so short a range more would.
    longest = 2 if np.unique(values).size == n_rows else 1.5
    dense = float(np.ptp(values)) < longest * n_rows
    return in_order or dense or _ID_NAME.search(name) is not None


def _are_whole_and_differ(values: FloatArray) -> bool:
    are_whole = bool((values == np.floor(values)).all())  # and none is missing
    return are_whole and np.unique(values).size >= _OWN_VALUE * len(values)


def _n_others(values: FloatArray) -> int:
    """Number of rows without the usual value: if nearly all rows share one, it is the median."""
    return int(np.count_nonzero(values != np.partition(values, len(values) // 2)[len(values) // 2]))


def _standard(values: FloatArray) -> FloatArray:
    """Return values around 0 as a vector of length 1, missing ones as 0; zeros for a constant."""
    values = values / (np.fmax.reduce(np.abs(values)) or 1.0)  # so that squares do not overflow
    known = ~np.isnan(values)
    centred = np.where(known, values - values[known].mean(), 0.0)
    length = float(np.linalg.norm(centred))
    standard: FloatArray = centred / length if length else centred
    return standard
