"""Profiles of the columns of a file: kind, different values, gaps, and what a fit would refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emsco._base.documents import PathLike
from emsco._base.text import counted, listed, shorten
from emsco.app.files.csv import NUMBER, CsvFile, date_remedy
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.tables import open_table
from emsco.data.columns import MOST_CATEGORIES
from emsco.data.dates import are_dates, date_order, days_of
from emsco.errors import Hint, Part, Remedy

_COMMONEST, _WIDTH = 3, 14


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
    refusal : tuple of str, Parameter or Hint
        Why a fit would refuse the column, and the way out; empty if it would not.
    """

    name: str
    kind: str
    n_different: int
    n_missing: int
    values: str
    refusal: tuple[Part, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "different": self.n_different,
            "missing": self.n_missing,
            "values": self.values,
            "refused": "".join(map(str, self.refusal)) or None,
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
            table = file.with_missing(table, texts)
    told = reading.dates is not None
    return table.num_rows, tuple(_profile(name, table.column(name), told) for name in names)


def _profile(name: str, column: Any, dates_told: bool) -> ColumnProfile:
    import pyarrow as pa

    kind, n_missing = column.type, int(column.is_null(nan_is_null=True).to_numpy().sum())
    if n_missing == len(column):
        return ColumnProfile(name, "empty", 0, n_missing, "", _refusal("has no value", name))
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(name, column, n_missing)
    if pa.types.is_boolean(kind):
        counts = Counter(column.drop_null().to_pylist())
        values = ", ".join(f"{str(value).lower()} {n:,}" for value, n in counts.most_common())
        return ColumnProfile(name, "truth", len(counts), n_missing, values)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = column.cast(pa.string())
    elif not _is_text(kind):
        why = _refusal(f"holds {kind}, neither numbers nor text", name)
        return ColumnProfile(name, "other", 0, n_missing, "", why)
    return _texts(name, column, n_missing, dates_told)


def _numbers(name: str, column: Any, n_missing: int) -> ColumnProfile:
    import pyarrow as pa
    from pyarrow import compute

    known = column.cast(pa.float64()).drop_null()
    ends = compute.min_max(known).as_py()
    values = f"{ends['min']:.6g} to {ends['max']:.6g}"
    n_different = int(compute.count_distinct(known).as_py())
    return ColumnProfile(name, "number", n_different, n_missing, values)


def _texts(name: str, column: Any, n_missing: int, dates_told: bool) -> ColumnProfile:
    from pyarrow import compute

    pairs = compute.value_counts(column.drop_null()).to_pylist()
    counts = Counter({one["values"]: one["counts"] for one in pairs})
    common = [f"{shorten(text, _WIDTH)} {n:,}" for text, n in counts.most_common(_COMMONEST)]
    values = listed(common, _COMMONEST)
    if are_dates(counts):
        order = date_order(counts) or "day-first"
        day = {text: days_of(text, order) or 0.0 for text in counts}
        values = f"{min(counts, key=day.__getitem__)} to {max(counts, key=day.__getitem__)}"
        hint = (f"column {name!r} holds dates; ", *date_remedy(name, may_drop=True))
        return ColumnProfile(
            name, "date", len(counts), n_missing, values, () if dates_told else hint
        )
    other = [text for text in counts if not NUMBER.fullmatch(text)]
    if 0 < len(other) < len(counts):
        odd = other[0]
        na = f"column {name!r} mixes numbers and text such as {odd!r}; if that means a missing "
        why: tuple[Part, ...] = (na, "value, ", Hint(Remedy.NA, (odd,)), ".")
        return ColumnProfile(name, "mixed", len(counts), n_missing, values, why)
    too_many: tuple[Part, ...] = ()
    if len(counts) > MOST_CATEGORIES:
        too_many = _refusal(f"has {counted(len(counts), 'different text')}, too many", name)
    return ColumnProfile(name, "text", len(counts), n_missing, values, too_many)


def _refusal(why: str, name: str) -> tuple[Part, ...]:
    return f"column {name!r} {why}; ", Hint(Remedy.DROP, (name,)), "."


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
