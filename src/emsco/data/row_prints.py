"""Fingerprints of single rows, which tell later whether a row has been seen before.

A fingerprint is a hash of a row's inputs in single precision, so neither the order of columns nor
the format of a file matters. Values cannot be read back from it, but whoever has a row can tell
whether it is among the fingerprints.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.digests import DIGEST, fingerprint
from emsco._base.documents import Fields
from emsco._base.leaves import n_leaves_of, rows_of_leaf
from emsco._base.typing import BoolArray, FloatArray, IntArray, SingleArray, WordArray
from emsco._base.workers import in_threads
from emsco._kernels.slots import hash_rows
from emsco.data.elsewhere import RowsElsewhere

_MOST = 2**14  # fingerprints that are kept, in 175 kB of a file
_SEED = 0x9E3779B97F4A7C15
_CHANCE = 0.001  # that as many new rows, or more, look like seen ones
_UNIQUE = 0.9  # of the rows of a search, if twins are rare
_LONG = 3  # values of many digits that tell a row from all others


@dataclass(frozen=True, slots=True, eq=False)
class RowPrints:
    """Fingerprints of the rows of a search.

    Of many rows, the smallest fingerprints are kept: a new row whose fingerprint is as small can
    be looked up, so that overlap is found in a sample of the rows. Fingerprints that several rows
    share tell nothing, and are not kept.

    Attributes
    ----------
    known : ndarray of shape (n_known,)
        Fingerprints that one row has, sorted.
    n_rows : int
        Rows of the search.
    n_twins : int
        Pairs of rows, among those within the sample, whose fingerprint no third row has. They
        tell how often rows look alike by chance.
    largest : int
        Fingerprints up to this one are within the sample.
    digest : str
        Digest of the fingerprints of all rows, sorted. Files of earlier versions have one of the
        rows themselves, as `digest_of_rows` makes it.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> prints = RowPrints.from_rows(rows)
    >>> prints.seen_again(rows[50:60]).tolist() == list(range(10))
    True
    >>> prints.seen_again(rows[50:60] + 1).tolist()
    []
    """

    known: WordArray
    n_rows: int
    n_twins: int
    largest: int
    digest: str

    def __post_init__(self) -> None:
        """Copy and lock the fingerprints."""
        object.__setattr__(self, "known", locked_copy(self.known, np.uint64))

    @classmethod
    def from_rows(cls, rows: FloatArray | RowsElsewhere, max_prints: int = _MOST) -> Self:
        """Take the fingerprints of rows, shape (n_rows, n_inputs), NaN for missing values."""
        if isinstance(rows, RowsElsewhere):
            prints: WordArray = np.concatenate(rows.map(prints_of))
        else:
            prints = prints_of(rows)
        prints.sort()
        is_other = prints[1:] != prints[:-1]
        first = np.flatnonzero(np.concatenate([np.ones_like(prints[:1], np.bool_), is_other]))
        kept, counts = prints[first[:max_prints]], np.diff(first, append=len(prints))[:max_prints]
        largest = 2**64 - 1 if len(kept) == len(first) else int(kept[-1])
        n_twins = int((counts == 2).sum())
        return cls(kept[counts == 1], len(rows), n_twins, largest, fingerprint(prints))

    def seen_again(self, rows: FloatArray) -> IntArray:
        """Return positions of rows that were seen before, if it cannot be chance.

        Rows of few categories look alike though nobody has seen them: so many pairs of twins among
        the seen rows let us expect so many new rows that look like a seen one. Beyond that, rows
        were seen before. So they were if one of them has several values with many digits, or if
        the table is the same.
        """
        lookup = Lookup(self)
        lookup.add(rows)
        seen = lookup.seen()
        # Files of earlier versions have a digest of the rows themselves.
        if len(seen) < len(rows) == self.n_rows and digest_of_rows(rows) == self.digest:
            return np.arange(len(rows))
        return seen

    def repeated(self, rows: FloatArray) -> IntArray:
        """Return positions of rows that repeat an earlier one of them, if it cannot be chance.

        It cannot if such a row has several values with many digits, or if the rows of the search
        hardly repeat each other and these do.
        """
        first = np.unique(prints_of(rows), return_index=True)[1]
        repeats: IntArray = np.delete(np.arange(len(rows)), first)
        if not repeats.size or _are_long(rows[repeats]).any():
            return repeats
        share = min(1.0, (self.largest + 1) / 2**64)
        if len(self.known) < _UNIQUE * self.n_rows * share:
            return repeats[:0]
        from scipy.special import pdtrc

        by_chance = max(1.0, self.n_twins / share * (len(rows) / self.n_rows) ** 2)
        return repeats if pdtrc(len(repeats) - 1, by_chance) < _CHANCE else repeats[:0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        packed = base64.b64encode(self.known.astype("<u8").tobytes()).decode()
        return {
            "known": packed,
            "n_rows": self.n_rows,
            "n_twins": self.n_twins,
            "largest": str(self.largest),
            "digest": self.digest,
        }

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Read the values of `to_dict` from a file and check them."""
        text, largest = fields.text("known"), fields.text("largest")
        try:
            known = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u8")
        except ValueError:
            fields.refuse("known", "packed fingerprints", text)
        if len(known) > _MOST or (known[1:] <= known[:-1]).any():
            fields.refuse("known", f"at most {_MOST} fingerprints that go up", text)
        if not largest.isdecimal() or not int(largest) < 2**64:
            fields.refuse("largest", "a whole number below 2^64", largest)
        if not (digest := fields.text("digest")).startswith(DIGEST):
            fields.refuse("digest", f"a digest that begins with {DIGEST}", digest)
        n_rows = fields.whole("n_rows", 1)
        return cls(known, n_rows, fields.whole("n_twins", 0, n_rows), int(largest), digest)


