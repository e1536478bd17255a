"""Options that are more than a word or a number, as people type them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from emsco.errors import ParameterError

__all__ = ["of_labels", "parse_by_class", "parse_estimator"]


def parse_by_class(name: str, text: str) -> float | dict[str, float]:
    """A number, or a number for each label, as in ``ill=0.9,well=0.99``.

    Examples
    --------
    >>> parse_by_class("--min-confidence", "0.9")
    0.9
    >>> parse_by_class("--min-confidence", "ill=0.9,well=0.99")
    {'ill': 0.9, 'well': 0.99}
    """
    rule = f"{name} must be a number or label=number pairs with commas between, got {text!r}."
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(number) for _, _, number in parts]
    except ValueError:
        raise ParameterError(rule) from None
    labels = [label.strip() for label, _, _ in parts]
    if labels == [""]:
        return numbers[0]
    if "" in labels or len(set(labels)) < len(labels):
        raise ParameterError(rule)
    return dict(zip(labels, numbers, strict=True))


def of_labels(given: dict[str, float], labels: Sequence[Any]) -> dict[Any, float]:
    """Numbers by label, for labels as they were typed; unknown ones stay as they are."""
    by_text = {text: label for label in labels for text in _texts(label)}
    return {by_text.get(text, text): number for text, number in given.items()}


def _texts(label: Any) -> set[str]:
    """How a file or a person may write a label: truth values in small letters, 1.0 as 1."""
    texts = {str(label)}
    if isinstance(label, bool):
        texts.add(str(label).lower())
    elif isinstance(label, float) and label.is_integer():
        texts.add(str(int(label)))
    return texts


def parse_estimator(text: str) -> Any:
    """A classifier of scikit-learn as one would write it, its parameters plain values.

    Nothing is executed: the name is looked up among scikit-learn's classifiers.

    Examples
    --------
    >>> parse_estimator("RandomForestClassifier(n_estimators=50)")
    RandomForestClassifier(n_estimators=50)
    """
    from sklearn.utils import all_estimators

    rule = (
        "--estimator must be a classifier of scikit-learn with plain parameters, such as "
        "'RandomForestClassifier(n_estimators=50)'"
    )
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name):
            call = ast.Call(call, [], [])
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError("it is something else")
        if any(word.arg is None for word in call.keywords):
            raise ValueError("it has parameters without names")
        values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise ParameterError(f"{rule}, got {text!r}.") from None
    known = dict(all_estimators("classifier"))
    if call.func.id not in known:
        raise ParameterError(f"{rule}, got {call.func.id!r}, which is none.")
    try:
        return known[call.func.id](**values)
    except TypeError as error:
        raise ParameterError(f"{rule}, got {text!r} ({error}).") from None
