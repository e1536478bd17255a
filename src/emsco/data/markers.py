"""Markers of missing values that nobody has told of: count them, and say so."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from emsco._base.documents import PathLike
from emsco._base.text import counted, some
from emsco.data.csv_files import CsvTypes, csv_batches
from emsco.data.csv_forms import CsvForm
from emsco.errors import Hint, ReadingWarning, Remedy

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["say_what_was_noticed"]


def say_what_was_noticed(
    path: PathLike, form: CsvForm, table: pa.Table, names: Sequence[str]
) -> None:
    """Warn of what was noticed about a file, and of texts that were read as missing values.

    Parameters
    ----------
    path : path
    form : CsvForm
    table : pyarrow.Table
        The columns as read, texts as they are in the file.
    names : sequence of str
        Columns to look at.
    """
    for note in form.notes:
        warnings.warn(ReadingWarning(*note), stacklevel=4)
    if not form.unusual:
        return
    texts = [name for name in names if _is_text(table.column(name))]
    with_gaps = [name for name in names if name not in texts and table.column(name).null_count]
    found = _count([table], texts, set(form.in_text) - {""})
    among = form.unusual | set(form.among_numbers) - {""}
    in_numbers = _count(_as_text(path, form, with_gaps), with_gaps, among)
    if found or any(text in form.unusual for _, text in in_numbers):
        found += in_numbers
        columns = list(dict.fromkeys(name for name, _ in found))
        markers = sorted({text for _, text in found})
        were = f"{some(markers)} {'was' if len(markers) == 1 else 'were'} read as missing"
        where = f"{counted(found.total(), 'value')} in {_columns(columns)}"
        warnings.warn(
            ReadingWarning(f"{path}: {were}, {where}; ", Hint(Remedy.KEEP_TEXT), "."), stacklevel=4
        )


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {some(names)}"


def _as_text(path: PathLike, form: CsvForm, names: Sequence[str]) -> Iterable[pa.Table]:
    import pyarrow as pa

    if not names:
        return ()
    return csv_batches(path, form, list(names), CsvTypes(dict.fromkeys(names, pa.string())))


def _count(
    batches: Iterable[pa.Table], names: Sequence[str], markers: Iterable[str]
) -> Counter[tuple[str, str]]:
    """Count how often each marker stands in each column."""
    from pyarrow import compute

    wanted, found = set(markers), Counter[tuple[str, str]]()
    for batch in batches:
        for name in names:
            counts: Any = compute.value_counts(compute.utf8_trim_whitespace(batch.column(name)))
            for one in counts.to_pylist() if len(counts) else ():
                if one["values"] in wanted:
                    found[name, one["values"]] += one["counts"]
    return found


def _is_text(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
