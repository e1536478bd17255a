"""Digests of arrays, the same on every machine."""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from emsco._base.typing import AnyArray

if sys.platform == "win32":
    pass
else:
    pass

__all__ = ["fingerprint"]

_DIGEST = "sha256:"


def fingerprint(*arrays: AnyArray) -> str:
    """A digest of types, shapes and values, the same on every machine.

    Examples
    --------
    >>> fingerprint(np.zeros(3))[:15]
    'sha256:7e9aa208'
    """
    digest = hashlib.sha256()
    for array in arrays:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{little.dtype.str}{little.shape}".encode())
        digest.update(little.data)
    return _DIGEST + digest.hexdigest()
