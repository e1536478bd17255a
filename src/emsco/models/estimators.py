"""Fits a scikit-learn classifier of the user's to subsets of the inputs, through joblib."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from emsco._base.digests import fingerprint
from emsco._base.text import brief
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import in_processes, one_thread
from emsco.errors import DataError, ParameterError
from emsco.models.estimator_files import EstimatorModel
from emsco.models.fitter import Fitter
from emsco.models.rows import FilledRows, FitOptions, SplitData

_PROBED = 1000  # rows whose probabilities identify a fitted model
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
        raise ParameterError(f"estimator must be an object, got the class {name}; write {name}().")
    # Duck typing: the class need not be derived from one of scikit-learn's.
    whole = all(hasattr(estimator, name) for name in ("fit", "get_params", "set_params"))
    if not whole or not is_classifier(estimator):
        raise ParameterError(
            "estimator must be a scikit-learn classifier, or a pipeline that ends with one, got "
            f"{brief(estimator, 80)}."
        )
    if not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            f"estimator must have predict_proba, got {brief(estimator, 80)}, which has none; "
            "CalibratedClassifierCV gives it one."
        )


def weight_name(estimator: Any) -> str | None:
    """Name of the sample weights in `fit`, or None if it takes none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        # A pipeline passes weights to its last step under that step's name.
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
    owners = sorted(  # splitters have a random_state that is no parameter
        name
        for name, value in params.items()
        if hasattr(value, "random_state")
        and callable(getattr(value, "split", None))
        and not hasattr(value, "get_params")
    )
    # Sorted, so that each parameter gets the same seed, whatever the order of a dict.
    names = sorted(name for name in params if name.split("__")[-1] == "random_state")
    # The subset as one number: the seed depends on it alone, not on when it is fitted.
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
                # A splitter that does not shuffle refuses a seed.
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
    named = getattr(value, "__qualname__", "")
    # A lambda and a function inside another have the same name as others, so names tell nothing.
    if named and "<" not in named:
        return _name(value)
    try:
        if named:
            raise ValueError("a function without a name of its own")
        return f"{_name(type(value))} {joblib.hash(value)}"
    except Exception as error:  # foreign objects may raise anything when they are hashed
        raise ParameterError(
            "estimator must have parameters that can be told from others to be kept on disk, got "
            f"{brief(value, 80)} ({error})."
        ) from None


def _name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _version(kind: type) -> str:
    package = kind.__module__.split(".")[0]
    try:
        # The name of a module may differ from that of its package.
        return version({"sklearn": "scikit-learn"}.get(package, package))
    except PackageNotFoundError:
        return "of no package"


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorJob:
    """Everything that a fit needs; joblib sends it to the workers."""

    prototype: Any
    rows: FilledRows

    def answer(self, subset: BoolArray) -> tuple[LabelArray, FloatArray]:
        """Likeliest class of each scored row, the first of equals, and its probability."""
        probabilities = _ask(self._fit(subset), self.rows.scored)
        return probabilities.argmax(axis=1).astype(np.uint8), probabilities.max(axis=1)

    def model(self, subset: BoolArray) -> EstimatorModel:
        """The model of one subset, with its identity."""
        model = self._fit(subset)
        # Two fits of one subset may differ inside and still say the same; the answers identify a
        # model.
        probabilities = _ask(model, self.rows.X[:_PROBED])
        return replace(model, identity=fingerprint(model.inputs, model.fill, probabilities))

    def _fit(self, subset: BoolArray) -> EstimatorModel:
        inputs, rows = np.flatnonzero(subset), self.rows
        estimator = seeded_clone(self.prototype, rows.seed, subset)
        name = weight_name(estimator)
        # A copy, as foreign code may change what it is given.
        weights = {name: np.array(rows.weights)} if name and rows.weights is not None else {}
        X = np.ascontiguousarray(rows.X[:, inputs])
        with one_thread():
            try:
                estimator.fit(X, np.array(rows.labels), **weights)
            except Exception as error:  # foreign code may raise anything
                raise _says("fit every subset of the inputs", estimator, inputs, error) from error
        return EstimatorModel(estimator, inputs, rows.fill[inputs], rows.n_classes)


def _ask(model: EstimatorModel, rows: FloatArray) -> FloatArray:
    """Class probabilities of rows. Any failure becomes one sentence."""
    with one_thread():
        try:
            return model.probabilities(rows)
        except DataError:
            raise
        except Exception as error:  # foreign code may raise anything
            raise _says(
                "give probabilities of rows", model.estimator, model.inputs, error
            ) from error


def _says(task: str, estimator: Any, inputs: IntArray, error: Exception) -> ParameterError:
    return ParameterError(
        f"estimator must be able to {task}, but with inputs {inputs.tolist()} "
        f"{type(estimator).__name__} says: {error}"
    )


class EstimatorFitter(Fitter):
    """Fits a classifier of the user's to subsets of the inputs, on the rows of one split.

    Inputs of a model are in ascending order and its seed comes from the subset, so that it depends
    on nothing else. For the same reason matrix products take one thread in each worker. A
    classifier's own `n_jobs` is not changed.

    Parameters
    ----------
    prototype : estimator
        A classifier or pipeline with predict_proba. It is cloned, never fitted.
    rows : FilledRows
    n_jobs : int or None
        Processes, as in joblib.

    Raises
    ------
    ParameterError
        If the prototype cannot take the weights of the rows.
    """

    @classmethod
    def open(cls, parts: Sequence[SplitData], options: FitOptions) -> list[Self]:
        """Open a fitter for each split."""
        rows = map(FilledRows.of_split, parts)
        n_jobs = options.workers.n_jobs
        return [cls(options.estimator, one, n_jobs) for one in rows]

    def __init__(self, prototype: Any, rows: FilledRows, n_jobs: int | None = 1) -> None:
        if rows.weights is not None and weight_name(prototype) is None:
            raise ParameterError(
                "estimator must take sample_weight in fit if rows or classes have weights, got "
                f"{brief(prototype, 80)}, which does not; leave the weights out or give another."
            )
        super().__init__(rows)
        self._job, self._n_jobs = EstimatorJob(prototype, rows), n_jobs

    def answer(
        self, subsets: BoolArray, report: Report | None = None
    ) -> Generator[tuple[LabelArray, FloatArray], None, None]:
        """Fit each subset in a worker; yield its model's answers about the scored rows."""
        return in_processes(self._job.answer, list(subsets), self._n_jobs, report)

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[EstimatorModel]:
        """Fit each subset; return the same models whose answers `answer` yields."""
        return list(in_processes(self._job.model, list(subsets), self._n_jobs, report))
