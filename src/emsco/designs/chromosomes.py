"""Many designs as one array of chromosomes, with their subsets and keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import refused
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.breeding import add_up_stages, compress_rows

__all__ = ["compress", "nested_subsets"]

_MOST_STAGES = 2**15 - 1
NEVER = -1  # the gene of a feature that is never bought
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
    given = np.asarray(designs)
    compressed: StageArray = np.clip(given, NEVER, _MOST_STAGES).astype(np.int16)
    if not np.array_equal(compressed, given):
        wrong = given[compressed != given][0]
        raise refused(
            "stages",
            f"be whole numbers from 0 to {_MOST_STAGES}, or -1 for never",
            designs,
            got=str(wrong),
        )
    compress_rows(np.atleast_2d(compressed), np.empty(_MOST_STAGES + 1, dtype=np.int64))
    return compressed


def nested_subsets(designs: StageArray, n_stages: int) -> BoolArray:
    """Return the features known after each stage, shape (n_designs, n_stages, n_features)."""
    stage = np.arange(n_stages, dtype=designs.dtype)
    known: BoolArray = designs[:, None, :] <= stage[None, :, None]
    known &= (designs != NEVER)[:, None, :]
    return known


def totals_by_stage(
    designs: StageArray, n_stages: int, values: FloatArray | IntArray
) -> FloatArray:
    """Sum `values`, one per feature, over the features known after each stage.

    The result has shape (n_designs, n_stages). It is exact for whole numbers with a sum below 2⁵³.
    """
    totals = np.zeros((len(designs), n_stages))
    add_up_stages(np.ascontiguousarray(designs), np.array(values, dtype=np.float64), totals)
    return totals


def subset_words(designs: StageArray, n_stages: int) -> WordArray:
    """Return the features known after each stage as bits, shape (n_designs, n_stages, n_words).

    Feature i is bit i % 32 of word i // 32.
    """
    parts = [designs[:, i : i + 32] for i in range(0, designs.shape[1], 32)]
    totals = [totals_by_stage(part, n_stages, _POWERS[: part.shape[1]]) for part in parts]
    return np.stack(totals, axis=2).astype(np.uint64)


def words_of_subsets(subsets: BoolArray) -> WordArray:
    """Pack subsets of shape (n_subsets, n_features) into words, as `subset_words` does."""
    parts = [subsets[:, i : i + 32] for i in range(0, subsets.shape[1], 32)]
    return np.column_stack([part @ _POWERS[: part.shape[1]] for part in parts]).astype(np.uint64)


def subsets_of_words(words: WordArray, n_features: int) -> BoolArray:
    """Unpack rows of words into subsets, shape (n_subsets, n_features)."""
    bits = words[:, :, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)
    return bits.reshape(len(words), 32 * words.shape[1])[:, :n_features].astype(np.bool_)


def chromosome_numbers(designs: StageArray) -> FloatArray:
    """Return numbers in the lexicographic order of the chromosomes; equal ones get one number."""
    if designs.min(initial=0) == NEVER:
        designs = designs + np.int16(1)
    base, n_features = int(designs.max(initial=0)) + 1, designs.shape[1]
    if base**n_features < 2**53:  # read as digits, every chromosome is an exact float64
        digits: FloatArray = np.power(float(base), np.arange(n_features)[::-1])
        return designs.astype(np.float64) @ digits
    wide = np.ascontiguousarray(designs).astype(">u2")  # big-endian bytes sort as numbers do
    keys = wide.view(np.dtype((np.void, 2 * n_features))).reshape(-1)
    return np.unique(keys, return_inverse=True)[1].astype(np.float64)


def design_keys(designs: StageArray) -> WordArray:
    """Pack chromosomes into rows of words, four genes a word, as keys for `Slots`."""
    padded = np.zeros((len(designs), -(-designs.shape[1] // 4) * 4), dtype=np.int16)
    padded[:, : designs.shape[1]] = designs
    return padded.view(np.uint64)


def designs_of_keys(keys: WordArray, n_features: int) -> StageArray:
    """Unpack the keys that `design_keys` made into chromosomes."""
    return keys.view(np.int16)[:, :n_features]


def stage_counts(designs: StageArray) -> IntArray:
    """Return the number of stages of each compressed design."""
    count: IntArray = designs.max(axis=1).astype(np.int64) + 1
    return count
