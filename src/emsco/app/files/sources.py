"""Rows and costs of a search: one file that is split, several files, or a folder of Parquet."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from pyarrow import compute

from emsco._base.checks import refused
from emsco._base.digests import DIGEST, fingerprint
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray, Kind
from emsco.app.files.parquet import ParquetFile
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.table_files import by_line, joined, open_table, read_labelled, settled_reading
from emsco.costs import FeatureCosts
from emsco.costs.features import MissingCosts
from emsco.costs.prices import prices_of_rows
from emsco.data.columns import MOST_CATEGORIES
from emsco.data.encoding import Encoding, PartedTable
from emsco.data.issues import (
    DataIssue,
    data_issues_of,
    id_of_texts,
    left_out_warning,
    to_leave_out,
)
from emsco.data.labels import as_classes, check_classes, labels_of
from emsco.data.rows import arrow_kind, check_named, column_weights
from emsco.data.training import TrainingData
from emsco.errors import (
    CostsError,
    DataError,
    FileError,
    Hint,
    Parameter,
    ParameterError,
    ReadingWarning,
    Remedy,
)
from emsco.scale.disk import fits_into_memory, on_disk


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """A row group of a file: the number of its first row in the file, from 1, and its rows."""

    path: Path
    group: int
    first_row: int
    n_rows: int


class ParquetFolder(PartedTable):
    """The Parquet files of a folder, in the order of their names.

    Parameters
    ----------
    folder : path
    reading : Reading, optional
        Whether dates become numbers.

    Attributes
    ----------
    names : tuple of str
        Columns, of which `only` takes some.
    """

    def __init__(self, folder: PathLike, reading: Reading = AS_FOUND) -> None:
        # By name, so that the same folder is read in the same order on any machine.
        files = sorted(
            path
            for path in Path(folder).iterdir()
            if path.name.lower().endswith((".parquet", ".pq"))
        )
        if not files:
            raise FileError(f"{folder} must be a folder of Parquet files, got none in it.")
        self.folder, self.reading, self.files = Path(folder), reading, files
        self.what = str(folder)
        self._parts: list[_RowGroup] = []
        for path in files:
            with open_table(path, reading) as opened:
                file = cast(ParquetFile, opened)
                if path == files[0]:
                    self.names, self.shell = file.names, file.schema.empty_table()
                # The first file sets the columns; a column in some files only would be missing in
                # others.
                rule = f"{path} must have the columns of {files[0].name}"
                if missing := [name for name in self.names if name not in file.names]:
                    raise DataError(f"{rule}, got no {missing[0]!r}.")
                if more := [name for name in file.names if name not in self.names]:
                    raise DataError(f"{rule}, got {more[0]!r} too.")
                self._parts += [
                    _RowGroup(path, group, first, n_rows)
                    for group, (first, n_rows) in enumerate(file.row_groups())
                    # Empty row groups have no rows to learn from.
                    if n_rows
                ]
        self.parts = [str(part.path) for part in self._parts]
        self.places = [(part.first_row, str(part.path)) for part in self._parts]

    def __len__(self) -> int:
        return sum(part.n_rows for part in self._parts)

    def only(self, names: Sequence[str]) -> ParquetFolder:
        """Return the table of some columns."""
        # Files are shared, not read again.
        narrower = copy(self)
        narrower.names, narrower.shell = tuple(names), self.shell.select(list(names))
        return narrower

    def run(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(part, *shared, *more)`` of each row group; `each` holds `more`."""
        return [
            # A row group at a time is in memory, whatever the size of the folder.
            function(self._read(part, self.names), *shared, *more)
            for part, more in zip(self._parts, each or repeat(()), strict=False)
        ]

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows as a table in memory."""
        return joined(*(self._read(part, names) for part in self._parts))

    def labels(self, target: str) -> AnyArray:
        """Return the labels of all files, which must be of one type."""
        of_files: dict[Path, AnyArray] = {}
        for path, parts in groupby(self._parts, key=lambda part: part.path):
            of_parts = [
                labels_of(self._read(part, [target]).column(target), path, part.first_row)
                for part in parts
            ]
            of_files[path] = np.concatenate(of_parts)
        if not of_files:
            raise DataError(f"{self.folder} must have rows, got none.")
        first, first_labels = next(iter(of_files.items()))
        for path, labels in of_files.items():
            # Numbers and text must not meet: as one array, numbers would become text.
            if (labels.dtype.kind == "U") != (first_labels.dtype.kind == "U"):
                raise DataError(
                    f"{self.folder} must have labels of one type in column {target!r}, got "
                    f"{first_labels[0].item()!r} in {first.name} and {labels[0].item()!r} in "
                    f"{path.name}."
                )
        return np.concatenate(list(of_files.values()))

    def rows(self, encoding: Encoding) -> Any:
        """Return the inputs of all rows: in memory if they fit, else on disk."""
        n_rows, n_inputs = len(self), encoding.n_inputs
        if not fits_into_memory(n_rows * n_inputs):
            said = f"{self.folder} is larger than memory, so its rows stay on disk"
            warnings.warn(ReadingWarning(f"{said}; stages are logistic."), stacklevel=6)
            return on_disk(self._encoded(encoding), n_rows, n_inputs)
        rows, first = np.empty((n_rows, n_inputs)), 0
        for block in self._encoded(encoding):
            rows[first : first + len(block)] = block
            first += len(block)
        return rows

    def fingerprint(self) -> str:
        """Return a digest of the names and contents of all files."""
        digest = hashlib.sha256()
        for path in self.files:
            # Names count, too: they set the order of the rows.
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return DIGEST + digest.hexdigest()

    def _encoded(self, encoding: Encoding) -> Iterator[FloatArray]:
        for part in self._parts:
            table = self._read(part, self.names)
            yield encoding.rows(table, part.first_row, str(part.path))

    def _read(self, part: _RowGroup, names: Sequence[str]) -> pa.Table:
        with open_table(part.path, self.reading) as file:
            return cast(ParquetFile, file).read_group(part.group, names)


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
    keep : tuple of str or None
        Columns to keep although they look like a leak, an id or a copy; others that do are left
        out, with a warning. None keeps all. A folder is not looked at.
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
        not_features = (self.target, *self.drop, self.weights)
        if bad := [name for name in self.keep or () if name in not_features]:
            raise refused("keep", "name features", self.keep, got=repr(bad[0]))

    def read(self, cv: Any, gaps: str = "refuse", *, folders: bool = False) -> RowsOfFiles:
        """Read and check all rows; `cv` says how to split them, unless `val` names a file.

        With `folders`, `data` may be a folder of Parquet files, whose rows are not read yet.
        """
        if folders and self.data is not None and Path(self.data).is_dir():
            return self._read_folder(self.data, cv, gaps)
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
                rows.append(prices_of_rows(costs.prices, table, len(y), first_row=1))
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

    def _read_folder(self, path: PathLike, cv: Any, gaps: str) -> RowsOfFiles:
        folder = ParquetFolder(path, self.reading)
        others = [self.target, *self.drop, *([] if self.weights is None else [self.weights])]
        check_named(folder.names, others, folder.what)
        names = tuple(name for name in folder.names if name not in others)
        y, weights = folder.labels(self.target), None
        if self.weights is not None:
            weights = self._take_weights(folder.columns([self.weights]), path)[1]
        classes = self._classes(y, path)
        costs, lacking = self.costs_of(names)
        check_left_out(lacking, ())
        table = folder.only(names)
        test = None
        if self.test is not None:
            encoding = table.learn_encoding(costs, gaps)
            # Test rows are checked now, not after hours of search.
            test = self.read_more(self.test, encoding, classes, costs.price_columns)
        rows, data = Labelled(table, y, weights), folder.fingerprint()
        return RowsOfFiles(rows, cv, test, costs, data, self.reading)

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
                f"{path} must have classes {where}, got numbers such as {measured[0].item()!r}; ",
                Hint(Remedy.BINS),
                ".",
            )
        check_classes(classes, labels, f"{path} must have", f" {where}")
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
        issue = id_of_texts(name, n_texts, len(y)) if n_texts > MOST_CATEGORIES else None
        if issue is not None:
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
