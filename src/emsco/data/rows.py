"""Rows in: from any table to float64, with the checks that name the column at fault."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from emsco._base.text import some, what_was_meant
from emsco._base.threads import by_parts
from emsco._base.typing import AnyArray, FloatArray, Kind
from emsco._kernels.deciding import count_unusable
from emsco.errors import DataError, EMSCOWarning, Hint, Remedy

__all__ = [
    "LARGEST",
    "NUMBERS",
    "arrow_kind",
    "arrow_numbers",
    "check_columns",
    "check_finite",
    "check_names",
    "check_shape",
    "check_table",
    "column_names",
    "column_rows",
    "named_columns",
    "not_numbers",
    "table_rows",
    "warn_of_ids",
    "what_is_wrong",
]

NUMBERS = (float, Real, np.bool_, Decimal)  # what a single value may be
_BLOCK = 65_536
_MANY = 50  # rows, of which a column that is no id will hardly have another value each
_NOT_NUMBERS = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}
LARGEST = 1e100  # so that squares can be summed


def table_rows(X: Any, names: tuple[str, ...], table: str = "X") -> FloatArray:
    """The columns called `names`, in that order, of a data frame; or a 2-D array as it is.

    `table` is what messages call X.
    """
    if hasattr(X, "columns"):
        X = _frame_columns(X, names, table)
    if np.ma.is_masked(X):
        raise DataError(f"{table} must hold numbers only, got masked values.")
    try:
        given = np.asarray(X)
        kind = not_numbers(given)
        rows = np.ascontiguousarray(given, dtype=None if kind else np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"{table} must hold numbers only: {error}.") from None
    if kind:
        raise DataError(f"{table} must hold numbers only, got {kind}.")
    check_shape(rows, names, table)
    return rows


def column_rows(X: Any, name: str, table: str, first_row: int) -> FloatArray:
    """One column of numbers that has no gap; `first_row` is the number of its first row."""
    rows = table_rows(X, (name,), table)
    check_finite(rows, (name,), table, first_row)
    return rows[:, 0]


def not_numbers(array: AnyArray) -> str | None:
    """What an array holds that can be no number; None where it may hold numbers."""
    return _NOT_NUMBERS.get(array.dtype.kind)


def check_shape(rows: AnyArray, names: tuple[str, ...], table: str) -> None:
    """Refuse an array that has not one column for each name."""
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise DataError(
            f"{table} must have {len(names)} columns ({names[0]!r} … {names[-1]!r}), "
            f"got shape {rows.shape}."
        )


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a data frame; none for an array."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))  # PyArrow has both


def named_columns(X: Any, names: tuple[str, ...], table: str) -> Any:
    """A data frame as it is; one of pandas whose columns are only numbered gets `names`."""
    columns = column_names(X)
    if not columns or any(isinstance(column, str) for column in columns):
        return X
    check_shape(np.empty((0, len(columns))), names, table)
    return X.set_axis(list(names), axis=1)


def check_table(X: Any) -> None:
    """Refuse a table that is not in memory, has no rows, or has a column twice."""
    if hasattr(X, "collect"):
        raise DataError(
            f"X must be a table in memory, got a {type(X).__name__}; collect() it first."
        )
    if not len(X):
        raise DataError("X must have rows, got none.")
    check_names(X, column_names(X))


def check_names(X: Any, names: Sequence[str], table: str = "X") -> None:
    """Refuse a data frame in which one of these columns is missing or comes twice."""
    columns = column_names(X)
    if missing := [name for name in names if name not in columns]:
        meant = what_was_meant(missing[0], columns)
        raise DataError(f"{table} must have a column {missing[0]!r}, got {some(columns)}{meant}")
    if twice := [name for name in names if columns.count(name) > 1]:
        raise DataError(
            f"{table} must have one column {twice[0]!r}, got {columns.count(twice[0])}."
        )


def check_columns(X: Any, names: Sequence[str] | None = None, table: str = "X") -> None:
    """Refuse columns of a data frame that come twice or hold no numbers; arrays pass.

    `names` are the columns that matter, by default all.
    """
    wanted = column_names(X) if names is None else list(names)
    check_names(X, wanted, table)
    if not wanted:
        return
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    for name in wanted:
        kind = frame.schema[name]
        text = kind == nw.Object and any(isinstance(value, str) for value in frame[name])
        if text or not (kind.is_numeric() or kind in (nw.Boolean, nw.Object)):
            got = "text" if text or kind == nw.String else kind
            raise DataError(f"{table} must hold numbers only, got {got} in column {name!r}.")


def check_finite(
    X: FloatArray,
    names: tuple[str, ...],
    table: str = "X",
    first_row: int = 0,
    *,
    gaps: bool = False,
    way_out: Hint | None = None,
) -> None:
    """Refuse NaN, infinity and absurd sizes, naming the first column and row that has one.

    `table` is what the message calls X, and `first_row` the number of its first row. Where `gaps`
    is true, NaN is a gap and passes; else `way_out` is what to do about one.
    """
    flat = np.ascontiguousarray(X).reshape(-1)
    if not any(by_parts(len(flat), lambda part: count_unusable(flat[part], LARGEST))):
        return
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK]
        usable = np.abs(block) <= LARGEST
        if gaps:
            usable |= np.isnan(block)
        if not usable.all():
            row, column = (int(i) for i in np.argwhere(~usable)[0])
            value = float(block[row, column])
            rule, got = what_is_wrong(value)
            where = f"in column {names[column]!r}, row {first_row + start + row}"
            if way_out and math.isnan(value):
                raise DataError(
                    f"{table} must have no missing value (empty cell or NaN), got one {where}; ",
                    way_out,
                    ".",
                )
            raise DataError(f"{table} must be {rule}, got {got} {where}.")


def warn_of_ids(table: Any) -> None:
    """Warn of columns of a PyArrow table that may number its rows, from which nothing is learnt."""
    found = [name for name in table.column_names if _may_be_id(table.column(name))]
    if not found:
        return
    which = f"column {found[0]!r} has" if len(found) == 1 else f"columns {some(found)} have"
    an_id = "it is an id" if len(found) == 1 else "they are ids"
    drop = Hint(Remedy.DROP, tuple(found[:5]))
    warnings.warn(
        EMSCOWarning(f"{which} another value in every row; if {an_id}, ", drop, "."), stacklevel=4
    )


def _may_be_id(column: Any) -> bool:
    """Whether each of many rows has a text or whole number of its own."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if len(column) < _MANY or column.null_count:
        return False
    if kind in (pa.float32(), pa.float64()):
        whole = compute.all(compute.equal(column, compute.floor(column))).as_py()
    else:
        whole = pa.types.is_integer(kind) or arrow_kind(column) == "category"
    return bool(whole) and len(column.unique()) == len(column)


