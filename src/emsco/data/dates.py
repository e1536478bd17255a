"""Dates as text: recognised, and turned into days since 1970-01-01."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

_TIME = r"([T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}")
_EPOCH = date(1970, 1, 1)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?\s*(?:Z|([+-])(\d{2}):?(\d{2}))?")


def is_date(text: str) -> bool:
    """Tell whether a text is a date, with or without a time.

    Examples
    --------
    >>> [is_date(text) for text in ("2026-11-15", "15.11.2026 08:30", "2026-15-11", "3.5.7")]
    [True, True, False, False]
    """
    return _day(text, "day-first") is not None or _day(text, "month-first") is not None


def are_dates(texts: Iterable[str]) -> bool:
    """Tell whether texts are dates such as 2026-11-15 or 15/11/2026, with or without a time.

    Examples
    --------
    >>> are_dates(["2026-11-15", "2026-11-16 08:30"]), are_dates(["2026-15-11"])
    (True, False)
    """
    return all(map(is_date, texts))


def date_order(texts: Iterable[str]) -> str | None:
    """Return "day-first" or "month-first" if only one reads all dates; "days" if neither matters.

    None means that both read them, differently. Points separate day, month and year in this order.

    Examples
    --------
    >>> date_order(["03/04/2026", "15/04/2026"]), date_order(["03/04/2026"])
    ('day-first', None)
    >>> date_order(["2026-04-03", "03.04.2026"])
    'days'
    """
    asked = [text for text in texts if (parts := _parts(text)) and parts[0] == "either"]
    if not asked:
        return "days"
    read = [
        order
        for order in ("day-first", "month-first")
        if all(_day(text, order) is not None for text in asked)
    ]
    return read[0] if len(read) == 1 else None


def days_of(text: str, order: str) -> float | None:
    """Return the days from 1970-01-01 to a date, with a time as a fraction; None if it is none.

    Examples
    --------
    >>> days_of("1970-01-02 12:00", "days"), days_of("1/2/1970", "month-first")
    (1.5, 1.0)
    """
    day = _day(text, "day-first" if order == "days" else order)
    if day is None:
        return None
    days = (day - _EPOCH).days
    if (clock := _CLOCK.search(text.strip()[8:])) is None:
        return float(days)
    hours, minutes, seconds = (int(clock[i] or 0) for i in (1, 2, 3))
    fraction = float(f"0.{clock[4]}") if clock[4] else 0.0
    shift = (int(clock[6]) * 60 + int(clock[7])) * (-1 if clock[5] == "-" else 1) if clock[5] else 0
    return days + (hours * 60 + minutes - shift + (seconds + fraction) / 60) / (24 * 60)


def _day(text: str, order: str) -> date | None:
    parts = _parts(text)
    if parts is None:
        return None
    kind, year, first, second = parts
    is_day_first = kind == "day-first" or (kind == "either" and order == "day-first")
    try:
        return date(year, second, first) if is_day_first else date(year, first, second)
    except ValueError:
        return None


def _parts(text: str) -> tuple[str, int, int, int] | None:
    """Return what the order of a date's parts is, the year and the two other parts."""
    text = text.strip()
    if parts := _YEAR_FIRST.fullmatch(text):
        return "year-first", int(parts[1]), int(parts[3]), int(parts[4])
    if parts := _YEAR_LAST.fullmatch(text):
        kind = "day-first" if parts[2] == "." else "either"
        return kind, int(parts[4]), int(parts[1]), int(parts[3])
    return None
