"""Tables of any library: columns by name, rows as float64, and checks that name the bad column."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from emsco._base.text import brief, first_line, shorten, some, what_was_meant
from emsco._base.typing import AnyArray, FloatArray, Kind
from emsco._base.workers import by_parts
from emsco.errors import DataError

NUMBERS = (float, Real, np.bool_, Decimal)  # types of a single number
LARGEST = 1e100  # so that squares can be summed
_BLOCK = 65_536
# Kinds of arrays that hold neither numbers nor text.
_UNUSABLE = {
    "S": "bytes",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "V": "records",
}


# Names of columns


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
    attribute = next((name for name in ("column_names", "columns") if has(X, name)), None)
    return [] if attribute is None else list(getattr(X, attribute))


def check_table(X: Any) -> None:
    """Refuse a table that has no rows, or has a column twice."""
    if not len(X):
        raise DataError("X must have rows, got none.")
    columns = column_names(X)
    check_named(columns, columns)


def as_table(X: Any) -> Any:
    """Return a data frame as it is, and anything else as an array of rows and columns.

    Masked values become missing ones. Names of columns must be text, or none of them.
    """
    if is_frame(X):
        named = [isinstance(name, str) for name in column_names(X)]
        if any(named) and not all(named):
            raise DataError(
                "X must have text as names of all columns or of none, got "
                f"{brief(column_names(X)[named.index(False)])} beside text; X.columns.astype(str) "
                "makes them text."
            )
        return X
    if has(X, "toarray"):
        raise DataError(f"X must be dense, got a sparse {type(X).__name__}; use its toarray().")
    array = _as_array(X, "X")
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: X must hold real numbers, text or truth.")
    if got := _UNUSABLE.get(array.dtype.kind):
        raise DataError(f"X must hold numbers, text or truth values, got {got}.")
    if not array.ndim:
        raise DataError(f"X must be a table of rows and columns, got {brief(X)}.")
    if array.ndim != 2:
        raise DataError(
            f"X must be a table of rows and columns, got shape {array.shape}. Reshape your data: "
            "X.reshape(-1, 1) is one column, X.reshape(1, -1) one row."
        )
    return array


def check_in_memory(X: Any, what: str = "X") -> None:
    """Refuse a lazy Polars frame, and a Dask frame or array."""
    kind = type(X).__name__
    if has(X, "collect"):
        raise DataError(f"{what} must be in memory, got a {kind}; collect() it.")
    if type(X).__module__.split(".")[0] == "dask":
        raise DataError(
            f"{what} must be in memory, got a Dask {kind}; compute() it, or a sample of its rows."
        )


def check_named(there: Sequence[str], wanted: Sequence[str], what: str = "X") -> None:
    """Refuse columns that lack one of those `wanted`, or have it twice."""
    columns = list(there)
    if missing := [name for name in wanted if name not in columns]:
        meant = what_was_meant(missing[0], columns)
        raise DataError(f"{what} must have a column {missing[0]!r}, got {some(columns)}{meant}")
    if twice := [name for name in wanted if columns.count(name) > 1]:
        raise DataError(f"{what} must have one column {twice[0]!r}, got {columns.count(twice[0])}.")


# Columns and rows


class TableColumns:
    """Columns of a table: by name in a data frame, by position in an array.

    Parameters
    ----------
    X : data frame, array or lists
    names : tuple of str
        The columns to read; an array has just these.
    what : str
        Name of the table in messages.

    Attributes
    ----------
    n_rows : int
    known : tuple of str or None
        Kinds of the columns if their types tell, else None.
    """

    def __init__(self, X: Any, names: tuple[str, ...], what: str = "X") -> None:
        check_in_memory(X, what)
        self.names, self.what = names, what
        self._is_frame, self._is_arrow = is_frame(X), False
        self.known: tuple[Kind, ...] | None = None
        if self._is_frame:
            import narwhals as nw

            columns = column_names(X)
            if columns and not any(isinstance(column, str) for column in columns):
                self._check_shape((len(X), len(columns)))
                X = X.set_axis(list(names), axis=1)  # pandas with numbered columns only
            check_named(column_names(X), names, what)
            self._is_arrow = nw.dependencies.is_pyarrow_table(X)
            try:
                self._table: Any = nw.from_native(X, eager_only=True)
            except TypeError:
                raise DataError(
                    f"{what} must be an array or a table of pandas, Polars or PyArrow, got a "
                    f"{type(X).__name__}."
                ) from None
            types = [self._table.schema[name] for name in names]
            if all(one.is_numeric() or one == nw.Boolean for one in types):
                self.known = tuple("number" if one.is_numeric() else "truth" for one in types)
        else:
            self._table = _as_array(X, what)
            self._check_shape(self._table.shape)
            if got := _UNUSABLE.get(self._table.dtype.kind):
                raise DataError(f"{what} must hold numbers, text or truth values, got {got}.")
            if self._table.dtype.kind in "fiub":
                self.known = tuple("number" for _ in names)
        self.n_rows = len(self._table)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != len(self.names):
            raise DataError(
                f"{self.what} must have {len(self.names)} columns ({self.names[0]!r} … "
                f"{self.names[-1]!r}), got shape {shape}."
            )

    def read(self, i: int) -> Any:
        """Return column `i` as a PyArrow array."""
        import narwhals as nw
        import pyarrow as pa

        column = self._table[self.names[i]] if self._is_frame else self._table[:, i]
        try:
            if not self._is_frame:
                is_plain = column.dtype.kind in "fiubU"
                return pa.array(column if is_plain else column.astype(object), from_pandas=True)
            native = column.to_native()
            if nw.dependencies.is_pandas_series(native) and hasattr(native, "cat"):
                # PyArrow cannot turn categories such as intervals into text.
                codes = native.cat.codes.to_numpy()
                texts = pa.array([text_of(value) for value in native.cat.categories], pa.string())
                return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
            return column.to_arrow()
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return self._odd_numbers(column.to_numpy() if self._is_frame else column, i)

    def _odd_numbers(self, values: AnyArray, i: int) -> Any:
        """Return numbers without a common type in PyArrow, such as fractions or True beside 2."""
        import pyarrow as pa

        numbers: list[float | None] = []
        for value in values.tolist():
            if is_missing(value):
                numbers.append(None)
            elif isinstance(value, NUMBERS):
                numbers.append(as_float(value))
            else:
                both = " beside other values" if isinstance(value, str) else ""
                raise DataError(
                    f"{self.what} must hold only numbers, only text or only truth values in a "
                    f"column, got {type(value).__name__} {brief(value)}{both} in column "
                    f"{self.names[i]!r}."
                )
        return pa.array(numbers, pa.float64())

    def numbers(self) -> FloatArray:
        """Return all columns as float64, row after row, missing values as NaN.

        An array of float64 in row order is not copied.
        """
        if self.known is None or self._is_arrow or not self.names:
            rows = np.empty((self.n_rows, len(self.names)))
            for i, name in enumerate(self.names):
                rows[:, i] = arrow_numbers(self.read(i), name, self.what)
            return rows
        values = self._table
        if self._is_frame:
            frame = self._table.select(self.names)
            values = frame.to_numpy()
            if values.dtype == object:  # pandas marks missing values with objects
                missing = [frame[name].is_null().to_numpy() for name in self.names]
                values = np.where(np.column_stack(missing), np.nan, values).astype(np.float64)
        if values.dtype == np.float64 and values.flags.c_contiguous:
            return values  # type: ignore[no-any-return]
        rows = np.empty(values.shape)

        def copy(part: slice) -> None:
            rows[part] = values[part]

        by_parts(len(values), copy)  # in threads, if there are many
        return rows


def _as_array(X: Any, what: str) -> AnyArray:
    """Return a table as an array; a text in a list leaves the numbers beside it numbers.

    Masked values become NaN among numbers, else None.
    """
    if np.ma.is_masked(X):
        numbers = X.dtype.kind in "fiub"
        filled = np.ma.getdata(X).astype(np.float64 if numbers else object)
        filled[np.ma.getmaskarray(X)] = np.nan if numbers else None
        X = filled
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)
    except Exception as error:  # whatever an object raises that is asked for its values
        raise DataError(
            f"{what} must be a table of rows and columns: {shorten(first_line(error), 200)}."
        ) from None
    return array


def table_rows(X: Any, names: tuple[str, ...], what: str = "X") -> FloatArray:
    """Return the columns `names` of a data frame, or a 2-D array, as float64.

    Messages call the table `what`.
    """
    return TableColumns(X, names, what).numbers()


def column_weights(X: Any, name: str, what: str, first_row: int) -> FloatArray:
    """Return a column of sample weights; messages count rows from `first_row`."""
    rows = table_rows(X, (name,), what)
    check_finite(rows, (name,), what, first_row)
    weights = rows[:, 0]
    if (below := weights < 0).any():
        row = int(below.argmax())
        raise DataError(
            f"{what} must have weights of at least 0 in column {name!r}, got {weights[row]:g} in "
            f"row {first_row + row}.",
            row=first_row + row,
        )
    return weights


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


def what_it_holds(column: Any) -> str:
    """Return a word for the values of a PyArrow column that are neither numbers nor text."""
    from pyarrow import types

    kind = column.type
    called = {
        "nothing": types.is_null(kind),
        "durations": types.is_duration(kind),
        "dates": types.is_temporal(kind),
        "bytes": types.is_binary(kind) or types.is_large_binary(kind),
        "lists": types.is_nested(kind),
    }
    return next((words for words, is_so in called.items() if is_so), str(kind))


# Values


def check_finite(
    X: FloatArray,
    names: tuple[str, ...],
    what: str = "X",
    first_row: int = 0,
    *,
    gaps: bool = False,
    way_out: str = "",
) -> None:
    """Refuse NaN, infinity and absurd sizes; the message names the first bad column and row.

    Messages call the table `what` and count rows from `first_row`. With `gaps`, NaN is a missing
    value and passes; without, the message about one ends with `way_out`.
    """
    flat = np.ascontiguousarray(X).reshape(-1)
    if all(by_parts(len(flat), lambda part: _is_usable(flat[part]))):
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
            if way_out and math.isnan(value):
                rule, got = "without missing values (empty cells or NaN)", "one"
            else:
                way_out = ""
            number = first_row + start + row
            raise DataError(
                f"{what} must be {rule}, got {got} in column {names[column]!r}, row {number}"
                f"{way_out}.",
                row=number,
            )


def _is_usable(values: FloatArray) -> bool:
    """Whether no value is NaN or too large; looks twice, but needs no memory of its own."""
    if not len(values):
        return True
    return bool(values.min() >= -LARGEST and values.max() <= LARGEST)  # NaN comes through both


def what_is_wrong(value: float) -> tuple[str, str]:
    """Return the rule that a value above `LARGEST` breaks, and a word for the value."""
    if math.isnan(value):
        return "finite", "NaN"
    if math.isinf(value):
        return "finite", f"infinity ({value})"
    return f"at most {LARGEST:g} in size", f"{value:g}"


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


def is_missing(value: Any) -> bool:
    """Tell whether a single value stands for a missing one."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, NUMBERS):
        return math.isnan(as_float(value))
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def text_of(value: Any) -> str | None:
    """Return a category as text; None if missing. Equal whole numbers of any type are one text."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)
