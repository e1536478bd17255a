"""Fingerprints of single rows, which tell later whether a row has been seen before.

A fingerprint is a hash of a row's inputs in single precision, so neither the order of columns nor
the format of a file matters. Others are hashes of some inputs in wide steps, which also find rows
that were rounded or changed in other columns. Whoever has a row can tell whether it is among the
fingerprints, and whoever tries all values of a table of few can tell which rows are.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from emsco.data.near_rows import NearColumns, choose_near_columns

_MOST = 2**14  # fingerprints that are kept, in 175 kB of a file
_MOST_NEAR = 2**11  # of each set of columns in steps
_SAMPLED = 2_000  # rows that the columns in steps are chosen by
_FEWEST = 20  # rows; of fewer, nothing is known about how columns are spread
_SEED = 0x9E3779B97F4A7C15
_CHANCE = 0.001  # that as many new rows, or more, look like seen ones
_SHIFTED = 2.0  # times as many rows may be alike if new rows come from elsewhere
_OWN = 0.5  # different values for each row of an input whose values tell rows apart
_LONG = 3  # values of many digits that tell a row from all others
_WORD = 2**64


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """Rows that are like others, more of them than chance explains.

    Attributes
    ----------
    rows : ndarray of shape (n_alike,)
        Positions of the rows.
    n_by_chance : float
        How many of them chance explains.
    is_near : bool
        Whether they are nearly like others, and not equal to them.
    """

    rows: IntArray
    n_by_chance: float = 0.0
    is_near: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PrintSample:
    """Fingerprints of rows.

    Of many rows, the smallest fingerprints are kept: a new row whose fingerprint is as small can
    be looked up, so that overlap is found in a sample of the rows. Fingerprints that several rows
    share tell nothing, and are not kept.

    Attributes
    ----------
    known : ndarray of shape (n_known,)
        Fingerprints that one row has, sorted.
    n_rows : int
        Rows of the table.
    n_twins : int
        Pairs of rows, among those within the sample, whose fingerprint no third row has. They
        tell how often rows look alike by chance.
    n_shared : int
        Fingerprints within the sample that two rows have, or more.
    largest : int
        Fingerprints up to this one are within the sample.
    """

    known: WordArray
    n_rows: int
    n_twins: int
    n_shared: int
    largest: int

    def __post_init__(self) -> None:
        """Copy and lock the fingerprints."""
        object.__setattr__(self, "known", locked_copy(self.known, np.uint64))

    @property
    def share(self) -> float:
        """Share of all fingerprints that is within the sample."""
        return min(1.0, (self.largest + 1) / _WORD)

    def n_expected(self, n_within: int) -> float:
        """Return how many of so many new rows within the sample look like a seen one by chance."""
        return 2 * self.n_twins * n_within / max(1.0, self.n_rows * self.share)

    def is_beyond_chance(self, n_alike: int, n_within: int, n_tests: int) -> bool:
        """Tell whether more known fingerprints come again than chance explains.

        So many pairs of twins among the seen rows let us expect so many new rows that look like a
        seen one. `n_tests` share the chance of a false alarm.
        """
        ratio = 2 * n_within / max(1.0, self.n_rows * self.share)
        return _are_too_many(n_alike, self.n_twins, ratio, n_tests)

    def repeats(self, prints: WordArray, n_tests: int) -> Likeness:
        """Return new rows that repeat an earlier one of them, if that is beyond chance.

        As many of the fingerprints should be shared as of the seen rows.
        """
        first = np.unique(prints, return_index=True)[1]
        repeats: IntArray = np.delete(np.arange(len(prints)), first)
        # Of no more rows than were seen, since many have more pairs than the seen ones tell about.
        some = prints
        if len(prints) > self.n_rows:
            some = np.random.default_rng(0).permutation(prints)[: self.n_rows]
        n_shared = int((np.unique(some, return_counts=True)[1] > 1).sum())
        ratio = len(some) / (self.n_rows * max(self.share, 1 / self.n_rows))
        if not _are_too_many(n_shared, self.n_shared, ratio, n_tests):
            return Likeness(repeats[:0])
        return Likeness(repeats, self.n_shared * ratio * len(prints) / len(some))

    def sample_to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        packed = base64.b64encode(self.known.astype("<u8").tobytes()).decode()
        return {
            "known": packed,
            "n_twins": self.n_twins,
            "n_shared": self.n_shared,
            "largest": str(self.largest),
        }


@dataclass(frozen=True, slots=True, eq=False)
class NearPrints(PrintSample):
    """Fingerprints of some inputs in wide steps.

    Attributes
    ----------
    columns : NearColumns
    """

    columns: NearColumns

    def prints_of(self, rows: FloatArray) -> WordArray:
        """Return the fingerprints of rows."""
        return _prints(_one_nan(self.columns.in_steps(rows)))


@dataclass(frozen=True, slots=True, eq=False)
class RowPrints(PrintSample):
    """Fingerprints of the rows of a search, exact ones and near ones.

    Attributes
    ----------
    known, n_rows, n_twins, n_shared, largest
        See `PrintSample`.
    digest : str
        Digest of the fingerprints of all rows, sorted. Files of earlier versions have one of the
        rows themselves, as `digest_of_rows` makes it.
    near : tuple of NearPrints
        Files of earlier versions have none.
    own_values : tuple of int or None
        Inputs in which most rows have a value of their own; None if nobody has looked.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> prints = RowPrints.from_rows(rows)
    >>> prints.seen_again(rows[50:60]).rows.tolist() == list(range(10))
    True
    >>> prints.seen_again(rows[50:60] + 1).rows.tolist()
    []
    >>> rounded = prints.seen_again(rows[50:60].round(3))
    >>> rounded.rows.tolist() == list(range(10)), rounded.is_near
    (True, True)
    """

    digest: str
    near: tuple[NearPrints, ...] = ()
    own_values: tuple[int, ...] | None = None

    @classmethod
    def from_rows(
        cls,
        rows: FloatArray | RowsElsewhere,
        max_prints: int = _MOST,
        bought: Sequence[Sequence[int]] = (),
    ) -> Self:
        """Take the fingerprints of rows, shape (n_rows, n_inputs), NaN for missing values.

        `bought` has the inputs that designs buy: a row that was changed in others is found, too.
        """
        drawn = np.arange(len(rows))
        if len(rows) > _SAMPLED:
            drawn = np.sort(np.random.default_rng(0).choice(len(rows), _SAMPLED, replace=False))
        sample = np.asarray(rows[drawn])
        chosen: tuple[NearColumns, ...] = ()
        if len(sample) >= _FEWEST:
            chosen = choose_near_columns(sample, len(rows), bought)
        # Of very many rows, fingerprints that would not be kept need not come together.
        below = min(_WORD - 1, int(_WORD * 4 * _MOST_NEAR / len(rows)))
        if isinstance(rows, RowsElsewhere):
            leaves = rows.map(_all_prints, chosen, below)
        else:
            parts = [rows_of_leaf(leaf) for leaf in range(n_leaves_of(len(rows)))]
            leaves = in_threads(lambda part: _all_prints(rows[part], chosen, below), parts)
        prints, *of_near = (np.concatenate(one) for one in zip(*leaves, strict=True))
        prints.sort()
        near = tuple(
            NearPrints(*_kept(np.sort(one), len(rows), _MOST_NEAR, below), columns)
            for columns, one in zip(chosen, of_near, strict=True)
        )
        return cls(
            *_kept(prints, len(rows), max_prints, _WORD - 1),
            fingerprint(prints),
            near,
            _own_values(sample),
        )

    def seen_again(self, rows: FloatArray) -> Likeness:
        """Return rows that were seen before, if it cannot be chance.

        Rows of few categories look alike though nobody has seen them: so many pairs of twins among
        the seen rows let us expect so many new rows that look like a seen one. Beyond that, rows
        were seen before. So they were if one of them has several values with many digits, or if
        the table is the same.
        """
        lookup = Lookup(self)
        lookup.add(rows)
        seen = lookup.seen()
        # Files of earlier versions have a digest of the rows themselves.
        is_as_long = len(seen.rows) < len(rows) == self.n_rows
        if is_as_long and digest_of_rows(rows) == self.digest:
            return Likeness(np.arange(len(rows)))
        return seen

    def repeated(self, rows: FloatArray) -> Likeness:
        """Return rows that repeat an earlier one of them, or nearly so, if it cannot be chance.

        It cannot if such a row has several values with many digits, or if the rows of the search
        hardly repeat each other and these do.
        """
        prints = prints_of(rows)
        first = np.unique(prints, return_index=True)[1]
        repeats: IntArray = np.delete(np.arange(len(rows)), first)
        n_tests = 1 + len(self.near)
        is_long = bool(self.are_long(rows[repeats]).any())
        equal = Likeness(repeats) if is_long else self.repeats(prints, n_tests)
        near = [
            replace(one.repeats(one.prints_of(rows), n_tests), is_near=True) for one in self.near
        ]
        return _most_alike([equal, *near])

    def are_long(self, rows: FloatArray) -> BoolArray:
        """Tell which rows have several values of more than three decimals: no two are alike."""
        n_needed = min(_LONG, rows.shape[1])
        if self.own_values is not None:
            rows = rows[:, list(self.own_values)]
        thousands = 1000 * rows
        long = np.abs(thousands - np.rint(thousands)) > 1e-6 * np.maximum(1.0, np.abs(thousands))
        are_long: BoolArray = long.sum(axis=1) >= n_needed
        return are_long

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {
            **self.sample_to_dict(),
            "n_rows": self.n_rows,
            "digest": self.digest,
            "near": [{**one.sample_to_dict(), **one.columns.to_dict()} for one in self.near],
            "own_values": None if self.own_values is None else list(self.own_values),
        }

    @classmethod
    def from_dict(cls, fields: Fields, n_inputs: int) -> Self:
        """Read the values of `to_dict` from a file and check them."""
        if not (digest := fields.text("digest")).startswith(DIGEST):
            fields.refuse("digest", f"a digest that begins with {DIGEST}", digest)
        n_rows = fields.whole("n_rows", 1)
        near = []
        own_values = None
        if fields.values.get("near"):  # files of earlier versions have none
            for one in fields.many_fields("near"):
                sample = _sample_from_dict(one, n_rows, _MOST_NEAR)
                near.append(NearPrints(*sample, NearColumns.from_dict(one, n_inputs)))
        if fields.values.get("own_values") is not None:
            n_own = len(fields.items("own_values"))
            own_values = tuple(fields.wholes("own_values", n_own, 0, n_inputs - 1))
        sample = _sample_from_dict(fields, n_rows, _MOST)
        return cls(*sample, digest, tuple(near), own_values)


class Lookup:
    """Looks rows up among fingerprints, some rows at a time, and judges all of them at the end.

    See `RowPrints.seen_again` for the judgement.

    Parameters
    ----------
    prints : RowPrints
    """

    def __init__(self, prints: RowPrints) -> None:
        self._searched = prints
        self._n_rows = 0
        self._is_long = False
        self._matches = [_Matches(sample) for sample in (prints, *prints.near)]
        self._prints: list[WordArray] = []

    def add(self, rows: FloatArray) -> None:
        """Look more rows up."""
        searched, prints = self._searched, prints_of(rows)
        exact = self._matches[0]
        alike = exact.add(prints, self._n_rows)
        self._is_long |= bool(searched.are_long(rows[alike]).any())
        for near, matches in zip(searched.near, self._matches[1:], strict=True):
            matches.add(near.prints_of(rows), self._n_rows)
        self._n_rows += len(rows)
        # More rows than those of the search are another table, which needs no digest.
        self._prints = [*self._prints, prints] if self._n_rows <= searched.n_rows else []

    def seen(self) -> Likeness:
        """Return the rows, among all, that were seen before, or nearly so."""
        searched, exact = self._searched, self._matches[0]
        is_as_long = self._n_rows == searched.n_rows
        if is_as_long and fingerprint(np.sort(np.concatenate(self._prints))) == searched.digest:
            return Likeness(np.arange(self._n_rows))
        n_tests = len(self._matches)
        equal = Likeness(exact.alike) if self._is_long else exact.likeness(n_tests)
        near = [replace(one.likeness(n_tests), is_near=True) for one in self._matches[1:]]
        return _most_alike([equal, *near])


class _Matches:
    """Rows whose fingerprints are among those of a sample."""

    def __init__(self, sample: PrintSample) -> None:
        self._sample = sample
        self._n_within = 0
        self._alike: list[IntArray] = [np.empty(0, dtype=np.int64)]
        self._known: WordArray = sample.known[:0]

    def add(self, prints: WordArray, first: int) -> IntArray:
        """Look fingerprints up; return the positions of those that are there."""
        alike = np.flatnonzero(np.isin(prints, self._sample.known))
        self._alike.append(first + alike)
        self._known = np.union1d(self._known, prints[alike])
        self._n_within += int((prints <= np.uint64(self._sample.largest)).sum())
        return alike

    @property
    def alike(self) -> IntArray:
        """Positions of the rows that are there."""
        return np.concatenate(self._alike)

    def likeness(self, n_tests: int) -> Likeness:
        """Return the rows that are there, if they are more than chance explains.

        Rows that are like the same known one count once: one common row would be many otherwise.
        """
        alike, sample = self.alike, self._sample
        if not sample.is_beyond_chance(len(self._known), self._n_within, n_tests):
            return Likeness(alike[:0])
        return Likeness(alike, sample.n_expected(self._n_within))


def _are_too_many(n_new: int, n_known: int, ratio: float, n_tests: int) -> bool:
    """Tell whether so many are more than chance explains, if so many are known already.

    Chance makes `ratio` new ones for a known one, or twice as many if rows come from elsewhere.
    """
    if not n_new:
        return False
    # Only here, since deciding does without SciPy; `scipy.stats` takes a second to import.
    from scipy.special import betainc

    ratio *= _SHIFTED
    # So many or more of all, by the binomial distribution.
    return float(betainc(n_new, n_known + 1, ratio / (1 + ratio))) < _CHANCE / n_tests


def _most_alike(likenesses: Sequence[Likeness]) -> Likeness:
    """Return the first of those with most rows: equal rows say more than rows that are near."""
    most = max(len(one.rows) for one in likenesses)
    return next(one for one in likenesses if len(one.rows) >= most / 2)


def _all_prints(rows: FloatArray, near: Sequence[NearColumns], below: int) -> list[WordArray]:
    """Return the fingerprints of rows, and of their columns in steps those up to a number."""
    every = [_prints(_single(rows))]
    for columns in near:
        prints = _prints(_one_nan(columns.in_steps(rows)))
        every.append(prints[prints <= np.uint64(below)])
    return every


def _kept(
    prints: WordArray, n_rows: int, max_prints: int, below: int
) -> tuple[WordArray, int, int, int, int]:
    """Return what to keep of sorted fingerprints, of which there are all up to a number."""
    is_other = prints[1:] != prints[:-1]
    first = np.flatnonzero(np.concatenate([np.ones_like(prints[:1], np.bool_), is_other]))
    kept, counts = prints[first[:max_prints]], np.diff(first, append=len(prints))[:max_prints]
    largest = below if len(kept) == len(first) else int(kept[-1])
    n_twins, n_shared = int((counts == 2).sum()), int((counts > 1).sum())
    return kept[counts == 1], n_rows, n_twins, n_shared, largest


def _sample_from_dict(
    fields: Fields, n_rows: int, max_prints: int
) -> tuple[WordArray, int, int, int, int]:
    """Read the values of `PrintSample.sample_to_dict` and check them."""
    text, largest = fields.text("known"), fields.text("largest")
    try:
        known = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u8")
    except ValueError:
        fields.refuse("known", "packed fingerprints", text)
    if len(known) > max_prints or (known[1:] <= known[:-1]).any():
        fields.refuse("known", f"at most {max_prints} fingerprints that go up", text)
    if not largest.isdecimal() or not int(largest) < _WORD:
        fields.refuse("largest", "a whole number below 2^64", largest)
    n_twins = fields.whole("n_twins", 0, n_rows)
    n_shared = n_twins  # files of earlier versions count twins alone
    if "n_shared" in fields.values:
        n_shared = fields.whole("n_shared", n_twins, n_rows)
    return known, n_rows, n_twins, n_shared, int(largest)


def _own_values(sample: FloatArray) -> tuple[int, ...]:
    """Return the inputs in which most rows have a value of their own."""
    n_different = [len(np.unique(column[~np.isnan(column)])) for column in sample.T]
    return tuple(np.flatnonzero(np.array(n_different) >= _OWN * len(sample)).tolist())


def prints_of(rows: FloatArray) -> WordArray:
    """Return a 64-bit hash of each row, the same on every machine."""
    leaves = [rows_of_leaf(leaf) for leaf in range(n_leaves_of(len(rows)))]
    prints = in_threads(lambda leaf: _prints(_single(rows[leaf])), leaves)
    return prints[0] if len(prints) == 1 else np.concatenate(prints)


def _single(rows: FloatArray) -> SingleArray:
    """Rows in single precision; -0 becomes 0, huge values infinite, and there is one NaN."""
    with np.errstate(over="ignore"):
        single: SingleArray = np.array(rows, dtype=np.float32, order="C")
    return _one_nan(single)


def _one_nan(single: SingleArray) -> SingleArray:
    single += np.float32(0)
    single[np.isnan(single)] = np.nan
    return single


def _prints(single: SingleArray) -> WordArray:
    prints = np.full(len(single), _SEED, dtype=np.uint64)
    hash_rows(single.view(np.uint32), prints)
    return prints


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
