"""Tables out, as whichever data frame the user works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from emsco.errors import DataError, not_installed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Columns", "like", "shell_of", "to_pandas", "to_polars", "to_pyarrow"]

Columns: TypeAlias = Mapping[str, Any]

_MAY_MISS = {"i": "Int64", "u": "Int64", "f": "Float64", "b": "boolean", "O": "object"}


def to_pandas(columns: Columns) -> pd.DataFrame:
    """A pandas table; masked values are missing."""
    frame: pd.DataFrame = _build(columns, "pandas")
    for name, column in columns.items():
        if np.ma.isMaskedArray(column):  # whole numbers stay whole beside missing ones
            kind: Any = _MAY_MISS.get(column.dtype.kind, "string")
            frame[name] = frame[name].astype(kind)
    return frame


def to_polars(columns: Columns) -> pl.DataFrame:
    """A Polars table; masked values are missing."""
    frame: pl.DataFrame = _build(columns, "polars")
    import polars as pl

    kinds = {"i": pl.Int64, "u": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    untyped = [name for name in columns if frame.schema[name] == pl.Null]  # all are missing
    types: Any = {
        name: kinds.get(np.asarray(columns[name]).dtype.kind, pl.String) for name in untyped
    }
    return frame.cast(types)


def to_pyarrow(columns: Columns) -> pa.Table:
    """A PyArrow table; masked values are missing."""
    import pyarrow as pa

    found = {}
    for name, column in columns.items():
        array = np.asarray(column)
        # With the type of all values: where each is masked, the others would tell none.
        kind = pa.array(array).type if array.dtype.kind in "biuf" else None
        kind = pa.string() if array.dtype.kind == "U" else kind
        try:
            found[name] = pa.array(_plain(column), kind)
        except pa.ArrowException as error:
            raise DataError(
                f"column {name!r} must hold values of one type for PyArrow: {error}."
            ) from None
    return pa.table(found)


def like(table: Any, columns: Columns) -> Any:
    """Columns as the same kind of data frame as a table: pandas, Polars or PyArrow.

    A pandas one has the index of `table`, where it has as many rows.

    Raises
    ------
    DataError
        Where `table` is none of them, such as an array.
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
    """A data frame of the same kind, and pandas index, without columns; None for other tables."""
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