def arrow_kind(column: Any) -> Kind | None:
    """What a PyArrow column holds; None where it is nothing that can be made into numbers."""
    from pyarrow import types

    kind = column.type
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "category" if text or types.is_dictionary(kind) else None


def arrow_numbers(column: Any, name: str, table: str) -> FloatArray:
    """A PyArrow column of numbers or truth values as float64; what is missing is NaN."""
    import pyarrow as pa

    if arrow_kind(column) not in ("number", "truth"):
        got = "text" if arrow_kind(column) else column.type
        got = "nothing" if pa.types.is_null(column.type) else got
        raise DataError(f"{table} must hold numbers only, got {got} in column {name!r}.")
    if pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _frame_columns(X: Any, names: tuple[str, ...], table: str) -> AnyArray:
    import narwhals as nw

    X = named_columns(X, names, table)
    check_names(X, names, table)
    if nw.dependencies.is_pyarrow_table(X):
        rows = np.empty((X.num_rows, len(names)))
        for i, name in enumerate(names):
            rows[:, i] = arrow_numbers(X.column(name), name, table)
        return rows
    check_columns(X, names, table)
    frame = nw.from_native(X, eager_only=True).select(names)
    found: AnyArray = frame.to_numpy()
    if found.dtype == object:  # NumPy knows no number for what pandas puts in place of a gap
        gaps = np.column_stack([frame[name].is_null().to_numpy() for name in names])
        found = np.where(gaps, np.nan, found)
    return found


def what_is_wrong(value: float) -> tuple[str, str]:
    """The rule that a value past `LARGEST` breaks, and what to call the value."""
    if math.isnan(value):
        return "finite", "NaN"
    if math.isinf(value):
        return "finite", f"infinity ({value})"
    return f"at most {LARGEST:g} in size", f"{value:g}"
