"""Text for messages, tables and pictures: values, counts, lists and objectives."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Protocol

_NARROW = 0.02  # of an interval
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)

DAY = 86_400.0  # seconds


def shorten(text: str, width: int) -> str:
    """Return at most `width` characters of `text`; an ellipsis marks a cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def brief(value: object, width: int = 60) -> str:
    """Return a value on one line of about `width` characters; text keeps its quotes.

    Examples
    --------
    >>> brief(list(range(100)), width=20)
    '[0, 1, 2, 3, 4, 5, …'
    """
    try:
        if isinstance(value, str):
            return repr(shorten(value, width))
        return shorten(" ".join(repr(value).split()), width)
    except Exception:  # a repr of foreign code may raise anything
        return f"a {type(value).__name__} without a repr"


def message_of(error: BaseException) -> str:
    """Return the message of an error; it is empty if the error cannot say it."""
    try:
        return str(error)
    except Exception:  # foreign code may raise anything
        return ""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    return (message_of(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def visible(text: str) -> str:
    r"""Return text for a terminal: control characters are written out, except tabs and new lines.

    Names in files may hold escape sequences, which would colour, move or hide what a terminal
    shows; so would marks that turn the direction of writing.

    Examples
    --------
    >>> print(visible("age\x1b[31m, pulse"))
    age\x1b[31m, pulse
    """
    return _CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def counted(number: float, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "row"), counted(12345, "row")
    ('1 row', '12,345 rows')
    """
    shown = whole(number)
    return f"{shown} {noun}{'' if shown == '1' else 's'}"


def whole(number: float) -> str:
    """Return a count to the nearest whole number; weights below 1 keep a digit.

    Rows with weights, and rows that several rounds of folds have scored, are no whole numbers.

    Examples
    --------
    >>> whole(1234), whole(7.333), whole(0.0), whole(1 / 3)
    ('1,234', '7', '0', '0.3')
    """
    return f"{number:,.0f}" if number >= 1 or number == 0 else f"{number:.1g}"


def rounded(number: float, digits: int = 4) -> str:
    """Return a number with so many digits, or all of a large one, but never as a power of ten.

    Examples
    --------
    >>> rounded(981.14), rounded(12345.6), rounded(1031.2, digits=3), rounded(0.92104, digits=3)
    ('981.1', '12346', '1031', '0.921')
    >>> rounded(0.0000103)
    '0.0000103'
    """
    if abs(number) >= 10**digits:
        return f"{number:.0f}"
    text = f"{number:.{digits}g}"
    return f"{Decimal(text):f}" if "e-" in text else text


def duration(seconds: float) -> str:
    """Write a duration in the largest unit of which it has two or more.

    Examples
    --------
    >>> duration(200)
    'about 3 minutes'
    """
    if seconds < 1:
        return "a second or less"
    if seconds > 1e15 * DAY:
        return "more than 10^12 years"
    units = (("years", 365.25 * DAY), ("days", DAY), ("hours", 3600.0), ("minutes", 60.0))
    for name, length in units:
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {name}"
    return "about 1 second" if round(seconds) == 1 else f"about {seconds:.0f} seconds"


def add_up(parts: Sequence[float]) -> list[float]:
    """Return parts as whole numbers that add up to their sum, as rounded; as they are below 1.

    The parts that lose most are rounded up, the first of them where several lose the same.

    Examples
    --------
    >>> add_up([1.25, 32.5, 67.25]), add_up([0.25, 0.5])
    ([1, 33, 67], [0.25, 0.5])
    """
    total = math.fsum(parts)
    if total < 1:
        return list(parts)
    rounded = [math.floor(part) for part in parts]
    # Rounded, so that thirds lose the same wherever they stand.
    most_lost = sorted(range(len(parts)), key=lambda i: round(rounded[i] - parts[i], 6))
    for i in most_lost[: round(total) - sum(rounded)]:
        rounded[i] += 1
    return [*rounded]


def listed(names: Sequence[str], max_names: int) -> str:
    """Return the first `max_names` names, and how many more there are.

    Examples
    --------
    >>> listed(["age", "pulse", "scan"], max_names=2)
    'age, pulse and 1 more'
    """
    shown = ", ".join(names[:max_names])
    return shown if len(names) <= max_names else f"{shown} and {len(names) - max_names:,} more"


def some(names: Sequence[object], max_names: int = 5) -> str:
    """Return the repr of the first `max_names` values, and how many more there are.

    Examples
    --------
    >>> some(["a", "b", "c"], max_names=2)
    "'a', 'b' and 1 more"
    """
    return listed([brief(name) for name in names], max_names)


def what_was_meant(name: object, known: Iterable[object]) -> str:
    """Return the end of a sentence about an unknown name; it suggests the known one most like it.

    Case, spaces and underscores do not matter.

    Examples
    --------
    >>> what_was_meant("platlets", ["age", "platelets"]), what_was_meant("ID", ["age", "id"])
    ("; did you mean 'platelets'?", "; did you mean 'id'?")
    >>> what_was_meant("pulse", ["age", "id"])
    '.'
    """
    plain = {_folded(one): one for one in known}
    asked = _folded(name)
    like = [asked] if asked in plain else get_close_matches(asked, list(plain), n=1)
    return f"; did you mean {plain[like[0]]!r}?" if like and asked else "."


def _folded(name: object) -> str:
    return re.sub(r"[\s_-]+", "", str(name)).casefold()


def share_with(share: float, low: float, high: float) -> str:
    """Return a share with its interval; a narrow one has more digits.

    Examples
    --------
    >>> share_with(0.8744, 0.8321, 0.9052)
    '0.874 (0.83 to 0.91)'
    >>> share_with(0.9831, 0.9812, 0.9849)
    '0.983 (0.981 to 0.985)'
    """
    digits = 3 if high - low < _NARROW else 2
    return f"{share:.3f} ({low:.{digits}f} to {high:.{digits}f})"


def percent_with(share: float, low: float, high: float, digits: int = 0) -> str:
    """Return a share with its interval in per cent, for tables; a narrow one has more digits.

    Examples
    --------
    >>> percent_with(0.8744, 0.8321, 0.9052)
    '87.4% (83 to 91)'
    >>> percent_with(0.8744, 0.8721, 0.8766)
    '87.4% (87.2 to 87.7)'
    """
    digits = max(digits, int(high - low < _NARROW))
    return f"{share:.1%} ({100 * low:.{digits}f} to {100 * high:.{digits}f})"


class _Scored(Protocol):
    """A value with the three objectives."""

    @property
    def coverage(self) -> float: ...
    @property
    def accuracy(self) -> float: ...
    @property
    def cost(self) -> float: ...


def decimals_of(costs: Sequence[float], digits: int = 4) -> int:
    """Return the decimals to show: `digits` digits of the largest cost, 2 of the smallest.

    Trailing zeros that all costs share are left out.
    """
    sizes = [math.floor(math.log10(cost)) for cost in costs if cost > 0]
    max_decimals = max(0, digits - 1 - max(sizes), 1 - min(sizes)) if sizes else 0
    for decimals in range(max_decimals):
        if all(round(cost, decimals) == round(cost, max_decimals) for cost in costs):
            return decimals
    return max_decimals


def aligned(costs: Sequence[float], digits: int = 4) -> list[str]:
    """Return the costs of a column as text with the same number of decimals.

    Exact costs are shown with ``digits=6``.

    Examples
    --------
    >>> aligned([31.02, 30.7, 9]), aligned([1.0, 20.0]), aligned([0.0312, 480])
    (['31.02', '30.70', '9.00'], ['1', '20'], ['0.031', '480.000'])
    """
    decimals = decimals_of(costs, digits)
    return [f"{cost:.{decimals}f}" for cost in costs]


def objective_lines(scored: Sequence[_Scored]) -> list[tuple[str, str, str]]:
    """Return coverage, accuracy and mean cost as text, for the lines of a table."""
    costs = aligned([one.cost for one in scored])
    return [
        (f"{one.coverage:.1%}", f"{one.accuracy:.1%}", cost)
        for one, cost in zip(scored, costs, strict=True)
    ]


def in_short(scored: _Scored, accuracy: str = "accuracy") -> str:
    """Return the three objectives on one line; `accuracy` names the second."""
    shares = f"coverage {scored.coverage:.1%}, {accuracy} {scored.accuracy:.1%}"
    return f"{shares}, cost {rounded(scored.cost)}"
