"""Per cent where a number is asked for: refused, with the number that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from emsco._base.checks import refused

_PERCENT = re.compile(r"\s*(\d+(\.\d+)?|\.\d+)\s*%\s*")
_SHARES = ("delta", "min_accuracy", "min_coverage")


def meant_by(text: str) -> str:
    """Return a question that names the share meant by a text such as 90%; else nothing.

    Examples
    --------
    >>> meant_by("90%"), meant_by("ill=90%"), meant_by("0.9")
    ('did you mean 0.9?', 'did you mean ill=0.9?', '')
    """
    parts = [part.rpartition("=") for part in text.split(",")]
    found = [_PERCENT.fullmatch(number) for _, _, number in parts]
    if not any(found):
        return ""
    shares = [
        f"{label}{sign}{float(one[1]) / 100:g}" if one else f"{label}{sign}{number}"
        for (label, sign, number), one in zip(parts, found, strict=True)
    ]
    return f"did you mean {','.join(shares)}?"


def refuse_percent(words: Sequence[str], numbers: Collection[str]) -> None:
    """Refuse per cent after an option that takes a number; `numbers` are such options' names."""
    for i, word in enumerate(words):
        option, sign, value = word.partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not sign and i + 1 < len(words):
            value = words[i + 1]
        if option.startswith("--") and name in numbers and _PERCENT.fullmatch(value):
            is_share = name in _SHARES
            rule = "be a number from 0 to 1" if is_share else "be a number"
            raise refused(name, rule, value, hint=meant_by(value) if is_share else "")
