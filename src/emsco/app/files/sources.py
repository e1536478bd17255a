"""Rows and costs of a search: one file that is split, or several files."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from emsco._base.digests import fingerprint
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray, Kind
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.table_files import by_line, joined, read_labelled, settled_reading
from emsco.costs import FeatureCosts
from emsco.costs.features import MissingCosts
from emsco.data.columns import MOST_CATEGORIES
from emsco.data.encoding import Encoding
from emsco.data.issues import (
    DataIssue,
    data_issues_of,
    id_issue,
    left_out_warning,
    to_leave_out,
)
from emsco.data.labels import as_classes, check_classes
from emsco.data.rows import arrow_kind, check_named, column_weights
from emsco.data.training import TrainingData
from emsco.errors import CostsError, DataError, ParameterError


@dataclass(frozen=True, slots=True)
class FitFiles:
    """Files, or folders of Parquet files, with the rows and costs of a search.

    Give one file that is split (`data`), or one file each for training and scoring (`train` and
    `val`).

    Attributes
    ----------
    target : str
        Column with the labels.
    data : path or None
        Rows that are split into training rows and scored rows.
    train, val : path or None
        Training rows, and scored rows.
    test : path or None
        Test rows, on which the front is checked.
    costs : path or None
        File of costs, see `FeatureCosts.from_file`; None means 1 for each feature.
    drop : tuple of str
        Columns that are not features, such as an id; their costs are ignored.
    weights : str or None
        Column with the sample weights, which is not a feature.
    keep : tuple of str or None
        Columns to keep although they look like a leak, an id or a copy; others that do are left
        out, with a warning. None keeps all.
    reading : Reading
        What is known about the form of CSV files, and whether dates become numbers.
    """

    target: str
    data: PathLike | None = None
    train: PathLike | None = None
    val: PathLike | None = None
    test: PathLike | None = None
    costs: PathLike | None = None
    drop: tuple[str, ...] = ()
    weights: str | None = None
    keep: tuple[str, ...] | None = None
    reading: Reading = AS_FOUND

    def __post_init__(self) -> None:
        """Refuse files that contradict each other."""
        if (self.data is None) == (self.train is None):
            got = "neither" if self.data is None else "both"
            raise ParameterError(f"train must be given if data is not, and only then, got {got}.")
        if self.train is not None and self.val is None:
            raise ParameterError(
                "val must be given beside train, got none; a file given as data is split."
            )
        if self.train is None and self.val is not None:
            raise ParameterError(
                f"val must be given beside train, got data; give {self.data} as train, or "
                f"{self.val} as test for rows to test on."
            )
        if self.target in self.drop:
            raise ParameterError(
                f"drop must leave out other columns than target, got {self.target!r} for both."
            )
        if self.weights is not None and self.weights in (self.target, *self.drop):
            raise ParameterError(
                "weights must be another column than those of target and drop, got "
                f"{self.weights!r}."
            )
        not_features = (self.target, *self.drop, self.weights)
        if bad := [name for name in self.keep or () if name in not_features]:
            raise ParameterError(f"keep must name features, got {bad[0]!r}.")

    def read(self, cv: Any, gaps: str = "refuse") -> RowsOfFiles:
        """Read and check all rows; `cv` says how to split them, unless `val` names a file."""
        path = self.data if self.train is None else self.train
        assert path is not None  # checked above
        # Day and month are settled by the first file, so that all files are read alike.
        settled = replace(self, reading=settled_reading(path, self.reading, self.drop))
        table, y, names = read_labelled(path, self.target, drop=self.drop, reading=settled.reading)
        with by_line(path, settled.reading):
            table, weights = self._take_weights(table, path)
            names = tuple(name for name in names if name != self.weights)
            # Classes before costs, as a wrong target is the commoner mistake.
            classes = self._classes(y, path)
            costs, lacking = self.costs_of(names)
            left_out: tuple[DataIssue, ...] = ()
            if self.keep is not None:
                check_named(names, self.keep, str(path))
                left_out = _odd_columns(table, y, weights, costs, self.keep)
            odd = [one.subject for one in left_out]
            check_left_out(lacking, odd)
            if left_out:
                warnings.warn(left_out_warning(left_out), stacklevel=3)
                table, costs = table.drop_columns(odd), costs.without(odd)
            encoding = Encoding.learn(table, costs, gaps, str(path), 1)
            rows = [encoding.rows(table, 1, str(path))]
            priced = costs.price_columns
            if priced:
                rows.append(costs.prices_of(table, len(y), first_row=1))
            if self.val is not None:
                more = settled.read_more(self.val, encoding, classes, priced)
                rows.append(encoding.rows(more.table, 1, str(self.val)))
                # Scored rows are those of the second file: one split, no folds.
                cv = [(np.arange(len(y)), np.arange(len(y), len(y) + len(more.y)))]
                table, y = joined(table, more.table), np.concatenate([y, more.y])
                weights = None if weights is None else np.concatenate([weights, more.weights])
            test = None
            if self.test is not None:
                test = settled.read_more(self.test, encoding, classes, priced)
            # Prices belong to the data: other prices are another search.
            data, labelled = fingerprint(*rows, y), Labelled(table, y, weights)
            return RowsOfFiles(labelled, cv, test, costs, data, settled.reading, left_out)

    def costs_of(self, names: tuple[str, ...]) -> tuple[FeatureCosts, MissingCosts | None]:
        """Return the costs of the columns `names`, and what to say about those without one.

        These are more expensive than all others together. Costs of columns that are no features are
        ignored.
        """
        if self.costs is None:
            return FeatureCosts.resolve(None, names), None
        others = [self.target, *self.drop, *([] if self.weights is None else [self.weights])]
        try:
            given = FeatureCosts.from_file(self.costs, names, others)
        except MissingCosts as error:
            there = [name for name in names if name not in error.columns]
            if not there or not error.columns:
                raise
            given = FeatureCosts.from_file(self.costs, there, others)
            return given.with_expensive(error.columns), error
        return FeatureCosts.resolve(given, names), None

    def read_more(
        self,
        path: PathLike,
        encoding: Encoding,
        classes: AnyArray,
        prices: tuple[str, ...] = (),
    ) -> Labelled:
        """Read and check the rows of another file with the same columns; some may hold prices."""
        more = [*prices, *([] if self.weights is None else [self.weights])]
        # A column of prices or weights may be a feature as well.
        names = list(dict.fromkeys([*encoding.columns, *more]))
        kinds: dict[str, Kind] = {**dict.fromkeys(more, "number"), **encoding.kinds}
        table, y, _ = read_labelled(
            path, self.target, names, kinds=kinds, classes=classes, reading=self.reading
        )
        with by_line(path, self.reading):
            table, weights = self._take_weights(table, path)
            encoding.rows(table, 1, str(path))  # only for its checks, whose messages name the file
            return Labelled(table, as_classes(y, classes, path), weights)

    def _take_weights(self, table: pa.Table, path: PathLike) -> tuple[pa.Table, FloatArray | None]:
        """Return the table without its column of weights, and the weights."""
        if self.weights is None:
            return table, None
        weights = column_weights(table, self.weights, str(path), first_row=1)
        return table.drop_columns([self.weights]), weights

    def _classes(self, y: AnyArray, path: PathLike) -> AnyArray:
        """Return the distinct labels; refuse too few, too many, and fractions."""
        classes, labels = np.unique(y, return_inverse=True)
        where = f"in column {self.target!r}"
        if len(classes) < 2:
            raise DataError(
                f"{path} must have labels of two classes or more {where}, got "
                f"{len(classes)} ({', '.join(map(repr, classes.tolist()))})."
            )
        # Fractions are measurements; a classifier would make a class of each.
        if y.dtype.kind == "f" and (measured := y[y != np.floor(y)]).size:
            raise DataError(
                f"{path} must have classes {where}, got numbers such as {measured[0].item()!r}; "
                "make classes of it first, such as low and high."
            )
        check_classes(classes, labels, f"{path} must have", f" {where}")
        return classes


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Rows of a file with their labels, and their weights if any.

    Attributes
    ----------
    table : pyarrow.Table
    y : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,) or None
    """

    table: pa.Table
    y: AnyArray
    weights: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfFiles:
    """Rows and costs of all files.

    Attributes
    ----------
    rows : Labelled
        Training rows and scored rows together.
    cv : "auto", float, int or list of splits
        How to split them, as for `EMSCOClassifier`.
    test : Labelled or None
    costs : FeatureCosts
    data : str
        Digest of rows, prices and labels.
    reading : Reading
        As told, with the order of day and month that dates have.
    left_out : tuple of DataIssue
        Columns that were left out, and why.
    """

    rows: Labelled
    cv: Any
    test: Labelled | None
    costs: FeatureCosts
    data: str
    reading: Reading = AS_FOUND
    left_out: tuple[DataIssue, ...] = ()


