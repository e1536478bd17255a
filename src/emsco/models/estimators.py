"""Fits a scikit-learn classifier of the user's to subsets of the inputs, through joblib."""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Self

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from emsco._base.checks import check_choice, refused
from emsco._base.digests import fingerprint
from emsco._base.documents import PathLike
from emsco._base.store import Batch, Place, Store
from emsco._base.text import brief
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import in_processes, one_thread
from emsco.errors import DataError, FileError, Parameter, ParameterError
from emsco.models.calibration import KINDS, Calibrator, calibration_split
from emsco.models.estimator_files import EstimatorModel
from emsco.models.scaling import mean_of_known

__all__ = [
    "EstimatorFitter",
    "EstimatorJob",
    "EstimatorModel",
    "FilledRows",
    "GivenRows",
    "OutcomeCache",
    "Outcomes",
    "check_estimator_like",
    "check_takes_weights",
    "describe",
    "seeded_clone",
    "weight_name",
]

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)


def check_estimator_like(estimator: Any) -> None:
    """Refuse anything but a scikit-learn classifier or pipeline with predict_proba.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> check_estimator_like(GaussianNB())
    >>> check_estimator_like(GaussianNB)
    Traceback (most recent call last):
    ...
    emsco.errors.ParameterError: estimator must be an object, got the class GaussianNB; \
write GaussianNB().
    """
    if isinstance(estimator, type):
        name = estimator.__name__
        raise refused(
            "estimator", "be an object", estimator, got=f"the class {name}", hint=f"write {name}()"
        )
    whole = all(hasattr(estimator, name) for name in ("fit", "get_params", "set_params"))
    if not whole or not is_classifier(estimator):
        raise refused(
            "estimator",
            "be a scikit-learn classifier, or a pipeline that ends with one",
            estimator,
            got=brief(estimator, 80),
        )
    if not hasattr(estimator, "predict_proba"):
        raise refused(
            "estimator",
            "have predict_proba",
            estimator,
            got=f"{brief(estimator, 80)}, which has none",
            hint="CalibratedClassifierCV gives it one",
        )


def check_takes_weights(estimator: Any) -> None:
    """Refuse an estimator that cannot be fitted to weighted rows."""
    if weight_name(estimator) is None:
        raise refused(
            "estimator",
            "take sample_weight in fit if rows or classes have weights",
            estimator,
            got=f"{brief(estimator, 80)}, which does not",
            hint="leave the weights out or give another",
        )