class Lookup:
    """Looks rows up among fingerprints, some rows at a time, and judges all of them at the end.

    See `RowPrints.seen_again` for the judgement.

    Parameters
    ----------
    prints : RowPrints
    """

    def __init__(self, prints: RowPrints) -> None:
        self._searched = prints
        self._n_rows = self._n_within = 0
        self._is_long = False
        self._alike: list[IntArray] = [np.empty(0, dtype=np.int64)]
        self._prints: list[WordArray] = []

    def add(self, rows: FloatArray) -> None:
        """Look more rows up."""
        searched, prints = self._searched, prints_of(rows)
        alike = np.flatnonzero(np.isin(prints, searched.known))
        self._alike.append(self._n_rows + alike)
        self._is_long |= bool(_are_long(rows[alike]).any())
        self._n_within += int((prints <= np.uint64(searched.largest)).sum())
        self._n_rows += len(rows)
        # More rows than those of the search are another table, which needs no digest.
        self._prints = [*self._prints, prints] if self._n_rows <= searched.n_rows else []

    def seen(self) -> IntArray:
        """Return positions, among all rows, of those that were seen before."""
        searched, alike = self._searched, np.concatenate(self._alike)
        is_as_long = self._n_rows == searched.n_rows
        if is_as_long and fingerprint(np.sort(np.concatenate(self._prints))) == searched.digest:
            return np.arange(self._n_rows)
        if not alike.size or self._is_long:
            return alike
        # Only here, since deciding does without SciPy; `scipy.stats` takes a second to import.
        from scipy.special import betainc

        n_known = max(1.0, searched.n_rows * (searched.largest + 1) / 2**64)
        ratio = 2 * self._n_within / n_known  # of new rows like a seen one, to pairs of twins
        # So many or more of all that are alike, by the binomial distribution.
        by_chance = float(betainc(len(alike), searched.n_twins + 1, ratio / (1 + ratio)))
        return alike if by_chance < _CHANCE else alike[:0]


def prints_of(rows: FloatArray) -> WordArray:
    """Return a 64-bit hash of each row, the same on every machine."""
    leaves = [rows_of_leaf(leaf) for leaf in range(n_leaves_of(len(rows)))]
    prints = in_threads(lambda leaf: _prints(_single(rows[leaf])), leaves)
    return prints[0] if len(prints) == 1 else np.concatenate(prints)


def _single(rows: FloatArray) -> SingleArray:
    """Rows in single precision; -0 becomes 0, huge values infinite, and there is one NaN."""
    with np.errstate(over="ignore"):
        single: SingleArray = np.ascontiguousarray(rows, dtype=np.float32) + np.float32(0)
    single[np.isnan(single)] = np.nan
    return single


def _prints(single: SingleArray) -> WordArray:
    prints = np.full(len(single), _SEED, dtype=np.uint64)
    hash_rows(single.view(np.uint32), prints)
    return prints


def _are_long(rows: FloatArray) -> BoolArray:
    """Tell which rows have several values of more than three decimals: no two are alike."""
    thousands = 1000 * rows
    long = np.abs(thousands - np.rint(thousands)) > 1e-6 * np.maximum(1.0, np.abs(thousands))
    are_long: BoolArray = long.sum(axis=1) >= min(_LONG, rows.shape[1])
    return are_long


def digest_of_rows(rows: FloatArray, *more: FloatArray | IntArray) -> str:
    """Return a digest of rows and further columns that does not depend on the order of rows.

    Examples
    --------
    >>> rows = np.arange(6.0).reshape(3, 2)
    >>> digest_of_rows(rows) == digest_of_rows(rows[::-1])
    True
    """
    single = _single(rows)
    order = np.lexsort([*more, _prints(single)])
    return fingerprint(single[order], *(column[order] for column in more))
