"""Outcomes of fitted subsets on disk, so that slow classifiers are fitted once in a lifetime."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Self

import numpy as np

from emsco._base.documents import PathLike, writing_atomically
from emsco._base.typing import BoolArray, FloatArray, LabelArray
from emsco.errors import FileError

__all__ = ["OutcomeCache", "Outcomes"]

_SECONDS = 5.0  # between two writes
_LARGE = 2**24  # bytes from which on a part is left as it is
_KEPT = 4  # parts kept in memory


class Outcomes(NamedTuple):
    """The likeliest class of each held-out row and its probability, both (n_subsets, n_rows)."""

    winner: LabelArray
    confidence: FloatArray


class _Part(NamedTuple):
    """Subsets, packed into bytes, and their outcomes."""

    subsets: LabelArray
    outcomes: Outcomes


class OutcomeCache:
    """Outcomes by subset, in a folder that outlives the process.

    Each problem has a folder of its own in there, named by its fingerprint. Outcomes lie in
    parts, written whole or not at all; a small part is merged with those that are no larger, so
    there are few files. Several processes may share a folder: at worst a subset is fitted twice.

    Parameters
    ----------
    folder : str or path
    fingerprint : str
        A digest of all that outcomes depend on.
    n_inputs, n_rows : int
        Width of a subset, and number of held-out rows.

    Raises
    ------
    FileError
        Where the folder cannot be used, or a part is damaged.
    """

    def __init__(self, folder: PathLike, fingerprint: str, n_inputs: int, n_rows: int) -> None:
        self._fingerprint = fingerprint
        self._width, self._n_rows = -(-n_inputs // 8), n_rows
        name = hashlib.sha256(fingerprint.encode()).hexdigest()[:32]
        self.path = Path(folder) / name
        self._new: dict[bytes, tuple[LabelArray, FloatArray]] = {}
        self._where: dict[bytes, tuple[str, int]] = {}
        self._sizes: dict[str, int] = {}
        self._loaded: OrderedDict[str, _Part] = OrderedDict()
        self._last_write = monotonic()
        with self._usable():
            self.path.mkdir(parents=True, exist_ok=True)
            for name in sorted(file.name for file in self.path.glob("part-*.npz")):
                with suppress(FileNotFoundError):  # merged meanwhile by another process
                    self._know(name, self._read(name))

    def __enter__(self) -> Self:
        """Write what is not yet written when the block ends, however it ends."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Write what is not yet written."""
        self.flush()

    def __len__(self) -> int:
        """How many subsets are known."""
        return len(self._where.keys() | self._new.keys())

    def find(self, subsets: BoolArray) -> tuple[BoolArray, Outcomes]:
        """Which of the subsets are known, and their outcomes; those of others are 0."""
        known = np.zeros(len(subsets), dtype=np.bool_)
        found = _no_outcomes(len(subsets), self._n_rows)
        keys = _keys(subsets)
        by_part = sorted(range(len(keys)), key=lambda i: self._where.get(keys[i], ("", 0)))
        for i in by_part:  # part by part, so that each is read once
            if outcome := self._outcome(keys[i]):
                known[i] = True
                found.winner[i], found.confidence[i] = outcome
        return known, found

    def add(self, subset: BoolArray, winner: LabelArray, confidence: FloatArray) -> None:
        """Take the outcomes of one subset; write them when it is time to."""
        self._new[_keys(subset[None])[0]] = winner, confidence
        if monotonic() - self._last_write >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what has been added since the last write."""
        if self._new:
            size = len(self._new)
            merged = []
            limit = max(1, _LARGE // (9 * self._n_rows + self._width))
            for name, other in sorted(self._sizes.items(), key=lambda item: item[1]):
                if not other <= size < limit:
                    break
                merged.append(name)
                size += other
            with self._usable():
                self._write(merged)
        self._last_write = monotonic()

    def _outcome(self, key: bytes) -> tuple[LabelArray, FloatArray] | None:
        if key in self._new:
            return self._new[key]
        if key not in self._where:
            return None
        name, place = self._where[key]
        try:
            part = self._read(name)
        except FileNotFoundError:  # merged meanwhile by another process
            return None
        return part.outcomes.winner[place], part.outcomes.confidence[place]

    def _write(self, merged: list[str]) -> None:
        parts = [_part_of(self._new)]
        for name in merged:
            with suppress(FileNotFoundError):
                parts.append(self._read(name))
        whole = _Part(
            np.concatenate([part.subsets for part in parts]),
            Outcomes(
                np.concatenate([part.outcomes.winner for part in parts]),
                np.concatenate([part.outcomes.confidence for part in parts]),
            ),
        )
        digest = hashlib.sha256(whole.subsets.tobytes()).hexdigest()[:16]
        name = f"part-{digest}.npz"
        with writing_atomically(self.path / name) as file:
            np.savez(
                file,
                fingerprint=np.frombuffer(self._fingerprint.encode(), dtype=np.uint8),
                subsets=whole.subsets,
                winner=whole.outcomes.winner,
                confidence=whole.outcomes.confidence,
            )
        for old in merged:
            if old != name:
                (self.path / old).unlink(missing_ok=True)
            self._sizes.pop(old, None)
            self._loaded.pop(old, None)
        self._new = {}
        self._know(name, whole)

    def _know(self, name: str, part: _Part) -> None:
        self._sizes[name] = len(part.subsets)
        self._where.update((key.tobytes(), (name, i)) for i, key in enumerate(part.subsets))

    def _read(self, name: str) -> _Part:
        if name not in self._loaded:
            self._loaded[name] = self._load(self.path / name)
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(name)
        return self._loaded[name]

    def _load(self, file: Path) -> _Part:
        try:
            with file.open("rb") as content, np.load(content, allow_pickle=False) as arrays:
                subsets, winner, confidence, whose = (
                    arrays[name] for name in ("subsets", "winner", "confidence", "fingerprint")
                )
        except FileNotFoundError:
            raise
        except Exception as error:  # whatever zipfile and NumPy make of a damaged file
            raise _damaged(file, f"cannot be read ({error})") from error
        shape = (len(subsets), self._n_rows)
        fits = (
            (subsets.dtype, winner.dtype, confidence.dtype) == (np.uint8, np.uint8, np.float64)
            and subsets.shape == (len(subsets), self._width)
            and winner.shape == confidence.shape == shape
        )
        if not fits or whose.tobytes() != self._fingerprint.encode():
            raise _damaged(file, "is of another problem")
        return _Part(subsets, Outcomes(winner, confidence))

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Failures of the file system, as one sentence."""
        try:
            yield
        except OSError as error:
            raise FileError(
                "cache must be a folder that can be read and written, got "
                f"{os.fspath(self.path.parent)!r} ({error.strerror or error})."
            ) from error


def _part_of(outcomes: dict[bytes, tuple[LabelArray, FloatArray]]) -> _Part:
    subsets = np.stack([np.frombuffer(key, dtype=np.uint8) for key in outcomes])
    winners, confidences = zip(*outcomes.values(), strict=True)
    return _Part(subsets, Outcomes(np.stack(winners), np.stack(confidences)))


def _no_outcomes(n_subsets: int, n_rows: int) -> Outcomes:
    shape = (n_subsets, n_rows)
    return Outcomes(np.zeros(shape, dtype=np.uint8), np.zeros(shape))


def _keys(subsets: BoolArray) -> list[bytes]:
    return [key.tobytes() for key in np.packbits(subsets, axis=1)]


def _damaged(file: Path, what: str) -> FileError:
    return FileError(
        f"cache must have whole parts, got {str(file)!r}, which {what}; delete that file, and what "
        "it held is fitted again."
    )
