"""What a user says of a text file: refused if no file can be so, and kept in a file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco._base.documents import Fields
from emsco.app.files.reading import Reading
from emsco.errors import FileError, ParameterError


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"separator": "::"}, "separator must be one character, or tab, got '::'"),
        ({"decimal": ";"}, 'decimal must be one of ".", ","'),
        ({"dates": "day"}, "dates must be one of .*; did you mean 'days'"),
        ({"decimal": ",", "separator": ","}, "decimal must differ from the separator"),
    ],
)
def test_what_no_file_can_have_is_refused(told, words):
    with pytest.raises(ParameterError, match=words):
        Reading(**told)


@settings(max_examples=30)
@given(
    st.none() | st.lists(st.sampled_from(["?", "-9", "x"]), max_size=2).map(tuple),
    st.sampled_from([None, ";", "\t", "|"]),
    st.sampled_from([None, ".", ","]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "days", "month-first"]),
)
def test_a_reading_survives_a_file(na, separator, decimal, header, dates):
    reading = Reading(na, separator, decimal, header, dates)
    assert Reading.from_dict(Fields(reading.to_dict(), "reading")) == reading
    assert reading.over(Reading()) == Reading().over(reading) == reading


@pytest.mark.parametrize(
    "fields", [{"dates": "soon"}, {"header": 1}, {"na": "?"}, {"separator": 5}]
)
def test_a_false_reading_of_a_file_is_refused(fields):
    with pytest.raises(FileError, match="reading"):
        Reading.from_dict(Fields(fields, "reading"))
