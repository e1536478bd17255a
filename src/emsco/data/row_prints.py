"""Fingerprints of single rows, which tell later whether a row has been seen before.

A fingerprint is a hash of a row's inputs in single precision, so neither the order of columns nor
the format of a file matters. Others are hashes of some inputs in wide steps, which also find rows
that were rounded or changed in other columns. Whoever has a row can tell whether it is among the
fingerprints, and whoever tries all values of a table of few can tell which rows are.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.digests import DIGEST, fingerprint
from emsco._base.documents import Fields
from emsco._base.typing import BoolArray, FloatArray, IntArray, SingleArray, WordArray
from emsco._base.workers import in_threads, row_blocks
from emsco._kernels.slots import hash_rows
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

    @property
    def caveat(self) -> str:
        """What speaks against their being the same rows, for the middle of a sentence."""
        if self.is_near:
            return ", or nearly so, as after rounding"
        expected = round(self.n_by_chance)
        return f", where chance explains about {expected:,}" if expected else ""


@dataclass(frozen=True, slots=True, eq=False)
class PrintSample:
    """Fingerprints of rows, whole or with some inputs in wide steps.

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
    columns : NearColumns or None
        The inputs in steps; None for whole rows.
    """

    known: WordArray
    n_rows: int
    n_twins: int
    n_shared: int
    largest: int
    columns: NearColumns | None = None

    def __post_init__(self) -> None:
        """Copy and lock the fingerprints."""
        object.__setattr__(self, "known", locked_copy(self.known, np.uint64))

    @classmethod
    def from_prints(
        cls,
        prints: WordArray,
        n_rows: int,
        max_prints: int,
        below: int = _WORD - 1,
        columns: NearColumns | None = None,
    ) -> Self:
        """Keep some of the fingerprints of rows; `prints` has all of them up to `below`."""
        different, counts = np.unique(prints, return_counts=True)
        largest = below if len(different) <= max_prints else int(different[max_prints - 1])
        kept, counts = different[:max_prints], counts[:max_prints]
        n_twins, n_shared = int((counts == 2).sum()), int((counts > 1).sum())
        return cls(kept[counts == 1], n_rows, n_twins, n_shared, largest, columns)

    @property
    def is_near(self) -> bool:
        """Whether rows with the same fingerprint may differ a little."""
        return self.columns is not None

    @property
    def n_within(self) -> float:
        """How many rows of the table have a fingerprint within the sample, about."""
        return max(1.0, self.n_rows * min(1.0, (self.largest + 1) / _WORD))

    def prints_of(self, rows: FloatArray) -> WordArray:
        """Return the fingerprints of rows."""
        return prints_of(rows) if self.columns is None else _near_prints(rows, self.columns)

    def repeats(self, prints: WordArray, n_tests: int) -> Likeness:
        """Return new rows that repeat an earlier one of them, if that is beyond chance.

        As many of the fingerprints should be shared as of the seen rows. `n_tests` share the
        chance of a false alarm.
        """
        repeats = _repeats(prints)
        # Of no more rows than were seen, since many have more pairs than the seen ones tell about.
        some = prints
        if len(prints) > self.n_rows:
            some = np.random.default_rng(0).permutation(prints)[: self.n_rows]
        n_shared = int((np.unique(some, return_counts=True)[1] > 1).sum())
        if not _are_too_many(n_shared, self.n_shared, len(some) / self.n_within, n_tests):
            return Likeness(repeats[:0])
        return Likeness(repeats, self.n_shared * len(prints) / self.n_within, self.is_near)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file; the number of rows is kept elsewhere."""
        return {
            "known": base64.b64encode(self.known.astype("<u8").tobytes()).decode(),
            "n_twins": self.n_twins,
            "n_shared": self.n_shared,
            "largest": str(self.largest),
            **({} if self.columns is None else self.columns.to_dict()),
        }

    @classmethod
    def from_dict(
        cls, fields: Fields, n_rows: int, max_prints: int, columns: NearColumns | None = None
    ) -> Self:
        """Read the values of `to_dict` from a file and check them."""
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
        return cls(known, n_rows, n_twins, n_shared, int(largest), columns)


