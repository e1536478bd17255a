"""Look at a file before a fit: columns, classes, what looks wrong, and what a fit would take."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from emsco._base.documents import PathLike, write_text
from emsco._base.text import counted, listed, shorten, some
from emsco._base.typing import FloatArray
from emsco.app.files.csv import DATES, NUMBER, CsvFile
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.sources import FitFiles, check_left_out
from emsco.app.files.table_files import check_columns_there, column_names, open_table
from emsco.costs.features import MissingCosts
from emsco.data.columns import MOST_CATEGORIES
from emsco.data.dates import are_dates, date_order, days_of
from emsco.data.issues import DataIssue, accuracies_alone, data_issues_of, suspects, to_leave_out
from emsco.data.training import TrainingData
from emsco.errors import DataError, ParameterError, ReadingWarning
from emsco.estimator import EMSCOClassifier
from emsco.fitting import FitSettings
from emsco.fitting.forecast import FitForecast, forecast_fit

_COMMONEST, _WIDTH = 3, 14  # texts to show of a column, and letters of each
_HEADING = ("feature", "cost", "group", "fee", "fee_cost")
_SHORT = 4  # letters of a target's name that may be in another by chance
_UNNAMED = re.compile(r"column\d+|unnamed: \d+")  # names that readers make up, in small letters
# Zeros that may mean missing: so many at least, so far from all others. The distance is a share of
# the median, and a multiple of the usual step between small values.
_FEWEST_ZEROS = 3
_ZERO_SHARE, _ZERO_STEPS = 0.1, 5


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What is in a column.

    Attributes
    ----------
    name : str
    kind : {"number", "truth", "text", "date", "mixed", "empty", "other"}
    n_different, n_missing : int
        Different values, and rows without one.
    values : str
        The range of numbers, or the commonest texts with their counts.
    refusal : str
        Why a fit would refuse the column, and the way out; empty if it would not.
    only_text : str
        The only text among numbers, which may mean a missing value; else empty.
    n_odd_zeros : int
        Zeros that may mean missing values, since all other values lie far from 0.
    """

    name: str
    kind: str
    n_different: int
    n_missing: int
    values: str
    refusal: str = ""
    only_text: str = ""
    n_odd_zeros: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "different": self.n_different,
            "missing": self.n_missing,
            "values": self.values,
            "refused": self.refusal or None,
            "odd_zeros": self.n_odd_zeros,
        }


def profiles_of(
    path: PathLike, names: Sequence[str], reading: Reading = AS_FOUND
) -> tuple[int, tuple[ColumnProfile, ...]]:
    """Return the number of rows of a file, and a profile of each of the columns `names`.

    Nothing about a column is refused here, so that all columns can be looked at. A warning says
    what was noticed about a CSV file.
    """
    with open_table(path, reading) as file:
        table = file.read_leniently(names)
        if isinstance(file, CsvFile):
            file.warn_of_what_was_noticed(table, names)
            texts = [name for name in names if _is_text(table.column(name).type)]
            # Marks for missing values are read as such only in text; numbers have them already.
            table = file.with_missing(table, texts)
    told = reading.dates is not None
    return table.num_rows, tuple(_profile(name, table.column(name), told) for name in names)


