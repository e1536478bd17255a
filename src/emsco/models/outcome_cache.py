"""Outcomes of classifiers on disk: a later fit need not fit the same subsets again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from emsco._base.documents import PathLike
from emsco._base.store import Place, Store, StoredBatch
from emsco._base.typing import AnyArray, BoolArray, FloatArray, LabelArray
from emsco.errors import FileError

_FORMAT = 2
_SECONDS = 5.0  # between two writes
_KEPT = 4  # batches kept in memory


class ScoredAnswers(NamedTuple):
    """Likeliest class of each scored row and its probability, both (n_subsets, n_rows)."""

    winner: LabelArray
    confidence: FloatArray


class OutcomeCache:
    """Keeps outcomes by subset in a folder, for later fits.

    Each problem has its own file, named after its fingerprint. Several processes may share a
    file; at worst they fit a subset twice.

    Parameters
    ----------
    folder : str or path
    fingerprint : str
        A digest of everything that affects the outcomes.
    n_inputs, n_rows, n_classes : int
        Number of inputs, of scored rows and of classes.

    Raises
    ------
    FileError
        If the folder cannot be used, or the file is damaged.
    """

    def __init__(
        self, folder: PathLike, fingerprint: str, n_inputs: int, n_rows: int, n_classes: int
    ) -> None:
        self._fingerprint = fingerprint
        self._width, self._n_rows, self._n_classes = -(-n_inputs // 8), n_rows, n_classes
        self._row_type = np.dtype([("winner", "u1", (n_rows,)), ("confidence", "<f8", (n_rows,))])
        name = hashlib.sha256(fingerprint.encode()).hexdigest()[:32]
        self.path = Path(folder) / f"{name}.sqlite"
        self._new: dict[bytes, tuple[LabelArray, FloatArray]] = {}
        self._where: dict[bytes, tuple[StoredBatch, int]] = {}
        self._last_batch = 0
        self._loaded: OrderedDict[int, AnyArray] = OrderedDict()
        self._last_write = monotonic()
        self._place = Place(self.path, "cache", FileError, _FORMAT, "its subsets are fitted again")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._place.unusable(error.strerror or str(error)) from error
        with self._store() as store:
            if (about := store.about) is None:
                store.say({"fingerprint": fingerprint})
            elif about != {"fingerprint": fingerprint}:
                raise self._place.damaged("is of another problem")
            self._learn(store)

    def __len__(self) -> int:
        """Number of known subsets."""
        return len(self._where.keys() | self._new.keys())

    def find(self, subsets: BoolArray) -> tuple[BoolArray, ScoredAnswers]:
        """Whether each subset is known, and its outcomes; 0 for unknown subsets."""
        shape = (len(subsets), self._n_rows)
        known = np.zeros(len(subsets), dtype=np.bool_)
        winner, confidence = np.zeros(shape, dtype=np.uint8), np.zeros(shape)
        keys = [key.tobytes() for key in np.packbits(subsets, axis=1)]
        stored = [i for i, key in enumerate(keys) if key in self._where]
        for i, key in enumerate(keys):
            if key in self._new:
                known[i] = True
                winner[i], confidence[i] = self._new[key]
        if stored:
            stored.sort(key=lambda i: self._where[keys[i]][0].number)  # to read each batch once
            with self._store() as store:
                for i in stored:
                    batch, place = self._where[keys[i]]
                    known[i] = True
                    winner[i], confidence[i] = self._rows(store, batch)[place]
        return known, ScoredAnswers(winner, confidence)

    def add(self, subset: BoolArray, winner: LabelArray, confidence: FloatArray) -> None:
        """Take the outcomes of one subset, and write new ones every few seconds."""
        self._new[np.packbits(subset).tobytes()] = winner, confidence
        if monotonic() - self._last_write >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the outcomes added since the last write."""
        if self._new:
            keys = np.frombuffer(b"".join(self._new), np.uint8).reshape(-1, self._width)
            rows = np.empty(len(keys), dtype=self._row_type)
            for i, (winner, confidence) in enumerate(self._new.values()):
                rows["winner"][i], rows["confidence"][i] = winner, confidence
            with self._store() as store:
                store.add(keys, rows)
                self._learn(store)
            self._new = {}
        self._last_write = monotonic()

    def _store(self) -> Store:
        """Open the file. Close it soon: other processes may use it too."""
        return Store(self._place, self._width, self._row_type, exclusive=False)

    def _learn(self, store: Store) -> None:
        """Note the batch of each subset, including batches that other processes wrote."""
        for batch in store.batches(after=self._last_batch):
            self._where.update((key.tobytes(), (batch, i)) for i, key in enumerate(batch.keys))
            self._last_batch = batch.number

    def _rows(self, store: Store, batch: StoredBatch) -> AnyArray:
        """Rows of a batch, read and checked unless it was used lately."""
        if batch.number not in self._loaded:
            rows = store.rows(batch)
            are_finite = np.isfinite(rows["confidence"]).all()
            if not are_finite or (rows["winner"] >= self._n_classes).any():
                raise self._place.damaged("has outcomes that no model of this problem gives")
            self._loaded[batch.number] = rows
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(batch.number)
        return self._loaded[batch.number]
