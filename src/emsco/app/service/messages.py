"""Requests and answers: JSON in, JSON out, and refusals in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from emsco._base.text import brief, some

JSON = "application/json"


class RefusalError(Exception):
    """A request that is answered with an error: a status, one sentence and perhaps facts."""

    def __init__(
        self,
        status: int,
        sentence: str,
        facts: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.facts = dict(facts or {})
        self.headers = dict(headers or {})

    def answer(self) -> Answer:
        """Return the error as an answer."""
        return json_answer({"error": str(self), **self.facts}, self.status, self.headers)


@dataclass(frozen=True, slots=True)
class Call:
    """What a request asks for: the case that its path names, and its body."""

    body: bytes = b""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    body: bytes
    status: int = 200
    media: str = JSON
    headers: dict[str, str] = field(default_factory=dict)


def json_answer(values: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return plain values as an answer in JSON."""
    return Answer(_WRITER.encode(values).encode(), status, JSON, dict(headers or {}))


def plain(number: float) -> float | None:
    """Return a number as JSON has it: None for NaN and infinity.

    Examples
    --------
    >>> plain(0.5), plain(float("nan"))
    (0.5, None)
    """
    return number if math.isfinite(number) else None


def parse_body(body: bytes) -> Any:
    """Return what the JSON of a request says; refuse what is no JSON, in plain words."""
    if not body:
        raise RefusalError(400, "the body must be JSON, got nothing.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise RefusalError(400, "the body must be JSON in UTF-8, got other bytes.") from None
    try:
        found = _READER.decode(text)
        if "\\u" in text:
            _WRITER.encode(found).encode()
    except RecursionError:
        raise RefusalError(400, "the body must be JSON, got one nested too deeply.") from None
    except UnicodeEncodeError:
        raise RefusalError(400, "the body must hold valid Unicode, got half a character.") from None
    except ValueError as error:
        raise RefusalError(400, f"the body must be JSON, got a wrong one ({error}).") from None
    return found


def parse_object(found: Any, known: Iterable[str], what: str = "the body") -> dict[str, Any]:
    """Check that a value is an object with no fields but the known ones."""
    if not isinstance(found, dict):
        raise RefusalError(422, f"{what} must be a JSON object, got {brief(found)}.")
    names = tuple(known)
    for name in found:
        if name not in names:
            raise RefusalError(
                422, f"{what} must have no fields but {some(names)}, got {brief(name)}."
            )
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has the same name twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number; a missing value is null")


# Made once: json.loads and json.dumps would make one for every request.
_READER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_constant)
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