def _profile(name: str, column: Any, dates_told: bool) -> ColumnProfile:
    kind, n_missing = column.type, int(column.is_null(nan_is_null=True).to_numpy().sum())
    if n_missing == len(column):
        return ColumnProfile(name, "empty", 0, n_missing, "", _refusal("has no value", name))
    # Categories of Parquet and pandas: the values behind them count.
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # Decimals are compared as floats, as a fit does.
        known = column.cast(pa.float64()).drop_null()
        ends = compute.min_max(known).as_py()
        values = f"{ends['min']:.6g} to {ends['max']:.6g}"
        n_different = int(compute.count_distinct(known).as_py())
        n_zeros = n_odd_zeros(known.to_numpy())
        return ColumnProfile(name, "number", n_different, n_missing, values, n_odd_zeros=n_zeros)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = column.cast(pa.string())
    elif not _is_text(kind) and not pa.types.is_boolean(kind):
        why = _refusal(f"holds {kind}, neither numbers nor text", name)
        return ColumnProfile(name, "other", 0, n_missing, "", why)
    pairs = compute.value_counts(column.drop_null()).to_pylist()
    counts = Counter({one["values"]: one["counts"] for one in pairs})
    if pa.types.is_boolean(kind):
        values = ", ".join(f"{str(value).lower()} {n:,}" for value, n in counts.most_common())
        return ColumnProfile(name, "truth", len(counts), n_missing, values)
    common = [f"{shorten(text, _WIDTH)} {n:,}" for text, n in counts.most_common(_COMMONEST)]
    holds, values = "text", listed(common, _COMMONEST)
    refusal = ""
    only_text = ""
    # Texts that are no numbers. If all or none are, the column is of one kind.
    other = [text for text in counts if not NUMBER.fullmatch(text)]
    if are_dates(counts):
        # If both orders are possible, either gives a range that is good enough to look at.
        order = date_order(counts) or "day-first"
        day = {text: days_of(text, order) or 0.0 for text in counts}
        values = f"{min(counts, key=day.__getitem__)} to {max(counts, key=day.__getitem__)}"
        holds = "date"
        if not dates_told:
            refusal = f"column {name!r} holds dates; {DATES}, or drop {name!r}."
    elif 0 < len(other) < len(counts):
        holds = "mixed"
        row = compute.index(column, pa.scalar(other[0], kind)).as_py() + 1
        refusal = (
            f"column {name!r} mixes numbers and text such as {other[0]!r} in row {row:,}; "
            f"na {other[0]!r} makes it a missing value."
        )
        only_text = other[0] if len(other) == 1 else ""
    elif len(counts) > MOST_CATEGORIES:
        refusal = _refusal(f"has {counted(len(counts), 'different text')}, too many", name)
    return ColumnProfile(name, holds, len(counts), n_missing, values, refusal, only_text)


