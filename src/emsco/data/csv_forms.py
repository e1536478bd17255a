"""The form of a CSV file: separator, names, decimal mark and missing values, told or noticed."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import StringIO, TextIOWrapper
from itertools import islice
from typing import TextIO

from emsco._base.documents import PathLike
from emsco._base.text import brief, some
from emsco.data.dates import is_date
from emsco.data.reading import Reading
from emsco.errors import DataError, Hint, Part, Remedy

__all__ = [
    "BLOCK",
    "NUMBER",
    "CsvForm",
    "line_of",
    "look_at",
    "records_of",
]

BLOCK = 2**22  # bytes to read at a time; no row may be longer
# PyArrow reads digits of ASCII only.
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?", re.ASCII)
_POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?", re.ASCII)

# A missing value in any column. PyArrow has the same list; it is ours, so that it never changes.
_USUAL: tuple[str, ...] = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>"),
)
# In columns of numbers these can mean nothing else; among texts, only "?" is taken.
_IN_TEXT = ("?",)
_AMONG_NUMBERS: tuple[str, ...] = (
    *("?", "??", "-", "--", "---", ".", "..", "*", "NAN", "Nan", "NaT", "None", "none", "NONE"),
    *("Null", "na", "Na", "N.A.", "n.a.", "nil", "missing", "Missing", "MISSING", "unknown"),
    *("Unknown", "UNKNOWN", "(null)", "#VALUE!", "#DIV/0!"),
)

_OTHERS = (";", "\t", "|")  # separators that are noticed, if there is no comma
_LOOK = 1_000  # rows to look at


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is read.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    separator, decimal : str
    n_skipped : int
        Lines before the first row, without those inside of quotes: blank ones and the names.
    among_numbers, in_text : tuple of str
        Texts that mark a missing value in columns of numbers, and in others.
    unusual : frozenset of str
        Markers to tell the user of, if they occur.
    dates : str or None
        As for `Reading`.
    notes : tuple of tuples of parts
        Sentences about what was noticed.
    """

    names: tuple[str, ...]
    separator: str = ","
    decimal: str = "."
    n_skipped: int = 1
    among_numbers: tuple[str, ...] = (*_USUAL, *_AMONG_NUMBERS)
    in_text: tuple[str, ...] = (*_USUAL, *_IN_TEXT)
    unusual: frozenset[str] = frozenset(_AMONG_NUMBERS)
    dates: str | None = None
    notes: tuple[tuple[Part, ...], ...] = ()


def look_at(path: PathLike, reading: Reading) -> CsvForm:
    """Look at the beginning of a CSV file, and return its form.

    Raises
    ------
    DataError
        If the file is empty, not UTF-8, or has no names of columns.
    """
    head = _head(path)
    is_tabbed = str(path).lower().removesuffix(".gz").endswith(".tsv")
    separator = reading.separator or ("\t" if is_tabbed else _separator(head))
    raw = _records(head, separator, _LOOK)
    n_blank = next((i for i, record in enumerate(raw) if record), len(raw))
    records = [[cell.strip() for cell in record] for record in raw if record]
    if not records:
        raise DataError(f"{path} must be a whole table: Empty CSV file.")
    notes: list[tuple[Part, ...]] = []
    if reading.separator is None and separator != "," and not is_tabbed:
        said = (f"{path} was read with {_called(separator)} between columns.",)
        notes.append(said)
    first, rows = records[0], records[1:]
    if reading.header is None and _has_values(first, rows):
        raise DataError(
            f"{path} must have the names of its columns in the first line, got values "
            f"({', '.join(map(brief, first[:4]))}); ",
            Hint(Remedy.HEADER),
            ".",
        )
    if reading.header is False:
        names, rows = _numbered(len(first)), records
    else:
        names = tuple(name or f"column{i}" for i, name in enumerate(first, start=1))
        if unnamed := [name for name, own in zip(names, first, strict=True) if not own]:
            notes.append((f"{path} has no name for {some(unnamed)}, which counts its columns.",))
    form = CsvForm(
        names,
        separator,
        n_skipped=n_blank + (reading.header is not False),
        dates=reading.dates,
        notes=tuple(notes),
    )
    if reading.na is not None:
        told = tuple(text.strip() for text in reading.na)
        among, inside = (*_USUAL, *told), ("", *told)
        form = replace(form, among_numbers=among, in_text=inside, unusual=frozenset())
    return _with_decimal(path, form, reading.decimal, rows)


