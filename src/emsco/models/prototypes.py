"""The user's own classifier: checks, seeds, sample weights and a description in words."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from emsco._base.checks import refused
from emsco._base.digests import fingerprint
from emsco._base.text import brief
from emsco._base.typing import BoolArray

__all__ = ["check_estimator_like", "check_takes_weights", "describe", "seeded_clone", "weight_name"]

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
