"""Results as data frames of pandas, Polars or PyArrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

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
        """Return `columns` as a pandas table; masked values are missing."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise not_installed("pandas") from None
        columns = self.columns()
        frame = pd.DataFrame({name: _plain(column) for name, column in columns.items()})
        for name, column in columns.items():
            if np.ma.isMaskedArray(column):  # keep whole numbers whole beside missing values
                frame[name] = frame[name].astype(_MAY_MISS.get(column.dtype.kind, "string"))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return `columns` as a Polars table; masked values are missing."""
        try:
            import polars as pl
        except ModuleNotFoundError:
            raise not_installed("polars") from None
        return pl.DataFrame(pl.from_arrow(self.to_pyarrow()))

    def to_pyarrow(self) -> pa.Table:
        """Return `columns` as a PyArrow table; masked values are missing."""
        import pyarrow as pa

        arrays = {}
        for name, column in self.columns().items():
            # Take the type from masked values too, since a column may have no others.
            kind = np.asarray(column).dtype
            known = None if kind.hasobject else pa.from_numpy_dtype(kind)
            try:
                arrays[name] = pa.array(_plain(column), known)
            except pa.ArrowException as error:
                raise DataError(
                    f"column {name!r} must hold values of one type for PyArrow: {error}."
                ) from None
        return pa.table(arrays)

    def like(self, shell: Any) -> Any:
        """Return `columns` as a data frame of the library that `shell` is of; pandas if it is None.

        A pandas result gets the index of the shell if it has as many rows.
        """
        from narwhals import dependencies

        if dependencies.is_polars_dataframe(shell):
            return self.to_polars()
        if dependencies.is_pyarrow_table(shell):
            return self.to_pyarrow()
        frame = self.to_pandas()
        has_index = shell is not None and len(shell) == len(frame)
        return frame.set_axis(shell.index) if has_index else frame


def shell_of(table: Any) -> Any:
    """Return the data frame without its columns, a pandas one with its index; else None."""
    from narwhals import dependencies

    if dependencies.is_pandas_dataframe(table):
        return table.iloc[:, :0]
    if dependencies.is_polars_dataframe(table) or dependencies.is_pyarrow_table(table):
        return table.select([])
    return None


def _plain(column: Any) -> Any:
    return column.tolist() if hasattr(column, "tolist") else column