def _head(path: PathLike) -> str:
    """Return the first block as text, without its last line if that may be cut."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        content: bytes = stream.read(BLOCK)
        is_whole = len(content) < BLOCK
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} must be text in UTF-8, got UTF-16; save it as CSV in UTF-8.")
    if not is_whole:
        content = content[: content.rfind(b"\n") + 1] or content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not is_whole and error.start > len(content) - 4:
            return content[: error.start].decode("utf-8-sig")
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path} must be text in UTF-8, got the byte 0x{content[error.start]:02x} in line "
            f"{line}; save it as CSV in UTF-8."
        ) from None


def _records(text: str, separator: str, most: int) -> list[list[str]]:
    """Return the first records; blank lines are empty ones."""
    found: list[list[str]] = []
    with suppress(csv.Error):  # a cell may be too long, or have a line break of its own kind
        found.extend(islice(csv.reader(StringIO(text, newline=""), delimiter=separator), most))
    return found


def _separator(head: str) -> str:
    """Return the separator: a comma, unless the first line has none but one of the others."""

    def n_cells(separator: str) -> int:
        first = next((one for one in _records(head, separator, 50) if one), [])
        return len(first)

    if n_cells(",") > 1:
        return ","
    found = [separator for separator in _OTHERS if n_cells(separator) > 1]
    return found[0] if len(found) == 1 else ","


def _called(separator: str) -> str:
    return "tabs" if separator == "\t" else f"{separator!r}"


def _numbered(n_columns: int) -> tuple[str, ...]:
    return tuple(f"column{i}" for i in range(1, n_columns + 1))


def _has_values(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first line holds values: numbers, dates, and texts that come again below."""
    plain = [cell for cell in first if cell]
    if not plain or plain in (_counting(plain, 0), _counting(plain, 1)):
        return False
    if not any(_is_value(cell) for cell in plain):
        return False
    for i, cell in enumerate(first):
        if cell and not _is_value(cell) and cell not in {row[i] for row in rows if i < len(row)}:
            return False
    return True


def _counting(cells: Sequence[str], start: int) -> list[str]:
    return [str(i) for i in range(start, start + len(cells))]


def _is_value(cell: str) -> bool:
    is_number = NUMBER.fullmatch(cell) or _COMMA_NUMBER.fullmatch(cell)
    return bool(is_number) or cell == "?" or is_date(cell)


def _with_decimal(
    path: PathLike, form: CsvForm, decimal: str | None, rows: Sequence[Sequence[str]]
) -> CsvForm:
    """Return the form with the decimal mark that is told, or that all numbers have."""
    if decimal is not None:
        return replace(form, decimal=decimal)
    markers, commas, points = set(form.among_numbers), "", False
    for i, name in enumerate(form.names):
        cells = {row[i] for row in rows if i < len(row)} - markers
        points |= any(map(_POINT_NUMBER.fullmatch, cells))
        with_comma = next(filter(_COMMA_NUMBER.fullmatch, sorted(cells)), None)
        if with_comma and all(_is_comma_number(cell) for cell in cells):
            commas = commas or f"{with_comma!r} in column {name!r}"
    if not commas:
        return form
    if points:
        raise DataError(
            f"{path} must have one decimal mark, got {commas} beside numbers with a point; ",
            Hint(Remedy.DECIMAL_POINT),
            ".",
        )
    said = (f"{path} was read with a decimal comma ({commas}); ", Hint(Remedy.DECIMAL_POINT), ".")
    return replace(form, decimal=",", notes=(*form.notes, said))


def _is_comma_number(cell: str) -> bool:
    return bool(_COMMA_NUMBER.fullmatch(cell) or NUMBER.fullmatch(cell)) and "." not in cell


@contextmanager
def _text(path: PathLike) -> Iterator[TextIO]:
    import pyarrow as pa

    content = pa.input_stream(path, compression="detect")
    with TextIOWrapper(content, "utf-8-sig", "replace", newline="") as text:
        yield text


def records_of(path: PathLike, form: CsvForm) -> Iterator[tuple[int, list[str]]]:
    """Yield the line at which each row begins, and its cells; blank lines are no rows."""
    with _text(path) as text, suppress(csv.Error):
        reader, line = csv.reader(text, delimiter=form.separator), 1
        for number, cells in enumerate(reader):
            if cells and number >= form.n_skipped:
                yield line, cells
            line = reader.line_num + 1


def line_of(path: PathLike, form: CsvForm, row: int) -> int | None:
    """Return the line of the file at which a row begins, counted from 1; None if there is none."""
    found = next(islice(records_of(path, form), max(0, row - 1), None), None)
    return None if found is None else found[0]