def n_odd_zeros(values: FloatArray) -> int:
    """Count zeros that may mean missing values; 0 if they look like any other value.

    They are at most half of the values. All others lie far above 0: the smallest is at least a
    tenth of their median, and five of the usual steps between the smaller half of the values.

    Examples
    --------
    >>> n_odd_zeros(np.array([0, 0, 0, 62, 64, 66, 70, 72.0]))
    3
    >>> n_odd_zeros(np.array([0, 0, 0, 1, 2, 3, 4, 8.0]))
    0
    """
    zero = values == 0
    others = np.unique(values[~zero])
    n_zeros = int(zero.sum())
    few = n_zeros < _FEWEST_ZEROS or len(others) < _FEWEST_ZEROS
    if few or others[0] < 0 or n_zeros > len(values) / 2:
        return 0
    steps = np.diff(others[: len(others) // 2 + 2])
    far = max(_ZERO_SHARE * float(np.median(values[~zero])), _ZERO_STEPS * float(np.median(steps)))
    return n_zeros if others[0] >= far else 0


def _refusal(why: str, name: str) -> str:
    return f"column {name!r} {why}; drop {name!r}."


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """What is in a file, and what a fit would do with it.

    Attributes
    ----------
    path : path
    target : str
    n_rows, n_repeated : int
        Rows, and those among them that have come before.
    classes : tuple of (label, number of rows)
        Largest first.
    columns : tuple of ColumnProfile
        All columns but the target and those to drop, in the order of the file.
    alone : dict
        By column, the balanced accuracy on unseen rows of a rule that sees nothing else.
    data_issues : tuple of DataIssue
        Leaks, ids, copies, constants and columns with hardly any value.
    notes : tuple of str
        Sentences about columns that a fit would refuse, gaps, odd zeros, and names like that of the
        target.
    forecast : FitForecast or None
        What a fit would do; None unless asked for.
    """

    path: PathLike
    target: str
    n_rows: int
    n_repeated: int
    classes: tuple[tuple[Any, int], ...]
    columns: tuple[ColumnProfile, ...]
    alone: dict[str, float]
    data_issues: tuple[DataIssue, ...]
    notes: tuple[str, ...]
    forecast: FitForecast | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def to_drop(self) -> tuple[str, ...]:
        """Columns that a fit would refuse or leave out, and dates and constants.

        Numbers with a single text among them are not: that text may mean a missing value.
        """
        odd = suspects(self.data_issues) | {*self.left_out}
        refused = {one.name for one in self.columns if one.refusal and not one.only_text}
        return tuple(name for name in self.names if name in refused | odd)

    @property
    def missing_marks(self) -> tuple[str, ...]:
        """The texts that stand alone among the numbers of a column."""
        marks = (one.only_text for one in self.columns if one.only_text)
        return tuple(dict.fromkeys(marks))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that `emsco fit` leaves out unless it is told to keep them."""
        return tuple(one.subject for one in to_leave_out(self.data_issues))

    @property
    def to_buy(self) -> tuple[str, ...]:
        """All other columns."""
        return tuple(name for name in self.names if name not in self.to_drop)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "data": str(self.path),
            "target": self.target,
            "rows": self.n_rows,
            "repeated_rows": self.n_repeated,
            "classes": [{"label": label, "rows": n} for label, n in self.classes],
            "columns": [
                {**column.to_dict(), "alone": self.alone.get(column.name)}
                for column in self.columns
            ],
            "data_issues": [issue.to_dict() for issue in self.data_issues],
            "notes": list(self.notes),
            "left_out": list(self.left_out),
            "to_drop": list(self.to_drop),
            "fit": None if self.forecast is None else self.forecast.to_dict(),
        }


def inspect_file(
    files: FitFiles,
    *,
    forecast: bool = False,
    report: Callable[[int, int, str], None] | None = None,
    **settings: Any,
) -> Inspection:
    """Look at the rows of a file.

    Columns that a fit would refuse are described, and then left out.

    Parameters
    ----------
    files : FitFiles
        With `data`, and no other rows.
    forecast : bool
        Also try what a fit would do, on a part of the rows, which takes some seconds.
    report : callable, optional
        ``report(done, total, what)`` receives the steps.
    **settings
        Parameters of `EMSCOClassifier`, for the forecast.
    """
    path, tell, total = files.data, report or (lambda *_: None), 3 + forecast
    if path is None:
        raise ParameterError("data must be given, got none.")
    tell(0, total, "")
    there = column_names(path, files.reading)
    left_out = {files.target, *files.drop, files.weights}
    names = [name for name in there if name not in left_out]
    check_columns_there(path, there, [files.target, *files.drop, *names])
    n_rows, columns = profiles_of(path, names, files.reading)
    if not n_rows:
        raise DataError(f"{path} must have rows, got none.")
    tell(1, total, "")
    data, lacking = _training_data(files, columns)
    tell(2, total, "")
    sizes = np.bincount(data.labels, minlength=len(data.classes))
    order = np.argsort(-sizes, kind="stable")
    data_issues = data_issues_of(data)
    check_left_out(lacking, [one.subject for one in to_leave_out(data_issues)])
    # Rows that have come before, compared as bytes; gaps are alike, and so are 0 and -0.
    plain = np.ascontiguousarray(np.nan_to_num(data.rows, nan=np.pi * 1e80) + 0.0)
    whole = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    inspection = Inspection(
        path,
        files.target,
        n_rows,
        len(whole) - len(np.unique(whole)),
        tuple((data.classes[i].item(), int(sizes[i])) for i in order),
        columns,
        accuracies_alone(data),
        data_issues,
        _notes(files, columns, {one.subject for one in data_issues}),
    )
    if forecast:
        tell(3, total, "trying a fit on some rows")
        given = EMSCOClassifier(gaps="impute", random_state=0, **settings)
        sound = _without_suspects(files, columns, data_issues) or data
        checked = FitSettings.from_parameters(given.get_params(deep=False), sound)
        inspection = replace(inspection, forecast=forecast_fit(sound, checked))
    tell(total, total, "")
    return inspection


def costs_template(names: Sequence[str]) -> str:
    """Return a costs file in which every feature costs 1 and shares no fee.

    Examples
    --------
    >>> print(costs_template(["age", "blood, iron"]), end="")
    feature,cost,group,fee,fee_cost
    age,1,,,
    "blood, iron",1,,,
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_HEADING, *([name, 1, "", "", ""] for name in names)])
    return text.getvalue()


