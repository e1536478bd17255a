"""What a user says of a text file: refused if no file can be so, and kept in a file."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from emsco._base.documents import Fields
from emsco.app.files.reading import Reading


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