@dataclass(frozen=True, slots=True, eq=False)
class RowPrints:
    """Fingerprints of the rows of a search, exact ones and near ones.

    Attributes
    ----------
    exact : PrintSample
    digest : str
        Digest of the fingerprints of all rows, sorted. Files of earlier versions have one of the
        rows themselves, as `digest_of_rows` makes it.
    near : tuple of PrintSample
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

    exact: PrintSample
    digest: str
    near: tuple[PrintSample, ...] = ()
    own_values: tuple[int, ...] | None = None

    @classmethod
    def from_rows(
        cls,
        rows: FloatArray,
        max_prints: int = _MOST,
        bought: Sequence[Sequence[int]] = (),
    ) -> Self:
        """Take the fingerprints of rows, shape (n_rows, n_inputs), NaN for missing values.

        `bought` has the inputs that designs buy: a row that was changed in others is found, too.
        """
        n_rows, drawn = len(rows), np.arange(len(rows))
        if n_rows > _SAMPLED:
            drawn = np.sort(np.random.default_rng(0).choice(n_rows, _SAMPLED, replace=False))
        sample = rows[drawn]
        chosen: tuple[NearColumns, ...] = ()
        if len(sample) >= _FEWEST:
            chosen = choose_near_columns(sample, n_rows, bought)
        # Of very many rows, fingerprints that would not be kept need not come together.
        below = min(_WORD - 1, int(_WORD * 4 * _MOST_NEAR / n_rows))
        blocks = in_threads(lambda one: _all_prints(rows[one], chosen, below), row_blocks(n_rows))
        prints, *of_near = (np.concatenate(one) for one in zip(*blocks, strict=True))
        prints.sort()
        near = [
            PrintSample.from_prints(one, n_rows, _MOST_NEAR, below, columns)
            for columns, one in zip(chosen, of_near, strict=True)
        ]
        exact = PrintSample.from_prints(prints, n_rows, max_prints)
        return cls(exact, fingerprint(prints), tuple(near), _own_values(sample))

    @property
    def samples(self) -> tuple[PrintSample, ...]:
        """The exact fingerprints, then the near ones."""
        return self.exact, *self.near

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
        is_as_long = len(seen.rows) < len(rows) == self.exact.n_rows
        if is_as_long and digest_of_rows(rows) == self.digest:
            return Likeness(np.arange(len(rows)))
        return seen

    def repeated(self, rows: FloatArray) -> Likeness:
        """Return rows that repeat an earlier one of them, or nearly so, if it cannot be chance.

        It cannot if such a row has several values with many digits, or if the rows of the search
        hardly repeat each other and these do.
        """
        samples = self.samples
        every = [one.repeats(one.prints_of(rows), len(samples)) for one in samples]
        repeats = _repeats(prints_of(rows))
        if self.are_long(rows[repeats]).any():
            every[0] = Likeness(repeats)
        return _most_alike(every)

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
            **self.exact.to_dict(),
            "n_rows": self.exact.n_rows,
            "digest": self.digest,
            "near": [one.to_dict() for one in self.near],
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
                columns = NearColumns.from_dict(one, n_inputs)
                near.append(PrintSample.from_dict(one, n_rows, _MOST_NEAR, columns))
        if fields.values.get("own_values") is not None:
            n_own = len(fields.items("own_values"))
            own_values = tuple(fields.wholes("own_values", n_own, 0, n_inputs - 1))
        exact = PrintSample.from_dict(fields, n_rows, _MOST)
        return cls(exact, digest, tuple(near), own_values)


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
        self._exact, *self._near = [_Matches(sample) for sample in prints.samples]
        self._prints: list[WordArray] = []

    def add(self, rows: FloatArray) -> None:
        """Look more rows up."""
        searched, prints = self._searched, prints_of(rows)
        alike = self._exact.add(prints, self._n_rows)
        self._is_long |= bool(searched.are_long(rows[alike]).any())
        for matches in self._near:
            matches.add(matches.sample.prints_of(rows), self._n_rows)
        self._n_rows += len(rows)
        # More rows than those of the search are another table, which needs no digest.
        is_longer = self._n_rows > searched.exact.n_rows
        self._prints = [] if is_longer else [*self._prints, prints]

    def seen(self) -> Likeness:
        """Return the rows, among all, that were seen before, or nearly so."""
        searched = self._searched
        is_as_long = self._n_rows == searched.exact.n_rows
        if is_as_long and fingerprint(np.sort(np.concatenate(self._prints))) == searched.digest:
            return Likeness(np.arange(self._n_rows))
        every = [one.likeness(1 + len(self._near)) for one in (self._exact, *self._near)]
        if self._is_long:
            every[0] = Likeness(self._exact.alike)
        return _most_alike(every)


class _Matches:
    """Rows whose fingerprints are among those of a sample."""

    def __init__(self, sample: PrintSample) -> None:
        self.sample = sample
        self._n_within = 0
        self._alike: list[IntArray] = [np.empty(0, dtype=np.int64)]
        self._known: WordArray = sample.known[:0]

    def add(self, prints: WordArray, first: int) -> IntArray:
        """Look fingerprints up; return the positions of those that are there."""
        alike = np.flatnonzero(np.isin(prints, self.sample.known))
        self._alike.append(first + alike)
        self._known = np.union1d(self._known, prints[alike])
        self._n_within += int((prints <= np.uint64(self.sample.largest)).sum())
        return alike

    @property
    def alike(self) -> IntArray:
        """Positions of the rows that are there."""
        return np.concatenate(self._alike)

    def likeness(self, n_tests: int) -> Likeness:
        """Return the rows that are there, if they are more than chance explains.

        Each row of a pair of twins among the seen rows lets us expect a new row like it. Rows that
        are like the same known one count once: one common row would be many otherwise.
        """
        sample = self.sample
        ratio = 2 * self._n_within / sample.n_within
        if not _are_too_many(len(self._known), sample.n_twins, ratio, n_tests):
            return Likeness(self.alike[:0])
        return Likeness(self.alike, sample.n_twins * ratio, sample.is_near)


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


def _repeats(prints: WordArray) -> IntArray:
    """Return the positions of fingerprints that have come before."""
    first = np.unique(prints, return_index=True)[1]
    repeats: IntArray = np.delete(np.arange(len(prints)), first)
    return repeats


def _all_prints(rows: FloatArray, near: Sequence[NearColumns], below: int) -> list[WordArray]:
    """Return the fingerprints of rows, and of their columns in steps those up to a number."""
    every = [_prints(_single(rows))]
    for columns in near:
        prints = _near_prints(rows, columns)
        every.append(prints[prints <= np.uint64(below)])
    return every


def _own_values(sample: FloatArray) -> tuple[int, ...]:
    """Return the inputs in which most rows have a value of their own."""
    n_different = [len(np.unique(column[~np.isnan(column)])) for column in sample.T]
    return tuple(np.flatnonzero(np.array(n_different) >= _OWN * len(sample)).tolist())


def prints_of(rows: FloatArray) -> WordArray:
    """Return a 64-bit hash of each row, the same on every machine."""
    prints = in_threads(lambda block: _prints(_single(rows[block])), row_blocks(len(rows)))
    return prints[0] if len(prints) == 1 else np.concatenate(prints)


def _single(rows: FloatArray) -> SingleArray:
    """Rows in single precision; -0 becomes 0, huge values infinite, and there is one NaN."""
    with np.errstate(over="ignore"):
        single: SingleArray = np.array(rows, dtype=np.float32, order="C")
    return _one_nan(single)


def _near_prints(rows: FloatArray, columns: NearColumns) -> WordArray:
    return _prints(_one_nan(columns.in_steps(rows)))


def _one_nan(single: SingleArray) -> SingleArray:
    single += np.float32(0)
    single[np.isnan(single)] = np.nan
    return single


def _prints(single: SingleArray) -> WordArray:
    prints = np.full(len(single), _SEED, dtype=np.uint64)
    hash_rows(np.ascontiguousarray(single).view(np.uint32), prints)
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
