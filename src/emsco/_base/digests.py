"""Digests of arrays that are the same on every machine."""

from __future__ import annotations

import hashlib

import numpy as np

from emsco._base.typing import AnyArray
from emsco._base.workers import row_blocks

DIGEST = "sha256:"  # how fingerprints begin


def fingerprint(*arrays: AnyArray) -> str:
    """Return a digest of types, shapes and values, the same on every machine.

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
    return DIGEST + digest.hexdigest()


def fingerprint_of_rows(rows: AnyArray) -> str:
    """Return a digest of rows, block by block: rows in single precision are never all copied."""
    digests = [fingerprint(rows[block]) for block in row_blocks(len(rows))]
    if len(digests) == 1:
        return digests[0]
    return fingerprint(np.frombuffer("".join(digests).encode(), dtype=np.uint8))
