"""Results by class: how the rows of each class were labelled, and how many were rejected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray, IntArray, LabelArray
from emsco.data.frames import Columns, Tabular

CHANCE = 1.645  # standard errors that chance exceeds once in 20
_LARGEST = 2**63 - 1  # count that a file may have


@dataclass(frozen=True, slots=True)
class ByClass(Tabular):
    """Confusion matrix with a column for rejected rows, and the shares that follow from it.

    Arrays have one entry per class, in the order of `labels`. A share of nothing is 0.

    Attributes
    ----------
    labels : tuple
        The classes.
    counts : tuple of tuple of int or float
        One line per true class: rows that got each label, then rejected rows. With sample
        weights, their total weight.

    Examples
    --------
    >>> truth, given = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 2, 1, 0])
    >>> by_class = ByClass.from_labels(("well", "ill"), truth, given)
    >>> by_class.counts
    ((2, 0, 1), (1, 1, 0))
    >>> by_class.recall.tolist(), by_class.commonest, by_class.commonest_share
    ([0.6666666666666666, 0.5], 'well', 0.6)
    """

    labels: tuple[object, ...]
    counts: tuple[tuple[float, ...], ...]

    @classmethod
    def from_labels(
        cls,
        labels: Sequence[object],
        truth: IntArray,
        given: IntArray | LabelArray,
        weights: FloatArray | None = None,
    ) -> Self:
        """Count rows by their true class and the label they got.

        Both are positions in `labels`; a given label of ``len(labels)`` marks a rejected row.
        """
        n = len(labels)
        # One number for each pair of true class and label, rejection included.
        counts = np.bincount(truth * (n + 1) + given, weights, n * (n + 1))
        return cls.from_matrix(labels, counts.reshape(n, n + 1))

    @classmethod
    def from_matrix(cls, labels: Sequence[object], counts: AnyArray) -> Self:
        """Take the counts from an array."""
        return cls(tuple(labels), tuple(map(tuple, counts.tolist())))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Add up the counts of several sets of rows."""
        return cls.from_matrix(parts[0].labels, np.sum([part.counts for part in parts], axis=0))

    @classmethod
    def from_dict(cls, fields: Fields, name: str, labels: Sequence[object]) -> Self:
        """Read counts from a file and check that they have a line per class."""
        n, lines = len(labels), fields.items(name)
        shape = [len(line) if isinstance(line, list) else 0 for line in lines]
        if shape != [n + 1] * n or not all(
            type(value) in (int, float) and 0 <= value <= _LARGEST
            for line in lines
            for value in line
        ):
            fields.refuse(name, f"{n} lists of {n + 1} numbers, all at least 0", lines)
        return cls(tuple(labels), tuple(map(tuple, lines)))

    def all_rejected(self) -> Self:
        """Return the results of rejecting all of these rows."""
        n = len(self.labels)
        return self.from_matrix(self.labels, np.outer(self.rows, np.arange(n + 1) == n))

    def to_lists(self) -> list[list[float]]:
        """Return the counts as plain lists, for a file."""
        return [list(line) for line in self.counts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the attributes, and the shares that follow from them."""
        return {
            "labels": list(self.labels),
            "counts": self.to_lists(),
            "coverage": self.coverage.tolist(),
            "recall": self.recall.tolist(),
            "precision": self.precision.tolist(),
            "commonest": self.commonest,
            "commonest_share": self.commonest_share,
            "beats_commonest": self.beats_commonest,
        }

    @property
    def matrix(self) -> FloatArray:
        """The counts as an array."""
        return np.array(self.counts, dtype=np.float64)

    @property
    def rows(self) -> FloatArray:
        """Rows of each class."""
        return np.asarray(self.matrix.sum(axis=1))

    @property
    def answered(self) -> FloatArray:
        """Rows of each class that got a label, right or wrong."""
        return np.asarray(self.matrix[:, :-1].sum(axis=1))

    @property
    def given(self) -> FloatArray:
        """Rows that got each label."""
        return np.asarray(self.matrix[:, :-1].sum(axis=0))

    @property
    def correct(self) -> FloatArray:
        """Rows of each class that got the correct label."""
        return np.diagonal(self.matrix)

    @property
    def recall(self) -> FloatArray:
        """Share of each class that got the correct label; rejected rows count as not found."""
        return _share(self.correct, self.rows)

    @property
    def precision(self) -> FloatArray:
        """Share of the rows given each label that belong to it."""
        return _share(self.correct, self.given)

    @property
    def coverage(self) -> FloatArray:
        """Share of each class that got a label, right or wrong."""
        return _share(self.answered, self.rows)

    @property
    def accuracy(self) -> float:
        """Share of the labels given that are correct."""
        return min(1.0, float(self.correct.sum()) / (float(self.answered.sum()) or 1.0))

    @property
    def balanced_accuracy(self) -> float:
        """Mean over the classes of the share of answered rows that are correct."""
        return float(_share(self.correct, self.answered).mean())

    @property
    def commonest(self) -> object:
        """The class with most rows, the first of equals."""
        return self.labels[int(self.rows.argmax())]

    @property
    def commonest_share(self) -> float:
        """Share of the rows in the commonest class: the accuracy of always answering with it."""
        return float(self.rows.max() / (self.rows.sum() or 1.0))

    @property
    def beats_commonest(self) -> bool:
        """Whether labels are correct more often than always answering with the commonest class.

        They may be so over all labels, or as a mean over the classes: labels that find a rare
        class are better even if the commonest class alone would be correct more often. The
        difference must be larger than chance explains, see `is_beyond`.
        """
        n_answered = float(self.answered.sum())
        if is_beyond(self.commonest_share, self.accuracy, n_answered):
            return True
        there = self.answered > 0
        n, answered = int(there.sum()), self.answered[there]
        if n < 2:
            return False
        mean = float((self.correct[there] / answered).mean())
        # Labels that know nothing give each class the same mix of labels.
        mix = self.given[there] / n_answered
        error = math.sqrt(float((mix * (1 - mix) / answered).sum())) / n
        half_a_row = 0.5 / (n * float(answered.min()))  # rows come one by one
        return mean - 1 / n - half_a_row > CHANCE * error

    def columns(self) -> Columns:
        """Return one line per class: its rows, its shares, and the confusion matrix."""
        counts = np.array(self.counts)  # whole numbers stay whole
        said = {f"called {label}": counts[:, i] for i, label in enumerate(self.labels)}
        return {
            "class": list(self.labels),
            "rows": self.rows,
            "coverage": self.coverage,
            "recall": self.recall,
            "precision": self.precision,
            **said,
            "rejected": counts[:, -1],
        }


def is_beyond(share: float, accuracy: float, n_rows: float) -> bool:
    """Tell whether an accuracy is above a share by more than chance explains.

    It must be above by more than 1.645 of the standard errors that labels would have if they were
    correct no more often than that share: chance alone goes so far once in 20 times.

    Parameters
    ----------
    share : float
        Accuracy to beat, such as the share of the commonest class.
    accuracy : float
        Share of `n_rows` labels that are correct.
    n_rows : float
        Rows with a label; with sample weights, their total weight.

    Examples
    --------
    >>> is_beyond(0.76, accuracy=0.80, n_rows=100), is_beyond(0.76, accuracy=0.80, n_rows=1000)
    (False, True)
    """
    if n_rows <= 0:
        return False
    return accuracy - share > CHANCE * math.sqrt(share * (1 - share) / n_rows)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
