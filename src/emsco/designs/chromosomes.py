"""Stages of many designs as one array, and the subsets that follow from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.text import brief
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.variation import add_up_stages, compress_rows
from emsco.errors import ParameterError

NEVER = -1  # the stage of a feature that is never bought
MOST_STAGES = 1023
_POWERS: FloatArray = np.ldexp(1.0, np.arange(32))


def compress(designs: ArrayLike) -> StageArray:
    """Renumber the used stages of each design 0, 1, 2, …, keeping their order; -1 stays.

    Parameters
    ----------
    designs : array-like of shape (n_features,) or (n_designs, n_features)

    Examples
    --------
    >>> compress([0, 0, 2, 3]).tolist()
    [0, 0, 1, 2]
    """
    try:
        given = np.asarray(designs)
        if given.ndim > 2:
            raise ValueError
        with np.errstate(invalid="ignore"):  # NaN becomes a number, unlike itself
            compressed: StageArray = np.clip(given, NEVER, MOST_STAGES).astype(np.int16, "C")
        wrong = given[compressed != given].tolist()
    except (TypeError, ValueError):  # text, or rows of different lengths
        wrong = [designs]
    if wrong:
        raise ParameterError(
            f"stages must be whole numbers from 0 to {MOST_STAGES}, or -1 for never, got "
            f"{brief(wrong[0])}."
        )
    compress_rows(np.atleast_2d(compressed), np.empty(MOST_STAGES + 1, dtype=np.int64))
    return compressed


def nested_subsets(designs: StageArray, n_stages: int) -> BoolArray:
    """Return the features known after each stage, shape (n_designs, n_stages, n_features)."""
    stage = np.arange(n_stages, dtype=designs.dtype)
    known: BoolArray = designs[:, None, :] <= stage[None, :, None]
    known &= (designs != NEVER)[:, None, :]
    return known


def subset_words(designs: StageArray, n_stages: int) -> WordArray:
    """Return the features known after each stage as bits, shape (n_designs, n_stages, n_words).

    Feature i is bit i % 32 of word i // 32.
    """
    n_words = -(-designs.shape[1] // 32)
    totals = np.zeros((n_words, len(designs), n_stages))
    for w in range(n_words):
        part = np.ascontiguousarray(designs[:, 32 * w : 32 * w + 32])
        add_up_stages(part, _POWERS[: part.shape[1]], totals[w])
    return totals.transpose(1, 2, 0).astype(np.uint64)


def words_of_subsets(subsets: BoolArray) -> WordArray:
    """Pack subsets of shape (n_subsets, n_features) into words, as `subset_words` does."""
    packed = np.packbits(subsets, axis=1, bitorder="little")
    return _padded(packed, 4).view("<u4").astype(np.uint64)


def subsets_of_words(words: WordArray, n_features: int) -> BoolArray:
    """Unpack rows of words into subsets, shape (n_subsets, n_features)."""
    packed = np.ascontiguousarray(words, dtype="<u4").view(np.uint8)
    bits = np.unpackbits(packed, axis=1, count=n_features, bitorder="little")
    return bits.astype(np.bool_)


def keys_of(genes: StageArray) -> WordArray:
    """Pack lines of genes into words, four genes a word, as keys for `Slots`."""
    return _padded(genes.astype(np.int16), 4).view(np.uint64)


def _padded(rows: AnyArray, multiple: int) -> AnyArray:
    """Rows with zeros behind, up to a multiple of some width."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // multiple) * multiple), rows.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded


def stage_counts(designs: StageArray) -> IntArray:
    """Return the number of stages of each compressed design."""
    # Of columns, one after the other: NumPy is slow at the maximum of each of many short rows.
    last: StageArray = designs.T.copy().max(axis=0)
    return last.astype(np.int64) + 1