def check_left_out(lacking: MissingCosts | None, left_out: Collection[str]) -> None:
    """Raise what is said about columns without a cost, unless all of them are left out."""
    if lacking is not None and not set(lacking.columns).issubset(left_out):
        raise lacking


def _odd_columns(
    table: pa.Table,
    y: AnyArray,
    weights: FloatArray | None,
    costs: FeatureCosts,
    keep: Collection[str],
) -> tuple[DataIssue, ...]:
    """Return the columns to leave out; none if nothing that costs anything would be left.

    Ids of more texts than a fit takes are found first: the other columns can be encoded only
    without them. Missing values hide no odd column: whoever encodes the others refuses them. Rows
    that cannot be encoded have no odd columns; whoever encodes them says why.
    """
    odd = []
    for name in costs.table:
        column = table.column(name)
        if name in keep or arrow_kind(column) != "category":
            continue
        n_texts = compute.count_distinct(column).as_py()
        if n_texts > MOST_CATEGORIES and (issue := id_issue(name, n_texts, len(y))):
            odd.append(issue)
    ids = [one.subject for one in odd]
    try:
        rest = costs.without(ids)
        data = TrainingData.from_table(table.drop_columns(ids), y, weights, rest, "impute")
        odd += to_leave_out(data_issues_of(data), keep)
        costs.without([one.subject for one in odd])  # refuses to cost nothing
    except (CostsError, DataError):
        return ()
    return tuple(odd)
