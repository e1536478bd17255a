"""Text on a canvas: wrapped lines fit and leave nothing out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.plotting.canvas import text_size, wrap_items


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1), max_size=6),
    st.floats(0.3, 4),
)
def test_wrapped_lines_fit_and_leave_nothing_out(names, width):
    lines = wrap_items(names, width, 7)
    assert "".join(lines).replace(" ", "") == ",".join(names)
    assert all(len(line) == 1 or text_size(line, 7)[0] <= width for line in lines)


def test_an_item_is_broken_at_its_blanks_before_anything_else():
    width = text_size("perimeter_of", 7)[0]
    assert wrap_items(["a perimeter_of"], width, 7) == ["a", "perimeter_of"]
