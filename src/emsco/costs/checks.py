"""What counts as a cost, a price or a time, and which names there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from emsco._base.checks import is_number
from emsco._base.text import brief, some, what_was_meant
from emsco._base.typing import FloatArray
from emsco.errors import CostsError, DataError

LARGEST_COST = 1e100  # so that no sum over rows and features can overflow


def check_amounts(
    what: str, given: Any, of: Sequence[str] | range, *, may_lack: bool = False
) -> FloatArray:
    """Return costs, prices or times as a locked array of their own.

    Each is of a name or, for a range, of the row of that number. With `may_lack`, a missing one is
    NaN.
    """
    by_row = isinstance(of, range)
    error = DataError if by_row else CostsError
    amounts: Any
    if isinstance(given, (list, tuple)):  # of which masked arrays are made slowly
        given = np.asarray(given, dtype=object)
    try:
        amounts = np.ma.filled(np.ma.array(given, dtype=np.float64, copy=True), np.nan)
        is_wrong = ~((amounts >= 0) & (amounts <= LARGEST_COST) | may_lack & np.isnan(amounts))
    except (OverflowError, TypeError, ValueError):
        amounts = np.asarray(given, dtype=object)
        is_wrong = np.array([not is_number(one) or one > LARGEST_COST for one in amounts.ravel()])
    if amounts.shape != (len(of),):
        kind = "rows" if by_row else "features"
        raise error(
            f"{what} must have one entry for each of the {len(of)} {kind}, got {brief(given)} of "
            f"shape {amounts.shape}."
        )
    for i in np.flatnonzero(is_wrong)[:1].tolist():
        amount = amounts.tolist()[i]
        shown = brief(amount)
        if isinstance(amount, float):
            shown = "none" if np.isnan(amount) else f"{amount:g}"
        where = f"in row {of[i]}" if by_row else f"for {of[i]!r}"
        raise error(
            f"{what} must be numbers from 0 to {LARGEST_COST:g}, got {shown} {where}.",
            row=of[i] if by_row else None,
        )
    amounts.setflags(write=False)
    checked: FloatArray = amounts
    return checked


def check_known(
    what: str,
    names: Iterable[str],
    known: Collection[str],
    groups: Mapping[str, Sequence[str]] | None = None,
    kind: str = "features",
) -> None:
    """Refuse names that are not known; a column of a group is bought with its group."""
    for name in names:
        if name in known:
            continue
        every, hint = [*known], what_was_meant(name, known)
        if group := [group for group, columns in (groups or {}).items() if name in columns]:
            hint = f", a column of group {group[0]!r}."
        elif "x0" in every[:1]:
            hint = (
                "; columns without names are x0, x1, …, and in a Pipeline "
                'set_output(transform="pandas") keeps their names.'
            )
        raise CostsError(f"{what} must name {kind} ({some(every) or 'none'}), got {name!r}{hint}")


def check_distinct(what: str, names: Iterable[str]) -> None:
    """Refuse a name that is there twice."""
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise CostsError(f"{what} must have different names, got {twice[0]!r} twice.")


def check_list(what: str, given: Any) -> tuple[str, ...]:
    """Return a list of names; text is no list, though its letters are."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise CostsError(f"{what} must have a list of names, got {brief(given)}.")
    return tuple(map(str, given))
