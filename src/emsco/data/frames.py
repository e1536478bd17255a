"""Results as data frames of pandas, Polars or PyArrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from emsco.errors import DataError, not_installed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Columns: TypeAlias = Mapping[str, Any]

_MAY_MISS = {"i": "Int64", "u": "Int64", "f": "Float64", "b": "boolean", "O": "object"}


class Tabular:
    """Results that are also a table: `columns` has them by name."""

    __slots__ = ()

    def columns(self) -> Columns:
        """Return the table as columns by name; what is missing is masked."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return `columns` as a pandas table."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """Return `columns` as a Polars table."""
        return to_polars(self.columns())

    def to_pyarrow(self) -> pa.Table:
        """Return `columns` as a PyArrow table."""
        return to_pyarrow(self.columns())


def to_pandas(columns: Columns) -> pd.DataFrame:
    """Return columns as a pandas table; masked values are missing."""
    frame: pd.DataFrame = _build(columns, "pandas")
    for name, column in columns.items():
        if np.ma.isMaskedArray(column):  # keep whole numbers whole beside missing values
            kind: Any = _MAY_MISS.get(column.dtype.kind, "string")
            frame[name] = frame[name].astype(kind)
    return frame


def to_polars(columns: Columns) -> pl.DataFrame:
    """Return columns as a Polars table; masked values are missing."""
    frame: pl.DataFrame = _build(columns, "polars")
    import polars as pl

    kinds = {"i": pl.Int64, "u": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    # A column without any value has no type yet.
    untyped = [name for name in columns if frame.schema[name] == pl.Null]
    types: Any = {
        name: kinds.get(np.asarray(columns[name]).dtype.kind, pl.String) for name in untyped
    }
    return frame.cast(types)


def to_pyarrow(columns: Columns) -> pa.Table:
    """Return columns as a PyArrow table; masked values are missing."""
    import pyarrow as pa

    arrays = {}
    for name, column in columns.items():
        array = np.asarray(column)
        # Take the type from masked values too, since a column may have no others.
        kind = pa.array(array).type if array.dtype.kind in "biuf" else None
        kind = pa.string() if array.dtype.kind == "U" else kind
        try:
            arrays[name] = pa.array(_plain(column), kind)
        except pa.ArrowException as error:
            raise DataError(
                f"column {name!r} must hold values of one type for PyArrow: {error}."
            ) from None
    return pa.table(arrays)


def like(table: Any, columns: Columns) -> Any:
    """Return columns as the same kind of data frame as `table`: pandas, Polars or PyArrow.

    A pandas result gets the index of `table` if both have the same number of rows.

    Raises
    ------
    DataError
        If `table` is not such a data frame.
    """
    from narwhals import dependencies

    if dependencies.is_polars_dataframe(table):
        return to_polars(columns)
    if dependencies.is_pyarrow_table(table):
        return to_pyarrow(columns)
    if dependencies.is_pandas_dataframe(table):
        frame = to_pandas(columns)
        return frame.set_axis(table.index) if len(frame) == len(table) else frame
    raise DataError(
        f"table must be a data frame of pandas, Polars or PyArrow, got {type(table).__name__}."
    )


def shell_of(table: Any) -> Any:
    """Return the data frame without its columns, a pandas one with its index; else None."""
    from narwhals import dependencies

    if dependencies.is_pandas_dataframe(table):
        return table.iloc[:, :0]
    if dependencies.is_polars_dataframe(table) or dependencies.is_pyarrow_table(table):
        return table.select([])
    return None


def _build(columns: Columns, backend: Literal["pandas", "polars"]) -> Any:
    import narwhals as nw

    plain = {name: _plain(column) for name, column in columns.items()}
    try:
        return nw.from_dict(plain, backend=backend).to_native()
    except ModuleNotFoundError:
        raise not_installed(backend) from None


def _plain(column: Any) -> Any:
    return column.tolist() if hasattr(column, "tolist") else column
