"""What stands between the cells of a CSV file, for tables and for files of costs."""

from __future__ import annotations

import csv
from contextlib import suppress
from io import StringIO
from itertools import islice

_OTHERS = (";", "\t", "|")  # noticed if there is no comma


def first_records(text: str, separator: str, n_records: int) -> list[list[str]]:
    """Return the first records of a text; blank lines are empty ones."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # a cell may be too long, or have a line break of its own kind
        reader = csv.reader(StringIO(text, newline=""), delimiter=separator)
        records.extend(islice(reader, n_records))
    return records


def separator_of(text: str) -> str:
    """Return the separator: a comma, unless the first line has none but one of the others.

    Examples
    --------
    >>> separator_of("feature;cost"), separator_of("feature,fee;cost")
    (';', ',')
    """

    def splits(separator: str) -> bool:
        first = next(filter(None, first_records(text, separator, 50)), [])
        return len(first) > 1

    others = [separator for separator in _OTHERS if splits(separator)]
    return others[0] if len(others) == 1 and not splits(",") else ","
