"""Arrays as text for files: little-endian bytes, compressed, in base64."""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import DTypeLike

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray

__all__ = ["pack_array", "unpack_array"]


def pack_array(array: AnyArray) -> str:
    """Return the values of an array as text.

    Examples
    --------
    >>> len(pack_array(np.zeros(1000))) < 100
    True
    """
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")


def unpack_array(fields: Fields, name: str, n: int, kind: DTypeLike) -> AnyArray:
    """Read an array of `n` values from a text in a file.

    The text is refused if it is too long for so many values, or if more or fewer come out of it.
    """
    text, little = fields.text(name), np.dtype(kind).newbyteorder("<")
    size = n * little.itemsize
    rule = f"{n:,} packed values"
    # Bytes that do not compress take five more for every 16 kB, and base64 a third more.
    if len(text) > 4 * (size + size // 1000 + 64) // 3 + 4:
        fields.refuse(name, rule, "a longer text")
    try:
        unpacker = zlib.decompressobj()
        found = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error):
        fields.refuse(name, rule, "a damaged text")
    if len(found) != size or not unpacker.eof or unpacker.unused_data:
        fields.refuse(name, rule, f"{len(found):,} bytes" if len(found) <= size else "more")
    if little == np.bool_ and max(found, default=0) > 1:
        fields.refuse(name, "truth values, 0 or 1", max(found))
    return np.frombuffer(found, dtype=little).astype(kind)
