"""Columns and classes that look wrong: leaks, ids, constants, copies, rare classes, partial buying.

The checks prefer silence to a false alarm. They say nothing about fewer than 50 rows, and at most
one thing about a column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.text import brief, counted, listed
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.data.columns import ColumnCode
from emsco.data.dates import are_dates
from emsco.data.training import TrainingData
from emsco.errors import DataWarning

_SEED = 20_221_101  # the same rows each time, so that the same data get the same warnings
_SAMPLE = 4_000  # rows of a sample, all classes together
_SCREEN = 200  # rows of the first look, which dismisses nearly all columns
_MOST_WARNINGS = 10
_MOST_CLASSES = 6  # whose shares are listed

# When something is an issue
_LEAST_ROWS = 50  # in smaller tables, all of this happens by chance
_LEAST_LEAK_ROWS = 100
_LEAK = 0.99  # balanced accuracy of a single column on unseen rows
_SUSPECT = 0.9  # on the few rows of the first look
_FAR_AHEAD = 3  # times fewer errors than the next best column, which makes a near leak
_LEAST_OF_CLASS = 20  # rows; accuracy on a smaller class is a guess
_EXCEPTIONS, _MANY_ROWS = 4, 1_000  # a value but for 4 of 1,000 rows or more is as good as constant
_OWN_VALUE = 0.9  # different values for each row of a column of ids
_MANY_LEVELS, _ROWS_PER_LEVEL = 20, 10
_HUGE = 100  # categories; each is an input, so the model of one column is that of a wide table
# Missing values that other columns predict: so many rows with and without a value at least, and
# rows in order of the prediction so well, beyond so many standard errors.
_LEAST_MISSING = 40
_PREDICTED, _STANDARD_ERRORS = 0.65, 4
_KNOWN = 0.9  # of the values of a column that predicts
_MOST_PREDICTORS, _MOST_MASKS = 100, 20
_SAME = 1e-9  # relative difference of values that only rounding tells apart
_NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?", re.ASCII)
_LEAST_NUMBERS, _FEW_TEXTS = 5, 0.01  # different numbers of a column, and its share of other texts
_ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index)$|ID$|Id$|Key$|Index$")


class DataIssueKind(Enum):
    """Ways in which a column or a class may look wrong, most serious first."""

    LEAK = "leak"
    NEAR_LEAK = "near leak"
    IDENTIFIER = "identifier"
    DATES = "dates"
    PARTLY_BOUGHT = "partly bought"
    RARE_CLASS = "rare class"
    COPY = "copy"
    CONSTANT = "constant"
    TEXT_AMONG_NUMBERS = "text among numbers"
    MANY_CATEGORIES = "many categories"


_SUSPECT_KINDS = (
    DataIssueKind.LEAK,
    DataIssueKind.IDENTIFIER,
    DataIssueKind.DATES,
    DataIssueKind.CONSTANT,
)


# Columns that the command line leaves out, and why in a few words.
_LEFT_OUT = {
    DataIssueKind.LEAK: "alone decides the class",
    DataIssueKind.IDENTIFIER: "looks like an id",
    DataIssueKind.COPY: "tells the same as another",
}


@dataclass(frozen=True, slots=True)
class DataIssue:
    """A column or a class of the training rows that looks wrong.

    Attributes
    ----------
    kind : DataIssueKind
    subject : str
        Name of the column, or the class as text.
    message : str
        A sentence that says what is odd and what to do.
    """

    kind: DataIssueKind
    subject: str
    message: str

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {"kind": self.kind.value, "subject": self.subject, "message": self.message}

    @classmethod
    def of_column(cls, kind: DataIssueKind, name: str, words: str) -> Self:
        """Return an issue of a column, with the advice to drop it at the end of the sentence."""
        return cls(kind, name, f"column {name!r} {words}drop {name!r}.")


def suspects(data_issues: Iterable[DataIssue]) -> frozenset[str]:
    """Columns that nobody should buy before looking: leaks, ids, dates and constants."""
    return frozenset(issue.subject for issue in data_issues if issue.kind in _SUSPECT_KINDS)


def to_leave_out(data_issues: Iterable[DataIssue], keep: Collection[str]) -> tuple[DataIssue, ...]:
    """Leaks, ids and copies, which nobody should buy before looking, but for those to `keep`.

    Of columns that tell the same, the cheapest is not among them, or the first if they cost alike.
    """
    return tuple(one for one in data_issues if one.kind in _LEFT_OUT and one.subject not in keep)


def left_out_warning(left_out: Sequence[DataIssue]) -> DataWarning:
    """Say in one line which columns are left out, why, and how to keep them."""
    columns = ", ".join(f"{one.subject!r} ({_LEFT_OUT[one.kind]})" for one in left_out)
    return DataWarning(f"left out: {columns}; keep brings them back.")


def id_of_texts(name: str, n_texts: int, n_rows: int) -> DataIssue | None:
    """Return the issue of a column of so many texts, if it looks like an id."""
    if n_texts < _OWN_VALUE * n_rows:
        return None
    return _an_id(name, every_row=n_texts == n_rows)


def data_issues_of(data: TrainingData) -> tuple[DataIssue, ...]:
    """Return the columns and classes that look wrong, most serious first.

    Rows of weight 0 do not count. Only a sample of rows is read where that is enough.

    Examples
    --------
    >>> from emsco.costs import FeatureCosts
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.normal(size=200), np.full(200, 7.0), y + 10])
    >>> costs = FeatureCosts.from_mapping({"age": 1, "ward": 2, "bill": 3})
    >>> for issue in data_issues_of(TrainingData.from_table(X, y, None, costs, "refuse")):
    ...     print(issue)
    column 'bill' alone decides the class (balanced accuracy 100 % on unseen rows): is it known \
