"""Tables of any library: columns by name, rows as float64, and checks that name column and row."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from emsco._base.text import brief, first_line, shorten, some, what_was_meant
from emsco._base.typing import FloatArray, Kind
from emsco._base.workers import by_parts
from emsco.errors import DataError

NUMBERS = (float, Real, np.bool_, Decimal)  # types of a single number
LARGEST = 1e100  # so that squares can be summed


# Whole tables


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
    """Refuse a table without rows or columns, or with a column twice."""
    n_rows, n_columns = X.shape
    if not n_rows:
        raise DataError("X must have rows, got none.")
    if not n_columns:
        raise DataError(
            f"X must have columns, got 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is "
            "required."  # in the words of scikit-learn
        )
    columns = column_names(X)
    check_named(columns, columns)


def check_in_memory(X: Any, what: str = "X") -> None:
    """Refuse a lazy Polars frame, and a Dask frame or array."""
    kind = type(X).__name__
    if has(X, "collect"):
        raise DataError(f"{what} must be in memory, got a {kind}; collect() it.")
    if type(X).__module__.split(".")[0] == "dask":
        raise DataError(
            f"{what} must be in memory, got a Dask {kind}; compute() it, or a sample of its rows."
        )


def as_table(X: Any, what: str = "X") -> Any:
    """Return a data frame with names of columns as it is, and anything else as a 2-D array.

    Masked values become missing ones. A text in a list leaves the numbers beside it numbers.
    """
    check_in_memory(X, what)
    named = [isinstance(name, str) for name in column_names(X)]
    if is_frame(X) and (any(named) or not named):
        if not all(named):
            raise DataError(
                f"{what} must have text as names of all columns or of none, got "
                f"{brief(column_names(X)[named.index(False)])} beside text; X.columns.astype(str) "
                "makes them text."
            )
        return X
    if has(X, "toarray"):
        raise DataError(
            f"{what} must be dense, got a sparse {type(X).__name__}; use its toarray()."
        )
    if np.ma.is_masked(X):
        are_numbers, mask = X.dtype.kind in "fiub", np.ma.getmaskarray(X)
        X = np.ma.getdata(X).astype(np.float64 if are_numbers else object)
        X[mask] = np.nan if are_numbers else None
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)
    except Exception as error:  # whatever an object raises that is asked for its values
        said = first_line(error).split(". ")[0].rstrip(".")
        if isinstance(X, list) and all(has(row, "__len__") for row in X):
            n_values = [len(row) for row in X]
            row = next((i for i, n in enumerate(n_values) if n != n_values[0]), 0)
            said = f"row 0 has {n_values[0]} values, row {row} has {n_values[row]}" if row else said
        raise DataError(
            f"{what} must be a table of rows and columns, but: {shorten(said, 200)}."
        ) from None
    if array.dtype.kind == "c":
        raise DataError(
            f"Complex data not supported: {what} must hold real numbers, text or truth."
        )
    if array.dtype.kind not in "fiubUO":
        raise DataError(f"{what} must hold numbers, text or truth values, got {array.dtype.name}.")
    if array.ndim != 2:
        got = f"shape {array.shape}" if array.ndim else brief(X)
        raise DataError(
            f"{what} must be a table of rows and columns, got {got}. Reshape your data: "
            "X.reshape(-1, 1) is one column, X.reshape(1, -1) one row."
        )
    return array


def check_named(there: Sequence[str], wanted: Sequence[str], what: str = "X") -> None:
    """Refuse columns that lack one of those `wanted`, or have it twice."""
    columns = list(there)
    if missing := [name for name in wanted if name not in columns]:
        meant = what_was_meant(missing[0], columns)
        raise DataError(f"{what} must have a column {missing[0]!r}, got {some(columns)}{meant}")
    if twice := [name for name in wanted if columns.count(name) > 1]:
        raise DataError(f"{what} must have one column {twice[0]!r}, got {columns.count(twice[0])}.")


# Columns and rows


class Table:
    """Columns of a user's table: by name in a data frame, by position in an array.

    Parameters
    ----------
    X : data frame, array or lists
    names : tuple of str
        The columns to read; an array has just these.
    what : str
        Name of the table in messages.
    first_row : int
        Number of the first row in messages.

    Attributes
    ----------
    n_rows : int
    known : tuple of str or None
        Kinds of the columns if all are numbers or truth values by their types, else None.
    """

    def __init__(self, X: Any, names: tuple[str, ...], what: str = "X", first_row: int = 0) -> None:
        X = as_table(X, what)
        self.names, self.what, self.first_row = names, what, first_row
        self.known: tuple[Kind, ...] | None = None
        self._is_frame, self.n_rows = is_frame(X), len(X)
        if not self._is_frame:
            if X.shape[1] != len(names):
                raise DataError(
                    f"{what} must have {len(names)} columns ({names[0]!r} … {names[-1]!r}), got "
                    f"shape {X.shape}."
                )
            self._table = X
            if X.dtype.kind in "fiub":
                self.known = tuple("number" for _ in names)
            return
        import narwhals as nw

        check_named(column_names(X), names, what)
        try:
            self._table = nw.from_native(X, eager_only=True)
        except TypeError:
            raise DataError(
                f"{what} must be an array or a table of pandas, Polars or PyArrow, got a "
                f"{type(X).__name__}."
            ) from None
        types = [self._table.schema[name] for name in names]
        if all(one.is_numeric() or one == nw.Boolean for one in types):
            self.known = tuple("number" if one.is_numeric() else "truth" for one in types)

    def column(self, i: int) -> Any:
        """Return column `i` as a PyArrow array."""
        import narwhals as nw
        import pyarrow as pa

        column = self._table[self.names[i]] if self._is_frame else self._table[:, i]
        try:
            if not self._is_frame:
                return pa.array(column, from_pandas=True)
            native = column.to_native()
            if nw.dependencies.is_pandas_series(native) and hasattr(native, "cat"):
                # PyArrow cannot turn categories of pandas such as intervals into text.
                codes, categories = native.cat.codes.to_numpy(), native.cat.categories
                texts = pa.array(map(text_of, categories), pa.string())
                return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
            return column.to_arrow()
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            values = column.to_list() if self._is_frame else column.tolist()
            raise self._of_two_kinds(values, self.names[i]) from None

    def _of_two_kinds(self, values: list[Any], name: str) -> DataError:
        """Return the error about a column whose values have no type in common."""
        known = [(row, value) for row, value in enumerate(values) if not is_missing(value)]
        row, value = next(
            (one for one in known if kind_of(one[1]) != kind_of(known[0][1])), known[0]
        )
        row += self.first_row
        return DataError(
            f"{self.what} must hold only numbers, only text or only truth values in a column, got "
            f"{type(value).__name__} {brief(value)} in column {name!r}, row {row}.",
            row=row,
        )

    def numbers(self) -> FloatArray:
        """Return all columns as float64, row after row, missing values as NaN.

        An array of float64 in row order is not copied.
        """
        values, is_plain = self._table, self.known is not None and self.names
        if is_plain and self._is_frame:
            values = values.select(self.names).to_numpy()
            is_plain = values.dtype != object  # missing truth values are objects
        if not is_plain:
            rows = np.empty((self.n_rows, len(self.names)))
            for i, name in enumerate(self.names):
                rows[:, i] = arrow_numbers(self.column(i), name, self.what)
            return rows
        if values.dtype == np.float64 and values.flags.c_contiguous:
            return values  # type: ignore[no-any-return]
        rows = np.empty(values.shape)

        def copy(part: slice) -> None:
            rows[part] = values[part]

        by_parts(len(values), copy)  # in threads, if there are many
        return rows


def table_rows(X: Any, names: tuple[str, ...], what: str = "X") -> FloatArray:
    """Return the columns `names` of a data frame, or a 2-D array, as float64.

    Messages call the table `what`.
    """
    return Table(X, names, what).numbers()


def column_weights(X: Any, name: str, what: str, first_row: int) -> FloatArray:
    """Return a column of sample weights; messages count rows from `first_row`."""
    weights = table_rows(X, (name,), what)[:, 0]
    if (bad := ~((weights >= 0) & (weights <= LARGEST))).any():
        row = int(bad.argmax())
        raise DataError(
            f"{what} must have finite weights of at least 0 in column {name!r}, got "
            f"{weights[row]:g} in row {first_row + row}.",
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

    # A column without any value has no type.
    if arrow_kind(column) not in ("number", "truth") and column.type != "null":
        raise DataError(
            f"{what} must hold numbers only, got {what_it_holds(column)} in column {name!r}."
        )
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def what_it_holds(column: Any) -> str:
    """Return a word for the values of a PyArrow column."""
    kind = arrow_kind(column)
    return {"number": "numbers", "truth": "truth values", "category": "text"}.get(
        str(kind), "nothing" if column.type == "null" else str(column.type)
    )


# Values


def check_finite(
    X: FloatArray, names: tuple[str, ...], what: str = "X", first_row: int = 0, *, gaps: bool
) -> None:
    """Refuse infinity and absurd sizes, and without `gaps` missing values as well.

    The message names the column and row of the first, calls the table `what` and counts rows from
    `first_row`.
    """
    # These look twice, but need no memory of their own.
    lowest, highest = (np.fmin, np.fmax) if gaps else (np.minimum, np.maximum)

    def is_usable(part: slice) -> bool:
        low = lowest.reduce(flat[part], initial=0)
        return bool(low >= -LARGEST and highest.reduce(flat[part], initial=0) <= LARGEST)

    flat = np.ascontiguousarray(X).reshape(-1)
    if all(by_parts(len(flat), is_usable)):
        return
    is_bad = ~(np.abs(X) <= LARGEST)
    if gaps:
        is_bad &= ~np.isnan(X)
    row, column = (int(i) for i in np.argwhere(is_bad)[0])
    value, row = float(X[row, column]), first_row + row
    rule, got = what_is_wrong(value)
    where, way_out = f"column {names[column]!r}, row {row}", ""
    if math.isnan(value):
        rule, got = "without missing values (empty cells or NaN)", "one"
        way_out = "; gaps 'impute' or 'skip' allows missing values"
    raise DataError(f"{what} must be {rule}, got {got} in {where}{way_out}.", row=row)


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


def kind_of(value: Any) -> str:
    """Return the kind of a single value; those of one kind have a type in common."""
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, (int, float, np.number)):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__
