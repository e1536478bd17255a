"""What every error has in common: a sentence or two that a person can act on."""

from __future__ import annotations

import re


def assert_is_a_sentence(said: str, shown: str) -> None:
    """One or two sentences on one line, which show what was given."""
    assert re.fullmatch(r"[^\n]{20,400}[.?]", said), said
    assert len(re.findall(r"[.?] [A-Z]", said)) <= 1, said
    assert shown in said, said
