"""Designs: ordered partitions of the features into stages."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._typing import AnyArray, BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco.errors import ParameterError
from emsco.kernels import load

__all__ = ["Design", "compress", "count_designs", "default_max_stages", "nested_subsets"]

_MOST_STAGES = 2**15 - 1
_POWERS: FloatArray = np.ldexp(1.0, np.arange(32))


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Which feature is bought at which stage.

    Parameters
    ----------
    stages : ndarray of shape (n_features,)
        Stage of each feature, from 0, without gaps; copied and locked.
    names : tuple of str
        The features, in column order.

    Examples
    --------
    >>> Design([0, 1, 0], names=("age", "scan", "sex"))
    Design(age, sex → scan)
    """

    stages: StageArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Copy, check and lock `stages`."""
        given = np.asarray(self.stages)
        if given.ndim != 1 or given.size != len(self.names) or not given.size:
            raise ParameterError(
                f"stages must hold one number for each of {len(self.names)} features, "
                f"got an array of shape {given.shape}."
            )
        used = np.unique(given)
        if not np.array_equal(used, np.arange(len(used))):
            raise ParameterError(
                f"stages must count from 0 without gaps, got {given.tolist()}; see compress()."
            )
        owned = given.astype(np.int16)
        owned.setflags(write=False)
        object.__setattr__(self, "stages", owned)

    @property
    def n_stages(self) -> int:
        """How many stages there are."""
        return int(self.stages.max()) + 1

    def features(self, stage: int) -> tuple[str, ...]:
        """Names of the features that `stage` (from 0) buys."""
        return tuple(self.names[i] for i in np.flatnonzero(self.stages == stage))

    @property
    def buys(self) -> tuple[tuple[str, ...], ...]:
        """Names of the features that each stage buys."""
        return tuple(self.features(j) for j in range(self.n_stages))

    def subsets(self) -> BoolArray:
        """Features known after each stage, as rows of shape (n_stages, n_features)."""
        known: BoolArray = nested_subsets(self.stages[None], self.n_stages)[0]
        return known

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """The chromosome: stage of each feature, from 0."""
        return np.array(self.stages, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        """Two designs are equal if they put the same features into the same stages."""
        if not isinstance(other, Design):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.stages, other.stages)

    def __hash__(self) -> int:
        """Agrees with ==."""
        return hash((self.names, self.stages.tobytes()))

    def __repr__(self) -> str:
        """The features of each stage, in order."""
        return f"Design({self.arrows()})"

    def arrows(self) -> str:
        """The features of each stage, with an arrow between stages."""
        return " → ".join(map(", ".join, self.buys))


def compress(designs: ArrayLike) -> StageArray:
    """Renumber the used stages of each design 0, 1, 2, …, keeping their order.

    Parameters
    ----------
    designs : array-like of shape (n_features,) or (n_designs, n_features)

    Examples
    --------
    >>> compress([0, 0, 2, 3]).tolist()
    [0, 0, 1, 2]
    """
    given = np.asarray(designs)
    compressed: StageArray = np.clip(given, 0, _MOST_STAGES).astype(np.int16)
    if not np.array_equal(compressed, given):
        wrong = given[compressed != given][0]
        raise ParameterError(f"stages must be whole numbers from 0 to {_MOST_STAGES}, got {wrong}.")
    load("breeding").compress_rows(
        np.atleast_2d(compressed), np.empty(_MOST_STAGES + 1, dtype=np.int64)
    )
    return compressed


def nested_subsets(designs: StageArray, n_stages: int) -> BoolArray:
    """Features known after each stage: shape (n_designs, n_stages, n_features)."""
    stage = np.arange(n_stages, dtype=designs.dtype)
    known: BoolArray = designs[:, None, :] <= stage[None, :, None]
    return known


def count_designs(n_features: int, max_stages: int) -> int:
    """Size of the search space: ordered partitions of n features into 1 to k stages.

    Examples
    --------
    >>> count_designs(8, 4), count_designs(12, 4), count_designs(14, 4)
    (46875, 15199275, 254152083)
    """
    return sum(
        (-1) ** (k - i) * comb(k, i) * i**n_features
        for k in range(1, max_stages + 1)
        for i in range(k + 1)
    )


def default_max_stages(n_features: int) -> int:
    """Largest number of stages where the user names none: half the features, at most 10."""
    return max(1, min((n_features + 1) // 2, 10))


def shorten(text: str, width: int) -> str:
    """At most `width` characters, the cut marked by an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def totals_by_stage(
    designs: StageArray, n_stages: int, values: FloatArray | IntArray
) -> FloatArray:
    """Sum of `values`, one per feature, over the features known after each stage.

    Shape (n_designs, n_stages); exact for whole numbers whose sum is below 2⁵³.
    """
    totals = np.zeros((len(designs), n_stages))
    load("breeding").add_up_stages(
        np.ascontiguousarray(designs), np.array(values, dtype=np.float64), totals
    )
    return totals


def subset_words(designs: StageArray, n_stages: int) -> WordArray:
    """Features known after each stage as bits, feature i in bit i % 32 of word i // 32.

    Shape (n_designs, n_stages, n_words).
    """
    parts = [designs[:, i : i + 32] for i in range(0, designs.shape[1], 32)]
    totals = [totals_by_stage(part, n_stages, _POWERS[: part.shape[1]]) for part in parts]
    return np.stack(totals, axis=2).astype(np.uint64)


def words_of_subsets(subsets: BoolArray) -> WordArray:
    """The same bits for subsets of shape (n_subsets, n_features)."""
    parts = [subsets[:, i : i + 32] for i in range(0, subsets.shape[1], 32)]
    return np.column_stack([part @ _POWERS[: part.shape[1]] for part in parts]).astype(np.uint64)


def subsets_of_words(words: WordArray, n_features: int) -> BoolArray:
    """The subsets behind rows of words."""
    bits = words[:, :, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)
    return bits.reshape(len(words), 32 * words.shape[1])[:, :n_features].astype(np.bool_)


def chromosome_numbers(designs: StageArray) -> FloatArray:
    """Numbers that compare as the chromosomes do in lexicographic order, ties included."""
    base, n_features = int(designs.max(initial=0)) + 1, designs.shape[1]
    if base**n_features < 2**53:  # chromosomes are the digits of numbers that float64 holds
        digits: FloatArray = np.power(float(base), np.arange(n_features)[::-1])
        return designs.astype(np.float64) @ digits
    wide = np.ascontiguousarray(designs).astype(">u2")  # bytes sort as numbers
    keys = wide.view(np.dtype((np.void, 2 * n_features))).reshape(-1)
    return np.unique(keys, return_inverse=True)[1].astype(np.float64)


def design_keys(designs: StageArray) -> WordArray:
    """Chromosomes as rows of words, four genes a word, for a `SlotTable`."""
    padded = np.zeros((len(designs), -(-designs.shape[1] // 4) * 4), dtype=np.int16)
    padded[:, : designs.shape[1]] = designs
    return padded.view(np.uint64)


def designs_of_keys(keys: WordArray, n_features: int) -> StageArray:
    """The chromosomes behind such rows."""
    return keys.view(np.int16)[:, :n_features]


def stage_counts(designs: StageArray) -> IntArray:
    """Number of stages of each compressed design."""
    count: IntArray = designs.max(axis=1).astype(np.int64) + 1
    return count
