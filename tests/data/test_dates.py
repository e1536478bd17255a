"""Dates as text, and the days since 1970 that they stand for."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.data.dates import are_dates, days_of, is_date


@pytest.mark.parametrize(
    ("text", "days"),
    [("1970-01-02", 1), ("02.01.1970", 1), ("1970/1/2", 1), ("1970-01-01T12:00", 0.5)],
)
def test_dates_are_days_since_1970(text, days):
    assert days_of(text, "days") == days


@settings(max_examples=50)
@given(st.dates(min_value=datetime.date(1000, 1, 1)), st.times(timezones=st.none()))
def test_every_date_is_read_back(day, time):
    moment = datetime.datetime.combine(day, time.replace(microsecond=0))
    wanted = (moment - datetime.datetime(1970, 1, 1)).total_seconds() / 86_400
    for text in (str(moment), moment.isoformat(), moment.strftime("%d.%m.%Y %H:%M:%S")):
        assert is_date(text)
        assert days_of(text, "days") == pytest.approx(wanted, abs=1e-5)
    slashed = day.strftime("%m/%d/%Y")
    assert days_of(slashed, "month-first") == (day - datetime.date(1970, 1, 1)).days


def test_what_is_no_date_is_none():
    texts = ["2026-13-01", "31/31/2026", "1.5.7", "12:30", "2026", "red", "1/2/26"]
    assert not any(map(is_date, texts))
    assert days_of("red", "days") is None
    assert not are_dates(["2026-01-01", "red"])
