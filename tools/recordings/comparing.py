"""Two recordings side by side: cases that agree in every bit, and first differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recordings.facts import ALIASES, IGNORED, WORDING

_LONGEST = 60
_RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two recordings differ.

    Attributes
    ----------
    path : tuple of str or int
        Keys and positions that lead there.
    before, after : str
        The two values, shortened.
    matters : bool
        False for the wording of a sentence, and for a value that only the second has.
    """

    path: tuple[str | int, ...]
    before: str
    after: str
    matters: bool = True

    def __str__(self) -> str:
        """The place, and both values."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{''.join(steps).lstrip('.') or 'all of it'}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """Differences of one case."""

    name: str
    differences: tuple[Difference, ...]

    @property
    def changes(self) -> list[Difference]:
        """Differences in results."""
        return [one for one in self.differences if one.matters]

    @property
    def notes(self) -> list[Difference]:
        """Differences that change no result."""
        return [one for one in self.differences if not one.matters]


def compare_facts(name: str, before: Any, after: Any) -> CaseComparison:
    """Compare a case of two recordings; None stands for a case that was not recorded."""
    states = _state(before), _state(after)
    if states != (_RECORDED, _RECORDED):
        return CaseComparison(name, (Difference((), *states),))
    return CaseComparison(name, tuple(_differences(before, after, ())))


def _state(facts: Any) -> str:
    if facts is None:
        return "not recorded"
    return f"failed, {facts['failed']}" if "failed" in facts else _RECORDED


def _differences(before: Any, after: Any, path: tuple[str | int, ...]) -> Iterator[Difference]:
    """Walk through both in the order of the first."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _in_keys(_today(before), _today(after), path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _in_items(before, after, path)
    elif type(before) is not type(after) or before != after:
        yield Difference(path, _short(before), _short(after), matters=WORDING.isdisjoint(path))


def _in_keys(
    before: dict[str, Any], after: dict[str, Any], path: tuple[str | int, ...]
) -> Iterator[Difference]:
    for key in before:
        if key not in after:
            new = [one for one in after if one not in before]
            hint = f"nothing (new there: {', '.join(new)})" if new else "nothing"
            matters = WORDING.isdisjoint((*path, key))
            yield Difference((*path, key), _short(before[key]), hint, matters=matters)
        else:
            yield from _differences(before[key], after[key], (*path, key))
    for key in after:
        if key not in before:
            yield Difference((*path, key), "nothing", _short(after[key]), matters=False)


def _in_items(
    before: list[Any], after: list[Any], path: tuple[str | int, ...]
) -> Iterator[Difference]:
    if len(before) != len(after):
        lengths = f"{len(before):,} values", f"{len(after):,} values"
        yield Difference(path, *lengths, matters=WORDING.isdisjoint(path))
    for i, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _differences(old, new, (*path, i))


def _today(values: dict[str, Any]) -> dict[str, Any]:
    """Rename keys to the names of today, and drop values that differ every time."""
    kept = {key: value for key, value in values.items() if key not in IGNORED}
    renamed = {ALIASES.get(key, key): value for key, value in kept.items()}
    if len(renamed) < len(kept):
        raise ValueError(f"two of {', '.join(kept)} are one name in ALIASES")
    return renamed


def _short(value: Any) -> str:
    """Shorten a value for people; floats keep all their digits."""
    if isinstance(value, str) and value.startswith(("0x", "-0x")):
        return repr(float.fromhex(value))
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
