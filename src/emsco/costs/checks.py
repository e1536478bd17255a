"""What counts as a cost, a price or a time, and which names there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    try:
        amounts: FloatArray = np.ma.filled(np.ma.array(given, dtype=np.float64, copy=True), np.nan)
    except (OverflowError, TypeError, ValueError):
        values = np.asarray(given, dtype=object).ravel()
        # The message shows the first value that is no number, not the whole column.
        first = next((one for one in values if not is_number(one)), given)
        raise error(f"{what} must be numbers, got {brief(first)}.") from None
    if amounts.shape != (len(of),):
        kind = "rows" if by_row else "features"
        raise error(
            f"{what} must have one entry for each of the {len(of)} {kind}, got an array of shape "
            f"{amounts.shape}."
        )
    is_valid = (amounts >= 0) & (amounts <= LARGEST_COST)
    for i in np.flatnonzero(~(is_valid | (may_lack & np.isnan(amounts))))[:1].tolist():
        got = "none" if np.isnan(amounts[i]) else f"{amounts[i]:g}"
        where = f"in row {of[i]}" if by_row else f"for {of[i]!r}"
        refused = error(f"{what} must be from 0 to {LARGEST_COST:g}, got {got} {where}.")
        refused.row = of[i] if by_row else None
        raise refused
    amounts.setflags(write=False)
    return amounts


def check_known(
    what: str,
    names: Iterable[str],
    known: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
    kind: str = "features",
) -> None:
    """Refuse names that are not known; a column of a group is bought with its group."""
    owner = {column: name for name, columns in (groups or {}).items() for column in columns}
    for name in names:
        if name in known:
            continue
        hint = what_was_meant(name, known)
        if name in owner:
            hint = f", a column of group {owner[name]!r}."
        elif known and known[0] == "x0":
            hint = (
                "; columns without names are x0, x1, …, and in a Pipeline "
                'set_output(transform="pandas") keeps their names.'
            )
        listed = some(known) or "none"
        raise CostsError(f"{what} must name {kind} ({listed}), got {name!r}{hint}")


def check_list(what: str, given: Any) -> tuple[str, ...]:
    """Return a list of names; text is no list, though its letters are."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise CostsError(f"{what} must have a list of names, got {brief(given)}.")
    return tuple(map(str, given))
