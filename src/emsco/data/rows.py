"""Rows of any table as float64, with checks that name the bad column."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from emsco._base.text import some, what_was_meant
from emsco._base.typing import AnyArray, FloatArray, Kind
from emsco._base.workers import by_parts
from emsco._kernels.judgement import count_unusable
from emsco.errors import DataError, EMSCOWarning, Hint, Remedy, Row

NUMBERS = (float, Real, np.bool_, Decimal)  # types of a single number
_BLOCK = 65_536
_MANY = 50  # in so many rows, hardly any column but an id has a different value in each
_NOT_NUMBERS = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}
LARGEST = 1e100  # so that squares can be summed


def table_rows(X: Any, names: tuple[str, ...], what: str = "X") -> FloatArray:
    """Return the columns `names` of a data frame, or a 2-D array, as float64.

    Messages call the table `what`.
    """
    if is_frame(X):
        X = _frame_columns(X, names, what)
    if np.ma.is_masked(X):
        raise DataError(f"{what} must hold numbers only, got masked values.")
    try:
        given = np.asarray(X)
        kind = not_numbers(given)
        rows = given if kind else _doubles(given)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"{what} must hold numbers only: {error}.") from None
    if kind:
        raise DataError(f"{what} must hold numbers only, got {kind}.")
    check_shape(rows, names, what)
    return rows


def _doubles(given: AnyArray) -> FloatArray:
    """Return an array as float64, row after row, and copy it in threads if it is large."""
    is_ready = given.dtype == np.float64 and given.flags.c_contiguous
    if is_ready or given.ndim != 2 or given.dtype.kind not in "biuf":
        return np.ascontiguousarray(given, dtype=np.float64)
    found = np.empty(given.shape)

    def copy(part: slice) -> None:
        found[part] = given[part]

    by_parts(len(given), copy)
    return found


def column_rows(X: Any, name: str, what: str, first_row: int) -> FloatArray:
    """Return one column of numbers without missing values; messages count from `first_row`."""
    rows = table_rows(X, (name,), what)
    check_finite(rows, (name,), what, first_row)
    return rows[:, 0]


def not_numbers(array: AnyArray) -> str | None:
    """Return a word for values that cannot be numbers; None if the array may hold numbers."""
    return _NOT_NUMBERS.get(array.dtype.kind)


def check_shape(rows: AnyArray, names: tuple[str, ...], what: str) -> None:
    """Refuse an array that does not have one column for each name."""
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise DataError(
            f"{what} must have {len(names)} columns ({names[0]!r} … {names[-1]!r}), "
            f"got shape {rows.shape}."
        )


def has(value: Any, name: str) -> bool:
    """Tell whether values of this type have an attribute.

    The value itself is not asked, because pandas has columns and rows as attributes: a column may
    be called "collect".
    """
    return hasattr(type(value), name)


def is_frame(X: Any) -> bool:
    """Tell whether X is a data frame, in memory or not."""
    return has(X, "columns")


def column_names(X: Any) -> list[Any]:
    """Return the names of a data frame's columns; none for an array."""
    # PyArrow has both attributes, and its `columns` are the columns themselves.
    own = next((name for name in ("column_names", "columns") if has(X, name)), None)
    return [] if own is None else list(getattr(X, own))


def named_columns(X: Any, names: tuple[str, ...], what: str) -> Any:
    """Return a data frame; a pandas one with only numbered columns gets `names`."""
    columns = column_names(X)
    if not columns or any(isinstance(column, str) for column in columns):
        return X
    check_shape(np.empty((0, len(columns))), names, what)
    return X.set_axis(list(names), axis=1)


def check_table(X: Any) -> None:
    """Refuse a table that is not in memory, has no rows, or has a column twice."""
    check_in_memory(X)
    if not len(X):
        raise DataError("X must have rows, got none.")
    check_names(X, column_names(X))


def check_in_memory(X: Any, what: str = "X") -> None:
    """Refuse a lazy Polars frame and a Dask table."""
    ways_out = {"collect": "collect() it", "map_partitions": "use its map_partitions()"}
    for method, way_out in ways_out.items():
        if has(X, method):
            raise DataError(f"{what} must be in memory, got a {type(X).__name__}; {way_out}.")


def check_names(X: Any, names: Sequence[str], what: str = "X") -> None:
    """Refuse a data frame that lacks one of the columns `names`, or has one twice."""
    check_named(column_names(X), names, what)


def check_named(there: Sequence[str], wanted: Sequence[str], what: str) -> None:
    """Refuse columns that lack one of those `wanted`, or have it twice."""
    columns = list(there)
    if missing := [name for name in wanted if name not in columns]:
        meant = what_was_meant(missing[0], columns)
        raise DataError(f"{what} must have a column {missing[0]!r}, got {some(columns)}{meant}")
    if twice := [name for name in wanted if columns.count(name) > 1]:
        raise DataError(f"{what} must have one column {twice[0]!r}, got {columns.count(twice[0])}.")


