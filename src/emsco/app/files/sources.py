"""Rows and costs of a search, read from one file that is split or from several files."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.digests import fingerprint
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray, Kind
from emsco.app.files.folders import ParquetFolder
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.tables import by_line, joined, read_labelled, settled_reading
from emsco.costs import FeatureCosts
from emsco.costs.prices import prices_of_rows
from emsco.data.encoding import Encoding
from emsco.data.labels import as_classes
from emsco.data.rows import check_named, column_weights
from emsco.designs.thresholds import MOST_CLASSES
from emsco.errors import DataError, Parameter, ParameterError, ReadingWarning

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FitFiles:
    """Files with the rows and costs of a search.

    Give one file that is split (`data`), or one file each for training and scoring (`train` and
    `val`).

    Attributes
    ----------
    target : str
        Column with the labels.
    data : path or None
        Rows that are split into training rows and scored rows. A fit also takes a folder of
        Parquet files.
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
    reading: Reading = AS_FOUND

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
        if self.target in self.drop:
            other = ("leave out other columns than ", Parameter("target"))
            raise refused("drop", other, self.drop, got=f"{self.target!r} for both")
        if self.weights is not None and self.weights in (self.target, *self.drop):
            others = (Parameter("target"), " and ", Parameter("drop"))
            rule = ("be another column than those of ", *others)
            raise refused("weights", rule, self.weights)

    def read(self, cv: Any, gaps: str = "refuse", *, folders: bool = False) -> RowsOfFiles:
        """Read and check all rows; `cv` says how to split them, unless `val` names a file.

        With `folders`, `data` may be a folder of Parquet files, whose rows are not read yet.
        """
        if folders and self.data is not None and Path(self.data).is_dir():
            return self._read_folder(self.data, cv, gaps)
        path = self.data if self.train is None else self.train
        assert path is not None  # checked above
        settled = replace(self, reading=settled_reading(path, self.reading, self.drop))
        table, y, names = read_labelled(path, self.target, drop=self.drop, reading=settled.reading)
        with by_line(path, settled.reading):
            return settled._read(path, table, y, names, cv, gaps)

    def _read_folder(self, path: PathLike, cv: Any, gaps: str) -> RowsOfFiles:
        folder = ParquetFolder(path, self.reading)
        others = [self.target, *self.drop, *([] if self.weights is None else [self.weights])]
        check_named(folder.names, others, folder.what)
        names = tuple(name for name in folder.names if name not in others)
        y, weights = folder.labels(self.target), None
        if self.weights is not None:
            weights = self._take_weights(folder.columns([self.weights]), path)[1]
        classes = self._classes(y, path)
        costs, table = self._costs(names), folder.only(names)
        test = None
        if self.test is not None:
            encoding = table.learn_encoding(costs, gaps)
            test = self.read_more(self.test, encoding, classes, costs.price_columns)
        rows, data = Labelled(table, y, weights), folder.fingerprint()
        return RowsOfFiles(rows, cv, test, costs, data, self.reading)

    def _costs(self, names: tuple[str, ...]) -> FeatureCosts:
        costs = None if self.costs is None else FeatureCosts.from_file(self.costs, names, self.drop)
        return FeatureCosts.resolve(costs, names)

    def read_quietly(self, gaps: str = "refuse") -> Labelled:
        """Read the rows of `data` alone, without warnings about how the file was read."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadingWarning)
            return self.read("auto", gaps).rows

    def _read(
        self,
        path: PathLike,
        table: pa.Table,
        y: AnyArray,
        names: tuple[str, ...],
        cv: Any,
        gaps: str,
    ) -> RowsOfFiles:
        """Check the rows of a file, and read the other files."""
        table, weights = self._take_weights(table, path)
        names = tuple(name for name in names if name != self.weights)
        classes = self._classes(y, path)
        costs = self._costs(names)
        encoding = Encoding.learn(table, costs, gaps, str(path), 1)
        rows = [encoding.rows(table, 1, str(path))]
        priced = costs.price_columns
        if priced:
            rows.append(prices_of_rows(costs.prices, table, len(y), first_row=1))
        if self.val is not None:
            more = self.read_more(self.val, encoding, classes, priced)
            rows.append(encoding.rows(more.table, 1, str(self.val)))
            cv = [(np.arange(len(y)), np.arange(len(y), len(y) + len(more.y)))]
            table, y = joined(table, more.table), np.concatenate([y, more.y])
            weights = None if weights is None else np.concatenate([weights, more.weights])
        test = None
        if self.test is not None:
            test = self.read_more(self.test, encoding, classes, priced)
        data = fingerprint(*rows, y)
        return RowsOfFiles(Labelled(table, y, weights), cv, test, costs, data, self.reading)

    def read_more(
        self,
        path: PathLike,
        encoding: Encoding,
        classes: AnyArray,
        prices: tuple[str, ...] = (),
    ) -> Labelled:
        """Read and check the rows of another file with the same columns; some may hold prices."""
        more = [*prices, *([] if self.weights is None else [self.weights])]
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
        classes, where = np.unique(y), f"in column {self.target!r}"
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
    """Rows of a file or folder with their labels, and their weights if any.

    Attributes
    ----------
    table : pyarrow.Table or ParquetFolder
        A folder only if `FitFiles.read` was told that it may be one.
    y : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,) or None
    """

    table: Any
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
        Digest of rows, prices and labels; of a folder, digest of the names and bytes of its files.
    reading : Reading
        As told, with the order of day and month that dates have.
    """

    rows: Labelled
    cv: Any
    test: Labelled | None
    costs: FeatureCosts
    data: str
    reading: Reading = AS_FOUND
