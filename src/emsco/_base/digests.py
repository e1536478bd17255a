"""Digests of arrays that are the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from emsco._base.leaves import n_leaves_of, rows_of_leaf
from emsco._base.typing import AnyArray

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
    """Return a digest of rows, leaf by leaf, so that it is the same whoever holds the leaves."""
    leaves = range(n_leaves_of(len(rows)))
    return fingerprint_of_leaves([fingerprint(rows[rows_of_leaf(leaf)]) for leaf in leaves])


def fingerprint_of_leaves(digests: Sequence[str]) -> str:
    """Return `fingerprint_of_rows` from the digest of each leaf; a single leaf has its own."""
    if len(digests) == 1:
        return digests[0]
    return fingerprint(np.frombuffer("".join(digests).encode(), dtype=np.uint8))