def weight_name(estimator: Any) -> str | None:
    """Name of the sample weights in `fit`, or None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    inside = getattr(estimator, "estimator", None)
    if hasattr(inside, "fit") and weight_name(inside) != "sample_weight":
        return None  # the inner estimator would ignore the weights, at best with a warning
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def seeded_clone(prototype: Any, seed: int, subset: BoolArray) -> Any:
    """Clone a classifier, and seed it by the seed and the subset only.

    Every `random_state` inside is set, also those of steps and splitters. A whole number stays:
    the user chose it.
    """
    fresh = clone(prototype)
    params = fresh.get_params(deep=True)
    owners = sorted(name for name, value in params.items() if _is_splitter(value))
    names = sorted(name for name in params if name.split("__")[-1] == "random_state")
    number = int.from_bytes(np.packbits(subset).tobytes(), "big")
    sequence = np.random.SeedSequence([seed, len(subset), number])
    # Some classifiers refuse seeds of more than 31 bits.
    seeds = (sequence.generate_state(len(names) + len(owners)) >> 1).tolist()
    changes: dict[str, Any] = {}
    for name, drawn in zip([*names, *owners], seeds, strict=True):
        value = params[name]
        if name in owners:
            if not isinstance(value.random_state, Integral):
                changes[name] = copy.copy(value)
                changes[name].random_state = drawn if getattr(value, "shuffle", True) else None
        elif not isinstance(value, Integral):
            changes[name] = drawn
    return fresh.set_params(**changes)


def describe(value: Any) -> str:
    """Describe an estimator by all its parameters and the version of its package.

    Raises
    ------
    ParameterError
        If a parameter has no stable description, such as a lambda.
    """
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = sorted(value.get_params(deep=False).items())
        inside = ", ".join(f"{name}={describe(one)}" for name, one in params)
        return f"{_name(type(value))} {_version(type(value))}({inside})"
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype != np.object_:
        return fingerprint(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{describe(k)}: {describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(describe, value))}]"
    return _digest(value)


def _digest(value: Any) -> str:
    named = getattr(value, "__qualname__", "")
    if named and "<" not in named:
        return _name(value)
    try:
        if named:
            raise ValueError("a function without a name of its own")
        return f"{_name(type(value))} {joblib.hash(value)}"
    except Exception as error:  # foreign objects may raise anything when they are hashed
        raise refused(
            "estimator",
            "have parameters that can be told from others to be kept on disk",
            value,
            got=f"{brief(value, 80)} ({error})",
        ) from None


def _is_splitter(value: Any) -> bool:
    return (
        hasattr(value, "random_state")
        and callable(getattr(value, "split", None))
        and not hasattr(value, "get_params")
    )


def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _version(kind: type) -> str:
    package = kind.__module__.split(".")[0]
    try:
        return version({"sklearn": "scikit-learn"}.get(package, package))
    except PackageNotFoundError:
        return "of no package"


_PROBED = 1000  # rows whose probabilities identify a fitted model


@dataclass(frozen=True, slots=True, eq=False)
class FilledRows:
    """Rows without missing values, with their classes and weights."""

    X: FloatArray
    labels: IntArray
    weights: FloatArray | None

    def some(self, rows: BoolArray) -> FilledRows:
        """Pick some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return FilledRows(self.X[rows], self.labels[rows], weights)

    def weighted(self, by_class: FloatArray | None) -> FilledRows:
        """Multiply the weights of the rows by the weight of their class."""
        if by_class is None:
            return self
        own = np.ones(len(self.labels)) if self.weights is None else self.weights
        return replace(self, weights=own * by_class[self.labels])


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """All rows as given, and the value that replaces a missing one in each input."""

    X: FloatArray
    labels: LabelArray
    weights: FloatArray | None
    fill: FloatArray

    def take(self, rows: IntArray) -> FilledRows:
        """Pick some rows and fill their missing values."""
        X = np.ascontiguousarray(self.X[rows])
        weights = None if self.weights is None else self.weights[rows]
        filled = np.where(np.isnan(X), self.fill, X)
        return FilledRows(filled, self.labels[rows].astype(np.int64), weights)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorJob:
    """Everything that a fit needs; joblib sends it to the workers."""

    prototype: Any
    fitting: FilledRows
    calibrating: tuple[str, FilledRows] | None
    scored: FloatArray
    fill: FloatArray
    seed: int
    n_classes: int

    def outcome(self, subset: BoolArray) -> tuple[LabelArray, FloatArray]:
        """Likeliest class of each scored row, the first of equals, and its probability."""
        probabilities = self._ask(self._fit(subset), self.scored)
        return probabilities.argmax(axis=1).astype(np.uint8), probabilities.max(axis=1)

    def model(self, subset: BoolArray) -> EstimatorModel:
        """The model of one subset, with its identity."""
        model = self._fit(subset)
        probabilities = self._ask(model, self.fitting.X[:_PROBED])
        return replace(model, identity=fingerprint(model.inputs, model.fill, probabilities))

    def _fit(self, subset: BoolArray) -> EstimatorModel:
        inputs = np.flatnonzero(subset)
        estimator = seeded_clone(self.prototype, self.seed, subset)
        rows = self.fitting
        name = weight_name(estimator)
        weights = {name: np.array(rows.weights)} if name and rows.weights is not None else {}
        X = np.ascontiguousarray(rows.X[:, inputs])
        with one_thread():
            try:
                estimator.fit(X, np.array(rows.labels), **weights)
            except Exception as error:  # foreign code may raise anything
                raise ParameterError(
                    Parameter("estimator"),
                    " must be able to fit every subset of the inputs, but with inputs "
                    f"{inputs.tolist()} {_kind(estimator)} says: {error}",
                    value=estimator,
                ) from error
            model = EstimatorModel(estimator, inputs, self.fill[inputs], self.n_classes)
            return _calibrated(model, *self.calibrating) if self.calibrating else model

    def _ask(self, model: EstimatorModel, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows. Any failure becomes one sentence."""
        with one_thread():
            try:
                return model.probabilities(rows)
            except DataError:
                raise
            except Exception as error:  # foreign code may raise anything
                raise ParameterError(
                    Parameter("estimator"),
                    " must be able to give probabilities of rows, but with inputs "
                    f"{model.inputs.tolist()} {_kind(model.estimator)} says: {error}",
                    value=model.estimator,
                ) from error


def _calibrated(model: EstimatorModel, kind: str, rows: FilledRows) -> EstimatorModel:
    # A squashed score never reaches 0 or 1, but a vote of trees does and needs some room.
    votes = not hasattr(model.estimator, "decision_function")
    n_rows = len(rows.labels) if rows.weights is None else float(rows.weights.sum())
    room = {"certain": 0.5 / max(n_rows, 1)} if votes else {}
    probabilities = model.probabilities(rows.X)
    calibrator = Calibrator.learn(kind, probabilities, rows.labels, rows.weights, **room)
    return replace(model, calibrator=calibrator)


def _kind(estimator: Any) -> str:
    return type(estimator).__name__


_FORMAT = 2
_SECONDS = 5.0  # between two writes
_KEPT = 4  # batches kept in memory


class Outcomes(NamedTuple):
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
        name = hashlib.sha256(fingerprint.encode()).hexdigest()[:32]
        self.path = Path(folder) / f"{name}.sqlite"
        self._new: dict[bytes, tuple[LabelArray, FloatArray]] = {}
        self._where: dict[bytes, tuple[Batch, int]] = {}
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

    def __enter__(self) -> Self:
        """Open a block that writes new outcomes to disk at its end, even after an error."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Write new outcomes to disk."""
        self.flush()

    def __len__(self) -> int:
        """Number of known subsets."""
        return len(self._where.keys() | self._new.keys())

    def find(self, subsets: BoolArray) -> tuple[BoolArray, Outcomes]:
        """Whether each subset is known, and its outcomes; 0 for unknown subsets."""
        shape = (len(subsets), self._n_rows)
        known = np.zeros(len(subsets), dtype=np.bool_)
        found = Outcomes(np.zeros(shape, dtype=np.uint8), np.zeros(shape))
        keys = [key.tobytes() for key in np.packbits(subsets, axis=1)]
        stored = [i for i, key in enumerate(keys) if key in self._where]
        for i, key in enumerate(keys):
            if key in self._new:
                known[i] = True
                found.winner[i], found.confidence[i] = self._new[key]
        if stored:
            stored.sort(key=lambda i: self._where[keys[i]][0].number)  # to read each batch once
            with self._store() as store:
                for i in stored:
                    batch, place = self._where[keys[i]]
                    known[i] = True
                    found.winner[i], found.confidence[i] = self._rows(store, batch)[place]
        return known, found

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

    @property
    def _row_type(self) -> np.dtype[np.void]:
        n_rows = (self._n_rows,)
        return np.dtype([("winner", "u1", n_rows), ("confidence", "<f8", n_rows)])

    def _store(self) -> Store:
        """Open the file. Close it soon: other processes may use it too."""
        return Store(self._place, self._width, self._row_type, exclusive=False)

    def _learn(self, store: Store) -> None:
        """Note the batch of each subset, including batches that other processes wrote."""
        for batch in store.batches(after=self._last_batch):
            self._where.update((key.tobytes(), (batch, i)) for i, key in enumerate(batch.keys))
            self._last_batch = batch.number

    def _checked(self, rows: AnyArray) -> AnyArray:
        """Refuse classes that there are not, and confidences that are no numbers."""
        are_finite = np.isfinite(rows["confidence"]).all()
        if not are_finite or (rows["winner"] >= self._n_classes).any():
            raise self._place.damaged("has outcomes that no model of this problem gives")
        return rows

    def _rows(self, store: Store, batch: Batch) -> AnyArray:
        if batch.number not in self._loaded:
            self._loaded[batch.number] = self._checked(store.rows(batch))
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(batch.number)
        return self._loaded[batch.number]


class EstimatorFitter:
    """Fits a classifier of the user's to subsets of the inputs, on the rows of one split.

    A model depends on its subset alone: its inputs are in ascending order and its seed comes
    from the subset. It is the same whenever it is fitted again, with any other subsets and any
    number of workers. For the same reason matrix products take one thread in each worker. A
    classifier's own `n_jobs` is not changed.

    Parameters
    ----------
    prototype : estimator
        A classifier or pipeline with predict_proba. It is cloned, never fitted.
    X : ndarray of shape (n_rows, n_inputs)
        NaN is a missing value; the mean of the training rows replaces it.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    weights : ndarray of shape (n_rows,) or None
        Weight of each row in fitting; rows of weight 0 are left out.
    train, scored : ndarray of row numbers
    seed : int
    n_classes : int
    n_jobs : int or None
        Processes, as in joblib.
    calibration : {None, "sigmoid", "isotonic"}
        Calibrate every model on a share of the training rows, set aside for it.
    classes : sequence, optional
        Names of the classes in messages; by default their numbers.
    class_weights : ndarray of shape (n_classes,), optional
        Further weight of each class, in fitting only.
    cache : str, path or None
        Folder that keeps outcomes for later; see `OutcomeCache`.

    Raises
    ------
    ParameterError
        If the prototype is not a classifier, or cannot take the weights that are given.
    """

    def __init__(
        self,
        prototype: Any,
        X: FloatArray,
        labels: LabelArray,
        weights: FloatArray | None,
        train: IntArray,
        scored: IntArray,
        seed: int,
        n_classes: int,
        n_jobs: int | None = 1,
        *,
        calibration: str | None = None,
        classes: Sequence[Any] | None = None,
        class_weights: FloatArray | None = None,
        cache: PathLike | None = None,
    ) -> None:
        _check(prototype, weights is not None or class_weights is not None, calibration)
        if weights is not None:
            train = train[weights[train] > 0]
        given = _given_rows(X, labels, weights, train)
        calibrating = None
        if calibration is not None:
            train, rest = calibration_split(train, labels, seed=seed, classes=classes)
            calibrating = calibration, given.take(rest)
        self._job = EstimatorJob(
            prototype=prototype,
            fitting=given.take(train).weighted(class_weights),
            calibrating=calibrating,
            scored=given.take(scored).X,
            fill=given.fill,
            seed=seed,
            n_classes=n_classes,
        )
        self.n_inputs, self.n_train, self.n_scored = X.shape[1], len(train), len(scored)
        self._n_jobs = n_jobs
        self.cache: OutcomeCache | None = None
        if cache is not None:
            sizes = self.n_inputs, self.n_scored, n_classes
            self.cache = OutcomeCache(cache, self.fingerprint, *sizes)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that affects outcomes: rows, classifier, seed, calibration."""
        job = self._job
        kind, calibrating = job.calibrating or (None, None)
        arrays = [job.scored, job.fill]
        for rows in filter(None, (job.fitting, calibrating)):
            arrays += [rows.X, rows.labels.astype(np.float64)]
            arrays += [] if rows.weights is None else [rows.weights]
        words = [describe(job.prototype), str(kind), str(job.seed), str(job.n_classes)]
        return fingerprint(*arrays, np.array(words))

    def outcomes(self, subsets: BoolArray, report: Report | None = None) -> Outcomes:
        """Fit each subset; return the answers of its model for the scored rows.

        Parameters
        ----------
        subsets : ndarray of bool, shape (n_subsets, n_inputs)
            May repeat; each is fitted once.
        report : callable, optional
            Called as ``report(done, total)`` after each fit. It may raise to stop fitting.

        Returns
        -------
        winner, confidence : ndarray of shape (n_subsets, n_scored)
            The likeliest class, the first of equals, and its probability.
        """
        distinct, places = _distinct(subsets, self.n_inputs)
        shape = (len(distinct), self.n_scored)
        known = np.zeros(len(distinct), dtype=np.bool_)
        found = Outcomes(np.zeros(shape, dtype=np.uint8), np.zeros(shape))
        if self.cache is not None:
            known, found = self.cache.find(distinct)
        new = np.flatnonzero(~known)
        with closing(self._run(self._job.outcome, distinct[new], report)) as fitted:
            for i, (winner, confidence) in zip(new, fitted, strict=True):
                found.winner[i], found.confidence[i] = winner, confidence
                if self.cache is not None:
                    self.cache.add(distinct[i], winner, confidence)
        return Outcomes(found.winner[places], found.confidence[places])

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[EstimatorModel]:
        """Fit each subset; return the same models whose outcomes `outcomes` returns."""
        distinct, places = _distinct(subsets, self.n_inputs)
        fitted = list(self._run(self._job.model, distinct, report))
        return [fitted[place] for place in places]

    def close(self) -> None:
        """Write new outcomes to the cache on disk."""
        if self.cache is not None:
            self.cache.flush()

    def _run(
        self, job: Callable[[BoolArray], Any], subsets: BoolArray, report: Report | None
    ) -> Generator[Any, None, None]:
        return in_processes(job, list(subsets), self._n_jobs, report)


def _check(prototype: Any, weighted: bool, calibration: str | None) -> None:
    check_estimator_like(prototype)
    if weighted:
        check_takes_weights(prototype)
    if calibration is not None:
        check_choice("calibration", calibration, KINDS)


def _given_rows(
    X: FloatArray, labels: LabelArray, weights: FloatArray | None, train: IntArray
) -> GivenRows:
    """Prepare all rows; means of the training rows fill missing values, 0 if none is known."""
    own = None if weights is None else weights[train]
    # One block, because the last bit of a mean depends on the blocks that are added up.
    means = mean_of_known(X[train], own, block=max(len(train), 1))
    return GivenRows(X, labels, weights, fill=np.where(np.isnan(means), 0.0, means))


def _distinct(subsets: BoolArray, n_inputs: int) -> tuple[BoolArray, Sequence[int]]:
    """Distinct subsets in order of first appearance, and the position of each given one."""
    if subsets.ndim != 2 or subsets.shape[1] != n_inputs or not subsets.any(axis=1).all():
        raise refused(
            "subsets",
            f"be rows of {n_inputs} truth values, at least one of them true",
            subsets,
            got=f"shape {subsets.shape}",
        )
    numbers: dict[bytes, int] = {}
    places = [numbers.setdefault(subset.tobytes(), len(numbers)) for subset in subsets]
    first = np.unique(np.array(places, dtype=np.int64), return_index=True)[1]
    return subsets[first], places
