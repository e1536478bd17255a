"""Dates as text: recognised, and turned into days since 1970-01-01."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?:[T ]+(.+))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ORDERS = ("day-first", "month-first")


def days_of(text: str, order: str) -> float | None:
    """Return the days from 1970-01-01 to a date, with a time as a fraction; None if it is none.

    Points separate day, month and year in this order; with another mark, "month-first" says that
    the month comes before the day.

    Examples
    --------
    >>> days_of("1970-01-02 12:00", "days"), days_of("1/2/1970", "month-first")
    (1.5, 1.0)
    """
    if (parts := _DATE.fullmatch(text.strip())) is None:
        return None
    year, mark, month, day, time = parts.groups(default="00:00")
    if len(day) == 4:
        is_month_first = order == "month-first" and mark != "."
        year, month, day = (day, year, month) if is_month_first else (day, month, year)
    try:
        moment = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{time}")
    except ValueError:
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH).total_seconds() / 86_400


def is_date(text: str) -> bool:
    """Tell whether a text is a date, with or without a time.

    Examples
    --------
    >>> [is_date(text) for text in ("2026-11-15", "15.11.2026 08:30", "2026-15-11", "3.5.7")]
    [True, True, False, False]
    """
    return any(days_of(text, order) is not None for order in _ORDERS)


def are_dates(texts: Iterable[str]) -> bool:
    """Tell whether all texts are dates."""
    return all(map(is_date, texts))


def date_order(texts: Iterable[str]) -> str | None:
    """Return "day-first" or "month-first" if only one reads all dates; "days" if neither matters.

    None means that both read them, differently.

    Examples
    --------
    >>> date_order(["03/04/2026", "15/04/2026"]), date_order(["03/04/2026"])
    ('day-first', None)
    >>> date_order(["2026-04-03", "03.04.2026"])
    'days'
    """
    days = {order: [days_of(text, order) for text in texts] for order in _ORDERS}
    if days["day-first"] == days["month-first"]:
        return "days"
    read = [order for order in _ORDERS if None not in days[order]]
    return read[0] if len(read) == 1 else None
