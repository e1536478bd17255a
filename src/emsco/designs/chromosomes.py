"""Many designs as one array of chromosomes, with their subsets, levels and keys.

A gene is the stage that buys a feature. If thresholds are searched, the number of the stage's
threshold, its *level*, is in the bits above the stage: all features of a stage have the same. At
level 0 a gene is the stage itself, so designs with one threshold are the paper's chromosomes.

A design that branches has no chromosome. Among others it stands as the number of its *tree*, which
says what it is: all its genes are -2 less that number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.text import brief
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.variation import add_up_stages, compress_rows
from emsco.errors import ParameterError

NEVER = -1  # the gene of a feature that is never bought
_FIRST_TREE = -2  # the genes of tree 0; those of tree 1 are one less
_STAGE_BITS = 10
MOST_STAGES = 2**_STAGE_BITS - 1
MOST_LEVELS = 2 ** (15 - _STAGE_BITS)
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


def genes_of_trees(numbers: IntArray, n_features: int) -> StageArray:
    """Return designs that stand for trees with these numbers.

    Examples
    --------
    >>> designs = np.concatenate([[[0, 1]], genes_of_trees(np.array([0, 7]), 2)])
    >>> trees_of(designs).tolist()
    [-1, 0, 7]
    """
    genes = np.repeat(_FIRST_TREE - numbers[:, None], n_features, axis=1)
    return genes.astype(np.int16)


def trees_of(designs: StageArray) -> IntArray:
    """Return the number of the tree that each design stands for; -1 for a chromosome."""
    first = designs[:, 0].astype(np.int64)
    trees: IntArray = np.where(first <= _FIRST_TREE, _FIRST_TREE - first, -1)
    return trees


def stages_of(designs: StageArray) -> StageArray:
    """Return the stage of each feature, without the levels of the stages."""
    if designs.max(initial=0) <= MOST_STAGES:
        return designs
    stages: StageArray = np.where(designs < 0, designs, designs & MOST_STAGES).astype(np.int16)
    return stages


def levels_of(designs: StageArray, n_stages: int) -> IntArray:
    """Return the level of each stage, shape (n_designs, n_stages); 0 after a design's last one."""
    levels = np.zeros((len(designs), n_stages), dtype=np.int64)
    if designs.max(initial=0) > MOST_STAGES:
        design, feature = np.nonzero(designs >= 0)
        genes = designs[design, feature].astype(np.int64)
        levels[design, genes & MOST_STAGES] = genes >> _STAGE_BITS
    return levels


def with_levels(stages: StageArray, levels: IntArray) -> StageArray:
    """Return designs with these levels, shape (n_designs, at least their stages).

    Examples
    --------
    >>> designs = with_levels(np.array([[0, 1, -1]], dtype=np.int16), np.array([[2, 1]]))
    >>> stages_of(designs).tolist(), levels_of(designs, 2).tolist()
    ([[0, 1, -1]], [[2, 1]])
    """
    of_gene = np.take_along_axis(levels, np.maximum(stages, 0).astype(np.int64), axis=1)
    genes: StageArray = np.where(stages < 0, stages, stages + (of_gene << _STAGE_BITS))
    return genes.astype(np.int16)


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


def waits_by_stage(designs: StageArray, n_stages: int, delays: FloatArray) -> FloatArray:
    """Return the time that a row has waited after each stage, shape (n_designs, n_stages).

    Each stage waits for the slowest of the features that it buys; `delays` has one per feature.

    Examples
    --------
    >>> designs = np.array([[0, 1, 1], [0, -1, -1]], dtype=np.int16)
    >>> waits_by_stage(designs, 2, np.array([1.0, 2.0, 5.0])).tolist()
    [[1.0, 6.0], [1.0, 1.0]]
    """
    slowest = [np.where(designs == j, delays, 0.0).max(axis=1) for j in range(n_stages)]
    return np.cumsum(np.column_stack(slowest), axis=1)


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
    if designs.max(initial=0) > MOST_STAGES:  # stages come before levels
        designs = np.concatenate([stages_of(designs), designs], axis=1)
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
    # Of columns, one after the other: NumPy is slow at the maximum of each of many short rows.
    last: StageArray = stages_of(designs).T.copy().max(axis=0)
    return last.astype(np.int64) + 1
