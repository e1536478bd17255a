"""Designs: ordered partitions of the features into stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._typing import AnyArray, BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco.arrays import locked_copy
from emsco.errors import ParameterError
from emsco.kernels import load
from emsco.parameters import check_whole

__all__ = [
    "Design",
    "DesignSpace",
    "compress",
    "count_designs",
    "default_max_stages",
    "nested_subsets",
]

_MOST_STAGES = 2**15 - 1
NEVER = -1  # the gene of a feature that is never bought
_POWERS: FloatArray = np.ldexp(1.0, np.arange(32))


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Which feature is bought at which stage.

    Parameters
    ----------
    stages : ndarray of shape (n_features,)
        Stage of each feature, from 0, without gaps; -1 for one that is never bought. Copied
        and locked.
    names : tuple of str
        The features, in column order.

    Examples
    --------
    >>> Design([0, 1, 0], names=("age", "scan", "sex"))
    Design(age, sex → scan)
    >>> Design([0, 1, -1], names=("age", "scan", "biopsy"))
    Design(age → scan; never biopsy)
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
        used = np.unique(given[given != NEVER])
        if not np.array_equal(used, np.arange(len(used))):
            raise ParameterError(
                f"stages must count from 0 without gaps, got {given.tolist()}; see compress()."
            )
        if not used.size:
            raise ParameterError(f"stages must buy a feature or more, got {given.tolist()}.")
        object.__setattr__(self, "stages", locked_copy(given, np.int16))

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

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the features that are never bought."""
        return self.features(NEVER)

    def subsets(self) -> BoolArray:
        """Features known after each stage, as rows of shape (n_stages, n_features)."""
        known: BoolArray = nested_subsets(self.stages[None], self.n_stages)[0]
        return known

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """The chromosome: stage of each feature, from 0; -1 where it is never bought."""
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
        """The features of each stage, with an arrow between stages, and those left out."""
        bought = " → ".join(map(", ".join, self.buys))
        return f"{bought}; never {', '.join(self.left_out)}" if self.left_out else bought


@dataclass(frozen=True, slots=True)
class DesignSpace:
    """Which designs a search may propose.

    Parameters
    ----------
    n_features : int
    max_stages : int
        Most stages of a design.
    allow_exclusion : bool
        Whether a design may leave features out, all but one.
    first : int or None
        A feature that every design buys at its first stage.

    Examples
    --------
    >>> DesignSpace(12, 4).size, DesignSpace(12, 4, allow_exclusion=True).size
    (15199275, 195926549)
    """

    n_features: int
    max_stages: int
    allow_exclusion: bool = False
    first: int | None = None

    def __post_init__(self) -> None:
        """Refuse spaces without a design."""
        check_whole("n_features", self.n_features, 1)
        check_whole("max_stages", self.max_stages, 1)
        if self.first is not None and not 0 <= self.first < self.n_features:
            raise ParameterError(
                f"first must be a feature from 0 to {self.n_features - 1}, got {self.first}."
            )

    @property
    def size(self) -> int:
        """How many designs there are."""
        if self.first is None:
            return count_designs(self.n_features, self.max_stages, self.allow_exclusion)
        others, kept_out = self.n_features - 1, int(self.allow_exclusion)
        # A feature stands at each of k stages equally often.
        return sum(
            _alternating(k, lambda i: i * (i + kept_out) ** others) // k
            for k in range(1, self.max_stages + 1)
        )

    @property
    def deepest(self) -> int:
        """Most stages that a design can have."""
        return min(self.n_features, self.max_stages)

    def holds(self, designs: StageArray) -> BoolArray:
        """Which compressed designs belong to the space."""
        inside: BoolArray = (designs.max(axis=1) >= 0) & (designs.max(axis=1) < self.max_stages)
        if not self.allow_exclusion:
            inside &= (designs >= 0).all(axis=1)
        if self.first is not None:
            inside &= designs[:, self.first] == 0
        return inside


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
        raise ParameterError(
            f"stages must be whole numbers from 0 to {_MOST_STAGES}, or -1 for never, got {wrong}."
        )
    load("breeding").compress_rows(
        np.atleast_2d(compressed), np.empty(_MOST_STAGES + 1, dtype=np.int64)
    )
    return compressed


def nested_subsets(designs: StageArray, n_stages: int) -> BoolArray:
    """Features known after each stage: shape (n_designs, n_stages, n_features)."""
    stage = np.arange(n_stages, dtype=designs.dtype)
    known: BoolArray = designs[:, None, :] <= stage[None, :, None]
    known &= (designs != NEVER)[:, None, :]
    return known


def count_designs(n_features: int, max_stages: int, allow_exclusion: bool = False) -> int:
    """Size of the search space: ordered partitions of n features into 1 to k stages.

    With exclusion, of any of the features but none: Σ C(n, m) S(m, k) over m = 1..n.

    Examples
    --------
    >>> count_designs(8, 4), count_designs(12, 4), count_designs(14, 4)
    (46875, 15199275, 254152083)
    >>> count_designs(14, 4, allow_exclusion=True)
    5317308365
    """
    # A feature has one place more where it may be left out.
    kept_out = int(allow_exclusion)
    return sum(
        _alternating(k, lambda i: (i + kept_out) ** n_features) for k in range(1, max_stages + 1)
    )


def _alternating(k: int, term: Callable[[int], int]) -> int:
    """Ways to use all of k stages, where `term` counts the ways to use at most i of them."""
    return sum((-1) ** (k - i) * comb(k, i) * term(i) for i in range(k + 1))


def default_max_stages(n_features: int) -> int:
    """Most stages where the user names none, as in the paper: half the features, at most 10."""
    return max(1, min((n_features + 1) // 2, 10))


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
    if designs.min(initial=0) == NEVER:
        designs = designs + np.int16(1)
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
