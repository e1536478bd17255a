"""Plain values that JSON can hold without losing a bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from emsco import Design
from recordings.names import named

__all__ = ["digest", "parse_json", "plain", "plain_fields"]


def plain(value: Any) -> Any:
    """Turn a result into plain values: floats as hexadecimal text, arrays with their dtype.

    Objects without a plain form of their own are written field by field.

    Examples
    --------
    >>> plain({"cost": 0.5, "exits": (3, 4)})
    {'cost': '0x1.0000000000000p-1', 'exits': [3, 4]}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Design):
        return np.asarray(value).tolist()
    if isinstance(value, np.ndarray):  # masked values come out as None
        return {"dtype": value.dtype.str, "values": plain(value.tolist())}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return plain_fields(value, (field.name for field in fields(value)))
    return [plain(one) for one in value]


def plain_fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """The named attributes of an object as plain values; see `names` about renamed ones."""
    return {name: plain(named(value, name)) for name in names}


def parse_json(text: str) -> Any:
    """Parse JSON into plain values, floats to the bit."""
    return json.loads(text, parse_float=lambda number: float(number).hex())


def digest(value: Any) -> str:
    """Shorten plain values to a checksum, where the values themselves would fill pages."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
