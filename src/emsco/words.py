"""Values and lists as they stand in messages: on one line, and cut where they are long."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["brief", "first_line", "shorten", "some"]


def shorten(text: str, width: int) -> str:
    """At most `width` characters, the cut marked by an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def brief(value: object, width: int = 60) -> str:
    """A value on one line of about `width` characters; text in quotes, wherever it is cut.

    Examples
    --------
    >>> brief(list(range(100)), width=20)
    '[0, 1, 2, 3, 4, 5, …'
    """
    if isinstance(value, str):
        return repr(shorten(value, width))
    return shorten(" ".join(repr(value).split()), width)


def first_line(error: Exception) -> str:
    """What an error says first, or what it is called where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def some(names: Sequence[object], most: int = 5) -> str:
    """The first few of many names, and how many more there are.

    Examples
    --------
    >>> some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