before the answer? If not, drop 'bill'.
    column 'ward' has the same value in every row, so it tells nothing; drop 'ward'.
    """
    table = _CountedTable(data)
    if table.n_rows < _LEAST_ROWS:
        return ()
    # What is odd about single columns, whatever the classes.
    issues: dict[str, DataIssue] = {}
    for i, code in enumerate(table.codes):
        issue = _constant(table, i)
        if issue is None:
            is_category = code.kind == "category"
            issue = _category(table, i) if is_category else _identifier(table, i)
        if issue is not None:
            issues[code.name] = issue
    leaks = {leak.subject: leak for leak in _leaks(table, issues)}
    # A leak says more than whatever else is odd about its column.
    issues = leaks | {name: issue for name, issue in issues.items() if name not in leaks}
    every = [*issues.values(), *_copies(table, issues)]
    every += _partly_bought(table, {issue.subject for issue in every})
    # Classes with few rows; the split warns of those with a single one.
    sizes = np.bincount(table.labels, minlength=len(data.classes))
    for label, size in zip(data.classes.tolist(), sizes.tolist(), strict=True):
        if 1 < size < _LEAST_OF_CLASS:
            rows = counted(size, "row")
            every.append(
                DataIssue(
                    DataIssueKind.RARE_CLASS,
                    str(label),
                    f"class {brief(label)} has {rows}: figures about it are guesses.",
                )
            )
    order = list(DataIssueKind)
    return tuple(sorted(every, key=lambda issue: order.index(issue.kind)))


def accuracies_alone(data: TrainingData) -> dict[str, float]:
    """Return how well each column alone tells the class of unseen rows: balanced accuracy.

    It is 0 if fewer than two classes have 20 rows.
    """
    table = _CountedTable(data)
    return {
        code.name: table.sample.balanced_accuracy(seen, code.kind)
        for code, seen in zip(table.codes, table.sampled, strict=True)
    }


def class_shares(data: TrainingData) -> str:
    """Return the share of each class by weight, largest first, such as 'no 76.1 %, yes 23.9 %'."""
    shares = np.bincount(data.labels, data.weights, minlength=len(data.classes))
    shares = shares / shares.sum()
    order = np.argsort(-shares, kind="stable")
    words = [f"{data.classes[i]} {_percent(shares[i])}" for i in order]
    return listed(words, _MOST_CLASSES)


def warnings_of(data_issues: Sequence[DataIssue]) -> Iterator[DataWarning]:
    """Yield a warning for each of the first data_issues, and one that counts the others."""
    for issue in data_issues[:_MOST_WARNINGS]:
        yield DataWarning(issue.message)
    if (more := len(data_issues) - _MOST_WARNINGS) > 0:
        yield DataWarning(f"and {more:,} more like these; data_issues_ lists all of them.")


class _CountedTable:
    """The rows of training data that count, and a sample of them."""

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.codes = data.encoding.codes
        rows, labels = data.rows, data.labels
        if data.weights is not None and not data.weights.all():
            which = np.flatnonzero(data.weights)
            rows, labels = rows[which], labels[which]
        self.rows: Any = rows
        self.labels: IntArray = labels.astype(np.int64)
        self.n_rows = len(self.labels)

    @cached_property
    def sample(self) -> _ClassSample:
        return _ClassSample.draw(self.labels, len(self.data.classes))

    @cached_property
    def sampled(self) -> list[FloatArray]:
        """Each column on the rows of the sample."""
        # By columns in memory: each is read on its own below.
        rows = np.asfortranarray(self.rows[self.sample.rows])
        return [self._values(rows, i) for i in range(len(self.codes))]

    def values(self, i: int) -> FloatArray:
        """Column `i` on all rows."""
        return self._values(self.rows, i)

    def n_exceptions(self, i: int) -> int:
        """Number of rows without the usual value of column `i`; of the sample if that has many."""
        seen = self.sampled[i]
        # If nearly all rows share a value, the median is that value.
        usual = np.partition(seen, len(seen) // 2)[len(seen) // 2]
        few = int(np.count_nonzero(seen != usual))
        # A count of the sample above the bound is enough; only few exceptions are worth all rows.
        return few if few > _EXCEPTIONS else int(np.count_nonzero(self.values(i) != usual))

    def _values(self, rows: FloatArray, i: int) -> FloatArray:
        """One number per row: the value of column `i`, or the position of its category.

        A missing number is below all others, and a missing category is -1.
        """
        code, start = self.codes[i], self.data.encoding.starts[i]
        first = rows[:, start]
        missing = np.isnan(first)
        if code.kind == "category":
            places = rows[:, start : start + code.n_values].argmax(axis=1).astype(np.float64)
            return np.where(missing, -1.0, places)
        if not missing.any() or missing.all():
            return first
        low, high = float(np.nanmin(first)), float(np.nanmax(first))
        # Far below the lowest, so that the nearest known value never is a missing one by accident.
        return np.where(missing, low - 10 * (high - low) - 1, first)


def _constant(table: _CountedTable, i: int) -> DataIssue | None:
    others = table.n_exceptions(i)
    # In a large table a handful of other values tells no more than none.
    if others > (_EXCEPTIONS if table.n_rows >= _MANY_ROWS else 0):
        return None
    where = "every row" if not others else f"all but {others} of {table.n_rows:,} rows"
    tells = "nothing" if not others else "next to nothing"
    return DataIssue.of_column(
        DataIssueKind.CONSTANT,
        table.codes[i].name,
        f"has the same value in {where}, so it tells {tells}; ",
    )


def _identifier(table: _CountedTable, i: int) -> DataIssue | None:
    name, seen = table.codes[i].name, table.sampled[i]
    if (seen != np.floor(seen)).any() or np.unique(seen).size < _OWN_VALUE * len(seen):
        return None  # most columns end here, before all rows are read
    if np.isnan(table.rows[:, table.data.encoding.starts[i]]).any():
        return None
    values = table.values(i)
    if not is_numbering(name, values):
        return None
    return _an_id(name, every_row=np.unique(values).size == len(values))


def _an_id(name: str, *, every_row: bool) -> DataIssue:
    where = "every row" if every_row else "nearly every row"
    return DataIssue.of_column(
        DataIssueKind.IDENTIFIER, name, f"has a different value in {where}; if it is an id, "
    )


def _category(table: _CountedTable, i: int) -> DataIssue | None:
    code = table.codes[i]
    name, n_levels = code.name, len(code.categories)
    if (issue := _text_among_numbers(table, i)) is not None:
        return issue
    if are_dates(code.categories):
        return DataIssue.of_column(
            DataIssueKind.DATES,
            name,
            "holds dates as text, so every date is a category and a new one tells nothing; make it "
            "a number, such as days since an event, or ",
        )
    if (issue := id_of_texts(name, n_levels, table.n_rows)) is not None:
        return issue
    if n_levels > _HUGE:
        words = (
            f"has {n_levels:,} different texts, each an input of its own, which makes a fit slow; "
            "join rare ones, or "
        )
    elif n_levels > _MANY_LEVELS and table.n_rows < _ROWS_PER_LEVEL * n_levels:
        words = (
            f"has {n_levels:,} categories with {table.n_rows / n_levels:.1f} rows each on average, "
            "too few to learn from; join rare ones, or "
        )
    else:
        return None
    return DataIssue.of_column(DataIssueKind.MANY_CATEGORIES, name, words)


def _text_among_numbers(table: _CountedTable, i: int) -> DataIssue | None:
    """Return the issue of a column whose texts are all numbers, but for a few rows."""
    name, categories = table.codes[i].name, table.codes[i].categories
    texts = [k for k, text in enumerate(categories) if not _NUMBER.fullmatch(str(text).strip())]
    if not texts or len(categories) - len(texts) < _LEAST_NUMBERS:
        return None
    rows = np.flatnonzero(np.isin(table.values(i), texts))
    if len(rows) > max(1, _FEW_TEXTS * table.n_rows):
        return None
    text = categories[int(table.values(i)[rows[0]])]
    others = f" and {counted(len(rows) - 1, 'other row')}" if len(rows) > 1 else ""
    return DataIssue(
        DataIssueKind.TEXT_AMONG_NUMBERS,
        name,
        f"column {name!r} holds numbers but for the text {brief(text)} in row {rows[0]}{others}, "
        "so every number in it is a category; make that cell a number or a missing value.",
    )


def _leaks(table: _CountedTable, issues: Mapping[str, DataIssue]) -> list[DataIssue]:
    """Return columns that alone decide the class or nearly do, unless most do: then it is easy."""
    if table.n_rows < _LEAST_LEAK_ROWS:
        return []
    # Most columns fail on a few rows already, so that the whole sample is read for suspects alone.
    quick = table.sample.screen()
    first = np.flatnonzero(np.isin(table.sample.rows, quick.rows))
    leaks: list[DataIssue] = []
    others: dict[str, float] = {}
    for code, seen in zip(table.codes, table.sampled, strict=True):
        issue = issues.get(code.name)
        if issue is not None and issue.kind is not DataIssueKind.MANY_CATEGORIES:
            continue
        if quick.balanced_accuracy(seen[first], code.kind) < _SUSPECT:
            continue
        accuracy = table.sample.balanced_accuracy(seen, code.kind)
        if accuracy >= _LEAK:
            leaks.append(
                DataIssue.of_column(
                    DataIssueKind.LEAK,
                    code.name,
                    f"alone decides the class (balanced accuracy {_percent(accuracy)} on unseen "
                    "rows): is it known before the answer? If not, ",
                )
            )
        else:
            others[code.name] = accuracy
    leaks += _near_leaks(others)
    # Where most columns decide the class, the problem is easy and nothing leaks.
    return leaks if len(leaks) <= max(1, len(table.codes) // 2) else []


def _near_leaks(accuracies: Mapping[str, float]) -> list[DataIssue]:
    """Return the column that is far better than all others, such as a leak with typing errors."""
    if not accuracies:
        return []
    best = max(accuracies, key=accuracies.__getitem__)
    next_best = max((one for name, one in accuracies.items() if name != best), default=0.0)
    # Columns that were dismissed at the first look are not measured; they have less than this.
    next_best = max(next_best, _SUSPECT)
    if _FAR_AHEAD * (1 - accuracies[best]) > 1 - next_best:
        return []
    return [
        DataIssue.of_column(
            DataIssueKind.NEAR_LEAK,
            best,
            f"nearly decides the class alone (balanced accuracy {_percent(accuracies[best])} on "
            "unseen rows, far more than any other): is it known before the answer? If not, ",
        )
    ]


def _copies(table: _CountedTable, issues: Mapping[str, DataIssue]) -> Iterator[DataIssue]:
    """Yield features that tell the same as a cheaper one; columns of groups do not count."""
    costs, feature_of = table.data.costs, table.data.encoding.feature_of
    # What a column costs on its own, with the fees that it would be the first to pay.
    cost_of = costs.alone[list(feature_of)].tolist()
    alone = [
        i
        for i, code in enumerate(table.codes)
        if code.name not in issues
        and len(costs.columns[feature_of[i]]) == 1
        and table.n_exceptions(i) > _EXCEPTIONS  # so few may agree by chance
    ]
    for group in _look_alikes([_plain(table.codes[i], table.sampled[i]) for i in alone]):
        # The cheapest is kept, and of equal ones the first.
        members = sorted((alone[place] for place in group), key=lambda i: (cost_of[i], i))
        kept = members[0]
        cheapest = _plain(table.codes[kept], table.values(kept))
        for i in members[1:]:
            # Look-alikes of the sample are confirmed on all rows.
            if not is_copy(cheapest, _plain(table.codes[i], table.values(i))):
                continue
            words = f"tells the same as column {table.codes[kept].name!r}"
            if cost_of[i] > cost_of[kept]:
                words += f" but costs more ({cost_of[i]:g} instead of {cost_of[kept]:g})"
            yield DataIssue.of_column(DataIssueKind.COPY, table.codes[i].name, f"{words}; ")


def _partly_bought(table: _CountedTable, known: Collection[str]) -> Iterator[DataIssue]:
    """Yield features that have no value in some rows, and other columns tell in which.

    So it is where they were bought by a rule. Models then see the dear values of some rows only.
    """
    encoding, costs = table.data.encoding, table.data.costs.alone
    starts = list(encoding.starts[:-1])
    sample = np.asarray(table.rows[table.sample.rows])
    missing = np.isnan(sample[:, starts])
    n_missing = missing.sum(axis=0)
    enough = (n_missing >= _LEAST_MISSING) & (len(sample) - n_missing >= _LEAST_MISSING)
    if not enough.any():
        return
    usual = [i for i in range(len(starts)) if n_missing[i] <= (1 - _KNOWN) * len(sample)]
    scores: dict[bytes, float] = {}
    for i in np.flatnonzero(enough).tolist():
        name, cost = table.codes[i].name, float(costs[encoding.feature_of[i]])
        if name in known or not cost:
            continue
        # Features that cost more are no reason to buy this one.
        cheaper = [j for j in usual if j != i and costs[encoding.feature_of[j]] <= cost]
        mask = missing[:, i]
        if mask.tobytes() not in scores:
            if len(scores) == _MOST_MASKS or not cheaper:
                continue
            inputs = [k for j in cheaper for k in range(starts[j], encoding.starts[j + 1])]
            scores[mask.tobytes()] = _predictability(sample[:, inputs], mask, table.sample.turn)
        score = scores[mask.tobytes()]
        if score < _PREDICTED:
            continue
        share = _percent(float(mask.mean()))
        yield DataIssue(
            DataIssueKind.PARTLY_BOUGHT,
            name,
            f"column {name!r} has no value in {share} of the rows, and other columns tell in which "
            f"(area under the curve {score:.2f} on unseen rows): if a rule says who gets it, all "
            "figures and certificates are about rows in which it is missing by the same rule.",
        )


def _predictability(values: FloatArray, mask: BoolArray, turn: IntArray) -> float:
    """Return how well values predict a mask on unseen rows: the area under the curve.

    It is 0.5 if chance may explain it. The prediction is linear in the values and their squares.
    """
    known = ~np.isnan(values)
    n_known = np.maximum(1, known.sum(axis=0))
    middle = np.where(known, values, 0.0).sum(axis=0) / n_known
    centred = np.where(known, values - middle, 0.0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    centred = centred[:, deviation > 0] / deviation[deviation > 0]
    if not centred.shape[1]:
        return 0.5
    centred = np.clip(centred, -5, 5)
    squares = centred**2 - (centred**2).mean(axis=0)
    inputs = np.column_stack([centred, squares])
    areas = []
    for half in (turn % 2 == 0, turn % 2 == 1):
        # Predictors are chosen, too, without the unseen rows: each row has an id of its own.
        seen, unseen = inputs[half] - inputs[half].mean(axis=0), mask[~half]
        target = mask[half] - mask[half].mean()
        best = np.argsort(-np.abs(target @ seen), kind="stable")[:_MOST_PREDICTORS]
        seen = seen[:, best]
        penalty = 0.01 * len(seen) * np.eye(len(best))
        slopes = np.linalg.solve(seen.T @ seen + penalty, seen.T @ target)
        n_with, n_without = int(unseen.sum()), int((~unseen).sum())
        if not n_with or not n_without:
            return 0.5
        order = np.argsort(inputs[~half][:, best] @ slopes, kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = np.arange(1, len(order) + 1)
        area = (ranks[unseen].sum() - n_with * (n_with + 1) / 2) / (n_with * n_without)
        error = np.sqrt((n_with + n_without + 1) / (12 * n_with * n_without))
        if area < 0.5 + _STANDARD_ERRORS * error:
            return 0.5
        areas.append(float(area))
    return float(np.mean(areas))


def _percent(share: float) -> str:
    """Return a share in words; only all of them are 100 %."""
    shown = f"{100 * share:.1f}" if share < 1 else "100"
    return f"{'99.9' if shown == '100.0' else shown} %"


# Statistics of columns


@dataclass(frozen=True, slots=True, eq=False)
class _ClassSample:
    """Some rows of each class, in two halves, each unseen by a rule learnt from the other.

    Attributes
    ----------
    rows : ndarray of shape (n_sampled,)
        Positions of the rows, class by class.
    labels : ndarray of shape (n_sampled,)
    turn : ndarray of shape (n_sampled,)
        Position of each row among those of its class. Even ones are one half, odd ones the other.
    n_classes : int
    """

    rows: IntArray
    labels: IntArray
    turn: IntArray
    n_classes: int

    @classmethod
    def draw(cls, labels: IntArray, n_classes: int) -> Self:
        """Draw up to about 4,000 rows, as many of each class where there are enough."""
        # A seed of its own: looking at the data must not shift the draws of a search.
        rng = np.random.default_rng(_SEED)
        max_of_class = max(2 * _LEAST_OF_CLASS, _SAMPLE // n_classes)
        by_class = [np.flatnonzero(labels == label) for label in range(n_classes)]
        drawn = [rng.choice(rows, min(max_of_class, len(rows)), replace=False) for rows in by_class]
        turn = np.concatenate([np.arange(len(rows)) for rows in drawn])
        rows = np.concatenate(drawn)
        return cls(rows, labels[rows], turn, n_classes)

    def screen(self) -> _ClassSample:
        """Return the first rows of each class, for a quick look."""
        max_of_class = max(_LEAST_OF_CLASS, _SCREEN // self.n_classes)
        few = self.turn < max_of_class
        return _ClassSample(self.rows[few], self.labels[few], self.turn[few], self.n_classes)

    def balanced_accuracy(self, values: FloatArray, kind: str) -> float:
        """Return how well one column predicts the class of unseen rows, classes counted alike.

        The prediction for a value is the class that has it most often in the other half. A number
        is read as the nearest one there; a category that the other half lacks counts as wrong.
        Classes with fewer than 20 rows do not count; the result is 0 if fewer than two remain.

        Parameters
        ----------
        values : ndarray of shape (n_sampled,)
            The column, as in `_CountedTable.sampled`.
        kind : {"number", "truth", "category"}
        """
        sizes = np.bincount(self.labels, minlength=self.n_classes)
        large = sizes >= _LEAST_OF_CLASS
        if large.sum() < 2:
            return 0.0
        correct = np.zeros(self.n_classes)
        for half in (self.turn % 2 == 0, self.turn % 2 == 1):
            labels, unseen, asked = self.labels[half], self.labels[~half], values[~half]
            known, place = np.unique(values[half], return_inverse=True)
            cells = place * self.n_classes + labels
            counts = np.bincount(cells, minlength=known.size * self.n_classes)
            of_class = np.bincount(labels, minlength=self.n_classes)
            shares = counts.reshape(-1, self.n_classes) / np.maximum(1, of_class)
            # The neighbours of each number in the sorted ones, at the ends the same one twice.
            right = np.searchsorted(known, asked).clip(0, known.size - 1)
            left = (right - 1).clip(0)
            near = np.where(asked - known[left] < known[right] - asked, left, right)
            predicted = shares.argmax(axis=1)[near]
            if kind == "category":
                predicted[known[near] != asked] = -1
            correct += np.bincount(unseen[predicted == unseen], minlength=self.n_classes)
        return float(np.mean(correct[large] / sizes[large]))


def is_numbering(name: str, values: FloatArray) -> bool:
    """Tell whether numbers look like those of an id.

    They are whole, and at least nine in ten differ. They also rise or fall from row to row, or
    leave few numbers out, or the column is called an id.
    """
    n_rows, n_different = len(values), np.unique(values).size
    if not (values == np.floor(values)).all() or n_different < _OWN_VALUE * n_rows:
        return False
    steps = np.diff(values)
    # A table may be sorted by a measurement, but then some of its values repeat.
    in_order = bool((steps > 0).all() or (steps < 0).all())
    # Ids need not begin at 0 nor be complete, but they leave few numbers out. If some repeat, of as
    # many measurements in so short a range more would.
    longest = 2 if n_different == n_rows else 1.5
    dense = float(values.max() - values.min()) < longest * n_rows
    return in_order or dense or _ID_NAME.search(name) is not None


def _look_alikes(columns: Sequence[FloatArray]) -> list[list[int]]:
    """Return the positions of columns that may tell the same; `is_copy` confirms it on all rows."""
    if not columns:
        return []
    weights = np.random.default_rng(_SEED).normal(size=len(columns[0]))
    # A number that columns share if they tell the same, hardly else; NaN for constants.
    marks = np.full(len(columns), np.nan)
    for i, column in enumerate(columns):
        centred = _centred(column)
        if size := float(np.sqrt(centred @ centred)):
            # Scaled and without its sign, so that multiples, also negative ones, have the same
            # mark.
            marks[i] = abs(float(centred @ weights)) / size
    order = np.argsort(marks, kind="stable")
    apart = np.flatnonzero(~(np.diff(marks[order]) < 1e-7)) + 1  # written so that NaN is apart
    return [part.tolist() for part in np.split(order, apart) if len(part) > 1]


def is_copy(one: FloatArray, other: FloatArray) -> bool:
    """Tell whether one column is a multiple of another, plus a constant.

    Examples
    --------
    >>> celsius = np.array([20.0, 21.5, 37.0])
    >>> is_copy(celsius, 32 + 1.8 * celsius)
    True
    """
    x, y = _centred(one), _centred(other)
    if not x.any() or not y.any():
        return False
    # What is left of one column after the best multiple of the other.
    rest = y - x * ((x @ y) / (x @ x))
    return bool(np.abs(rest).max() <= _SAME * np.abs(y).max())


def _centred(column: FloatArray) -> FloatArray:
    """Return values around 0 of a size that cannot overflow."""
    scaled = column / (float(np.abs(column).max(initial=0.0)) or 1.0)
    centred: FloatArray = scaled - scaled.mean()
    return centred


def _plain(code: ColumnCode, values: FloatArray) -> FloatArray:
    """Return values to compare; categories are numbered as they appear, so names do not matter."""
    if code.kind != "category":
        return values
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first))
    # Rank by first appearance, so that two columns with other names for the same categories agree.
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: FloatArray = rank[place]
    return numbered