def check_columns(X: Any, names: Sequence[str] | None = None, what: str = "X") -> None:
    """Refuse columns of a data frame that come twice or do not hold numbers; arrays pass.

    The check covers the columns `names`, by default all.
    """
    wanted = column_names(X) if names is None else list(names)
    check_names(X, wanted, what)
    if not wanted:
        return
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    for name in wanted:
        kind = frame.schema[name]
        text = kind == nw.Object and any(isinstance(value, str) for value in frame[name])
        if text or not (kind.is_numeric() or kind in (nw.Boolean, nw.Object)):
            got = "text" if text or kind == nw.String else kind
            raise DataError(f"{what} must hold numbers only, got {got} in column {name!r}.")


def check_finite(
    X: FloatArray,
    names: tuple[str, ...],
    what: str = "X",
    first_row: int = 0,
    *,
    gaps: bool = False,
    way_out: Hint | None = None,
) -> None:
    """Refuse NaN, infinity and absurd sizes; the message names the first bad column and row.

    Messages call the table `what` and count rows from `first_row`. With `gaps`, NaN is a missing
    value and passes; without, the message about one ends with `way_out`.
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
            where = (f"in column {names[column]!r}, ", Row(first_row + start + row))
            if way_out and math.isnan(value):
                raise DataError(
                    f"{what} must have no missing value (empty cell or NaN), got one ",
                    *where,
                    "; ",
                    way_out,
                    ".",
                )
            raise DataError(f"{what} must be {rule}, got {got} ", *where, ".")


def warn_of_ids(table: Any) -> None:
    """Warn of columns of a PyArrow table that may be ids, from which no model can learn."""
    found = [name for name in table.column_names if _may_be_id(table.column(name))]
    if not found:
        return
    which = f"column {found[0]!r} has" if len(found) == 1 else f"columns {some(found)} have"
    an_id = "it is an id" if len(found) == 1 else "they are ids"
    drop = Hint(Remedy.DROP, tuple(found[:5]))
    warnings.warn(
        EMSCOWarning(f"{which} a different value in every row; if {an_id}, ", drop, "."),
        stacklevel=4,
    )


def _may_be_id(column: Any) -> bool:
    """Tell whether each of many rows has a different text or whole number."""
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
    """Return the kind of a PyArrow column; None if it cannot become numbers."""
    from pyarrow import types

    kind = column.type
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "category" if text or types.is_dictionary(kind) else None


def column_weights(X: Any, name: str, what: str, first_row: int) -> FloatArray:
    """Return a column of sample weights; refuse those below 0."""
    weights = column_rows(X, name, what, first_row)
    if (below := weights < 0).any():
        row = int(below.argmax())
        said = f"{what} must have weights of at least 0 in column {name!r}, got "
        raise DataError(f"{said}{weights[row]:g} in ", Row(first_row + row), ".")
    return weights


def arrow_numbers(column: Any, name: str, what: str) -> FloatArray:
    """Return a PyArrow column of numbers or truth values as float64, missing values as NaN."""
    import pyarrow as pa

    if arrow_kind(column) not in ("number", "truth"):
        got = "text" if arrow_kind(column) else column.type
        got = "nothing" if pa.types.is_null(column.type) else got
        raise DataError(f"{what} must hold numbers only, got {got} in column {name!r}.")
    if pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _frame_columns(X: Any, names: tuple[str, ...], what: str) -> AnyArray:
    import narwhals as nw

    X = named_columns(X, names, what)
    check_names(X, names, what)
    if nw.dependencies.is_pyarrow_table(X):
        rows = np.empty((X.num_rows, len(names)))
        for i, name in enumerate(names):
            rows[:, i] = arrow_numbers(X.column(name), name, what)
        return rows
    check_columns(X, names, what)
    frame = nw.from_native(X, eager_only=True).select(names)
    found: AnyArray = frame.to_numpy()
    if found.dtype == object:  # pandas marks missing values with objects that are no numbers
        missing = np.column_stack([frame[name].is_null().to_numpy() for name in names])
        found = np.where(missing, np.nan, found)
    return found


def as_float(value: Any) -> float:
    """Return a number of any type as a float; infinity if it is too large, else NaN if it is none.

    Examples
    --------
    >>> as_float(True), as_float(10**400), as_float("7"), as_float(Decimal("sNaN"))
    (1.0, inf, nan, nan)
    """
    if not isinstance(value, NUMBERS):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except Exception:  # a signalling NaN, or a number type of foreign code
        return math.nan


def what_is_wrong(value: float) -> tuple[str, str]:
    """Return the rule that a value above `LARGEST` breaks, and a word for the value."""
    if math.isnan(value):
        return "finite", "NaN"
    if math.isinf(value):
        return "finite", f"infinity ({value})"
    return f"at most {LARGEST:g} in size", f"{value:g}"