def write_costs(path: PathLike, names: Sequence[str], *, force: bool = False) -> None:
    """Write a costs file to fill in; an existing file is kept unless `force`."""
    check_new(path, force=force)
    write_text(path, costs_template(names))


def check_new(path: PathLike, *, force: bool = False) -> None:
    """Refuse to write over a file unless `force`."""
    if Path(path).exists() and not force:
        raise ParameterError(
            f"write_costs must be a new file, got {str(path)!r}, which exists; force writes over "
            "it."
        )


def _training_data(
    files: FitFiles, columns: Sequence[ColumnProfile]
) -> tuple[TrainingData, MissingCosts | None]:
    """Read the columns that a fit takes, dates too; missing values are allowed.

    Also return what to say about columns without a cost, if there are any.
    """
    # Columns that a fit would refuse; dates only if nobody said how to read them.
    bad = [one.name for one in columns if one.refusal and one.kind != "date"]
    if files.reading.dates is None:
        bad += [one.name for one in columns if one.kind == "date"]
    if len(bad) == len(columns):
        raise DataError(f"{files.data} must have a column that a fit can use, got none.")
    usable = replace(files, drop=(*files.drop, *bad), costs=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)  # the first look at the file has said it
        rows = usable.read("auto", "impute").rows
    costs, lacking = replace(usable, costs=files.costs).costs_of(tuple(rows.table.column_names))
    data = TrainingData.from_table(rows.table, rows.y, rows.weights, costs, "impute")
    return data, lacking


def _without_suspects(
    files: FitFiles, columns: Sequence[ColumnProfile], data_issues: Sequence[DataIssue]
) -> TrainingData | None:
    """Read the columns that may be bought without a second look; None if these are all or none.

    An id with a text of its own for every row would make a fit take minutes.
    """
    left_out = {one.subject for one in to_leave_out(data_issues)}
    odd = suspects(data_issues) | left_out
    rest = [one for one in columns if one.name not in odd]
    if not odd or not rest:
        return None
    try:
        return _training_data(replace(files, drop=(*files.drop, *sorted(odd))), rest)[0]
    # The rest may be too little for a fit, which is no reason to stop an inspection.
    except DataError:
        return None


def _notes(
    files: FitFiles, columns: Sequence[ColumnProfile], known: Collection[str]
) -> tuple[str, ...]:
    """Return sentences about refused columns, gaps, odd zeros, and names like the target's."""
    notes = [column.refusal for column in columns if column.refusal]
    gaps = [column.name for column in columns if column.n_missing and not column.refusal]
    if gaps:
        which = f"column{'s' if len(gaps) > 1 else ''} {some(gaps)}"
        notes.append(f"values are missing in {which}; emsco fit --gaps impute or skip allows that.")
    for column in columns:
        if column.n_odd_zeros:
            zeros = counted(column.n_odd_zeros, "row")
            notes.append(
                f"column {column.name!r} is 0 in {zeros} and far above 0 in all others: if 0 means "
                "a missing value, leave these cells empty in the file."
            )
    target = files.target.casefold()
    for column in columns:
        name = column.name.casefold()
        if column.name in known or _UNNAMED.fullmatch(name):
            continue
        # Short names are part of many others by chance.
        if len(target) >= _SHORT and (target in name or (len(name) >= _SHORT and name in target)):
            notes.append(
                f"column {column.name!r} is named like the target: is it known before the answer? "
                f"If not, drop {column.name!r}."
            )
    return tuple(notes)
