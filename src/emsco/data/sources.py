"""Rows and costs of a search, read from files: one that is split, or files of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.digests import fingerprint
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.labels import as_classes
from emsco.data.rows import column_rows, warn_of_ids
from emsco.data.tables import joined, read_labelled
from emsco.designs.thresholds import MOST_CLASSES
from emsco.errors import DataError, Parameter, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FitFiles", "Labelled", "RowsOfFiles"]


@dataclass(frozen=True, slots=True)
class FitFiles:
    """Where rows and costs come from: one file that is split, or files of one's own.

    Attributes
    ----------
    target : str
        The column with the labels.
    data : path or None
        Rows to fit on and to score designs on.
    train, val : path or None
        The same from two files.
    test : path or None
        Rows that neither sees, on which the designs found are tested.
    costs : path or None
        See `FeatureCosts.from_file`; None means 1 each.
    drop : tuple of str
        Columns that are no features, such as an id; costs that they may have are ignored.
    weights : str or None
        Column that says how much each row counts; no feature.
    """

    target: str
    data: PathLike | None = None
    train: PathLike | None = None
    val: PathLike | None = None
    test: PathLike | None = None
    costs: PathLike | None = None
    drop: tuple[str, ...] = ()
    weights: str | None = None

    def __post_init__(self) -> None:
        """Refuse files that contradict each other."""
        data, train = Parameter("data"), Parameter("train")
        if (self.data is None) == (self.train is None):
            got = "neither" if self.data is None else "both"
            raise ParameterError("either ", data, " or ", train, f" must be given, got {got}.")
        beside = ("be given beside ", train)
        if self.train is not None and self.val is None:
            split = ("a file given as ", data, " is split")
            raise refused("val", beside, None, got="none", hint=split)
        if self.train is None and self.val is not None:
            give = (f"give {self.data} as ", train, f", or {self.val} as ", Parameter("test"))
            raise refused("val", beside, self.val, got=data, hint=(*give, " for rows to test on"))
        if self.weights is not None and self.weights in (self.target, *self.drop):
            others = (Parameter("target"), " and ", Parameter("drop"))
            rule = ("be another column than those of ", *others)
            raise refused("weights", rule, self.weights)

    def read(self, held_out: float, gaps: str = "refuse") -> RowsOfFiles:
        """All rows, and how they are split; every value is checked."""
        path = self.data if self.train is None else self.train
        if path is None:
            raise AssertionError("checked above")
        table, y, names = read_labelled(path, self.target, drop=self.drop)
        table, weights = self._take_weights(table, path)
        names = tuple(name for name in names if name != self.weights)
        classes = _classes(y, f"in column {self.target!r}", path)
        if self.costs is None:
            warn_of_ids(table)
        costs = None if self.costs is None else FeatureCosts.from_file(self.costs, names, self.drop)
        costs = FeatureCosts.resolve(costs, names)
        encoding = Encoding.learn(table, costs, gaps, str(path))
        rows = [encoding.rows(table, 1, str(path))]
        cv: Any = held_out
        if self.val is not None:
            more = self.read_more(self.val, encoding, classes)
            rows.append(encoding.rows(more.table, 1, str(self.val)))
            cv = [(np.arange(len(y)), np.arange(len(y), len(y) + len(more.y)))]
            table, y = joined(table, more.table), np.concatenate([y, more.y])
            weights = None if weights is None else np.concatenate([weights, more.weights])
        test = None if self.test is None else self.read_more(self.test, encoding, classes)
        data = fingerprint(*rows, y)
        return RowsOfFiles(Labelled(table, y, weights), cv, test, costs, data)

    def read_more(self, path: PathLike, encoding: Encoding, classes: AnyArray) -> Labelled:
        """Rows of another file with the same columns."""
        names = [*encoding.columns, *([] if self.weights is None else [self.weights])]
        kinds = dict(encoding.kinds)
        if self.weights is not None:
            kinds[self.weights] = "number"
        table, y, _ = read_labelled(path, self.target, names, kinds=kinds, classes=classes)
        table, weights = self._take_weights(table, path)
        encoding.rows(table, 1, str(path))  # for its checks, which name the file
        return Labelled(table, as_classes(y, classes, path), weights)

    def _take_weights(self, table: pa.Table, path: PathLike) -> tuple[pa.Table, FloatArray | None]:
        """The table without its column of weights, and that."""
        if self.weights is None:
            return table, None
        weights = column_rows(table, self.weights, str(path), first_row=1)
        return table.drop_columns([self.weights]), weights


def _classes(y: AnyArray, where: str, path: PathLike) -> AnyArray:
    """Different labels, as many as there may be; numbers that are measured are none."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise DataError(
            f"{path} must have labels of two classes or more {where}, got "
            f"{len(classes)} ({', '.join(map(repr, classes.tolist()))})."
        )
    if y.dtype.kind == "f" and (measured := y[y != np.floor(y)]).size:
        raise DataError(
            f"{path} must have classes {where}, got numbers such as {measured[0].item()!r}; ",
            Parameter("target"),
            " names another column.",
        )
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"{path} must have at most {MOST_CLASSES} classes {where}, got {len(classes)}."
        )
    return classes


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Rows of a file, with their labels and perhaps weights."""

    table: pa.Table
    y: AnyArray
    weights: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfFiles:
    """All that files hold, how it is split, and a digest of it."""

    rows: Labelled
    cv: Any
    test: Labelled | None
    costs: FeatureCosts
    data: str
