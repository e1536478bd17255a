"""The checkpoint of a fit: what slow models say about scored rows, in one file.

A fit is determined by its data, seed and settings. Started again with its checkpoint, it goes the
same way, and fits only what the checkpoint lacks; so nothing else of its state is ever written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, Self

import numpy as np

from emsco._base.documents import PathLike
from emsco._base.store import Store
from emsco._base.typing import BoolArray, Report
from emsco.errors import CheckpointError, EMSCOError
from emsco.models.fitter import Answers

_SECONDS = 1.0  # between two writes
_NAME, _SEED = "checkpoint", "random_state"


class Checkpoint:
    """Keeps answers of models by subset, and writes them every second.

    Several fits of one problem may share a file; at worst they fit a subset twice.

    Parameters
    ----------
    path : path
        The file; it is made if there is none.
    seed : int
    problem : mapping
        What answers depend on, by the names of parameters, as plain values.

    Raises
    ------
    CheckpointError
        If the file cannot be used, is damaged or something else, or is of another problem.
    """

    def __init__(self, path: PathLike, seed: int, problem: Mapping[str, Any]) -> None:
        # Splits depend on the seed, so it is compared first; other versions may fit other models.
        about = {_SEED: seed, **problem, "version of emsco": version("emsco")}
        here = json.loads(json.dumps(about))  # as what is stored: tuples are lists
        self._is_new = not Path(path).exists()
        self._new: dict[bytes, bytes] = {}
        self._last_write = monotonic()
        self._store = Store(path, _NAME, CheckpointError)
        try:
            there = self._store.about(here) or {}
            for name, value in here.items():
                if there.get(name) != value:
                    raise CheckpointError(
                        f"checkpoint must be of this problem, got {str(path)!r}, which is of "
                        f"another {name}; use the one it was started with, or name another file."
                    )
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        """Close the file when the block ends, even after an error."""
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        """Write new answers; a fit that was refused before it had any leaves no file."""
        with closing(self._store):
            self._flush()
        if self._is_new and isinstance(error, EMSCOError):
            self._store.path.unlink(missing_ok=True)

    def answers(
        self,
        of: str,
        subsets: BoolArray,
        fit: Callable[[BoolArray, Report | None], Answers],
        shape: tuple[int, int],
        n_jobs: int = 1,
        report: Report | None = None,
    ) -> Answers:
        """Answers for the scored rows by models of subsets: those in the file, and others anew.

        Parameters
        ----------
        of : str
            A digest of what answers depend on beside the problem and the subset.
        subsets : ndarray of bool, shape (n_subsets, n_inputs)
        fit : callable
            Called as ``fit(subsets, report)``, with as many subsets as take about a second, so
            that a kill loses little.
        shape : (int, int)
            Number of scored rows, and of classes.
        n_jobs : int
            Fewest subsets to fit at once, if there are as many.
        report : callable, optional
        """
        n_rows, n_classes = shape
        kind = np.dtype([("winner", "u1", (n_rows,)), ("confidence", "<f8", (n_rows,))])
        answers = np.zeros(len(subsets), kind)
        keys = [of.encode() + one.tobytes() for one in np.packbits(subsets, axis=1)]
        # A bank that has dropped a subset may ask for it before it is written.
        written = zip(keys, self._store.get(keys), strict=True)
        stored = [self._new.get(key) or value for key, value in written]
        known = np.array([value is not None for value in stored], dtype=np.bool_)
        if any(value is not None and len(value) != kind.itemsize for value in stored):
            raise self._store.damaged("answers of another number of rows")
        answers[known] = np.frombuffer(b"".join(filter(None, stored)), kind)
        if (answers["winner"] >= n_classes).any() or not np.isfinite(answers["confidence"]).all():
            raise self._store.damaged("answers that no model of this problem gives")
        new, done, at_once = np.flatnonzero(~known), 0, n_jobs
        while done < len(new):
            few, started = new[done : done + at_once], monotonic()
            shown = report and partial(_report_part, report, done, len(new))
            answers["winner"][few], answers["confidence"][few] = fit(subsets[few], shown)
            self._new |= {keys[i]: answers[i].tobytes() for i in few.tolist()}
            if monotonic() - self._last_write >= _SECONDS:
                self._flush()
            done += len(few)
            at_once *= 2 if monotonic() - started < _SECONDS / 2 else 1
        return answers["winner"], answers["confidence"]

    def _flush(self) -> None:
        """Write new answers."""
        if self._new:
            self._store.add(self._new)
            self._new, self._is_new = {}, False
        self._last_write = monotonic()


def stored_seed(path: PathLike) -> int | None:
    """Seed of the checkpoint in this file, or None if there is none yet."""
    if not Path(path).exists():
        return None
    with closing(Store(path, _NAME, CheckpointError)) as store:
        if (about := store.about()) is None:
            return None
        seed = about.get(_SEED)
        if isinstance(seed, int) and seed >= 0:
            return seed
        raise store.damaged("it has no seed")


def _report_part(report: Report, before: int, total: int, done: int, _of_part: int) -> None:
    report(before + done, total)
