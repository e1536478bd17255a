"""Options that are more than a word or a number, as people type them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from emsco.errors import ParameterError

__all__ = [
    "as_typed",
    "parse_by_class",
    "parse_class_weight",
    "parse_estimator",
    "parse_range",
    "preference",
    "rules_of_designs",
]

_MOST_STEPS = 1000
_PARAMETER = re.compile(r"([a-z_]+)(?:\['([a-z_]+)'\])?(?= must | of class )")


def as_typed(message: str, words: Sequence[str]) -> str:
    """A sentence about a parameter, which then has the name of the option that was typed for it.

    Examples
    --------
    >>> as_typed("min_accuracy must be a number in [0, 1], got 2.0.", ["--min-accuracy", "2"])
    '--min-accuracy must be a number in [0, 1], got 2.0.'
    >>> as_typed("methods must be one of a, b, got 'c'.", ["--method=c"])
    "--method must be one of a, b, got 'c'."
    """
    if (found := _PARAMETER.match(message)) is None:
        return message
    name = found[2] or found[1]
    typed = {word.partition("=")[0] for word in words}
    for one in (name, name.removesuffix("s"), name.removeprefix("n_")):
        if (option := f"--{one.replace('_', '-')}") in typed:
            return option + message[found.end() :]
    return message


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


def parse_class_weight(text: str | None) -> float | str | dict[str, float] | None:
    """None or "balanced" as they are, else a number for each label."""
    if text is None or text == "balanced":
        return text
    return parse_by_class("--class-weight", text)


def rules_of_designs(
    first: Sequence[str] | None,
    together: Sequence[str] | None,
    max_mean_cost: float | None,
    max_worst_cost: float | None,
) -> dict[str, Any] | None:
    """What every design must obey, of what was asked for; None where nothing was.

    Examples
    --------
    >>> rules_of_designs(["age"], ["iron,zinc"], None, 40.0)
    {'first': ['age'], 'together': [['iron', 'zinc']], 'max_worst_cost': 40.0}
    """
    every = {
        "first": first,
        "together": [part.split(",") for part in together or ()],
        "max_mean_cost": max_mean_cost,
        "max_worst_cost": max_worst_cost,
    }
    return {name: rule for name, rule in every.items() if rule not in (None, [])} or None


def preference(
    rule: str | None,
    max_cost: float | None = None,
    min_accuracy: float | None = None,
    min_coverage: float | None = None,
) -> str | dict[str, float]:
    """Which design to deploy: by a rule, "balanced" unless said, or by limits.

    Examples
    --------
    >>> preference(None, max_cost=300.0)
    {'max_cost': 300.0}
    """
    every = {"max_cost": max_cost, "min_accuracy": min_accuracy, "min_coverage": min_coverage}
    limits = {name: limit for name, limit in every.items() if limit is not None}
    if limits and rule is not None:
        typed = ", ".join(f"--{name.replace('_', '-')}" for name in limits)
        raise ParameterError(f"either --prefer or limits must be given, got both ({typed}).")
    return limits or ("balanced" if rule is None else rule)


def parse_range(name: str, text: str) -> tuple[float, ...]:
    """Numbers with commas between, and ranges first:last:step, the last included.

    Examples
    --------
    >>> parse_range("--min-confidence", ".55:.7:.05")
    (0.55, 0.6, 0.65, 0.7)
    >>> parse_range("--min-confidence", "0.6,0.9:1:0.05")
    (0.6, 0.9, 0.95, 1.0)
    """
    try:
        found = [number for part in text.split(",") for number in _steps(part)]
    except IndexError:
        raise ParameterError(
            f"{name} must be a range first:last:step that goes up, got {text!r}, whose first is "
            "above its last."
        ) from None
    except (InvalidOperation, ValueError):
        raise ParameterError(
            f"{name} must be numbers with commas between, or a range first:last:step such as "
            f".55:.95:.05, got {text!r}."
        ) from None
    return tuple(float(number) for number in found)


def _steps(text: str) -> list[Decimal]:
    """A number, or all of a range; decimals, since 0.55 and twice 0.05 are no 0.65 as floats."""
    numbers = [Decimal(part.strip()) for part in text.split(":")]
    if not all(number.is_finite() for number in numbers):
        raise ValueError("infinite")
    if len(numbers) == 1:
        return numbers
    first, last, step = numbers
    if last < first:
        raise IndexError("empty")
    if step <= 0 or (last - first) / step >= _MOST_STEPS:
        raise ValueError("no range")
    return [first + i * step for i in range(int((last - first) / step) + 1)]


def parse_estimator(text: str) -> Any:
    """A classifier or pipeline of scikit-learn as one would write it, with plain parameters.

    Nothing is executed: names are looked up among scikit-learn's estimators.

    Examples
    --------
    >>> parse_estimator("RandomForestClassifier(n_estimators=50)")
    RandomForestClassifier(n_estimators=50)
    >>> parse_estimator("make_pipeline(StandardScaler(), KNeighborsClassifier())").steps[1][0]
    'kneighborsclassifier'
    """
    rule = (
        "--estimator must be a classifier of scikit-learn with plain parameters, such as "
        "'RandomForestClassifier(n_estimators=50)' or 'make_pipeline(StandardScaler(), SVC())'"
    )
    try:
        made = _made(ast.parse(text.strip(), mode="eval").body, _estimators())
    except (SyntaxError, ValueError):
        raise ParameterError(f"{rule}, got {text!r}.") from None
    except LookupError as error:
        raise ParameterError(f"{rule}, got {error.args[0]!r}, which is none.") from None
    except TypeError as error:
        raise ParameterError(f"{rule}, got {text!r} ({error}).") from None
    if not hasattr(made, "fit"):
        raise ParameterError(f"{rule}, got {text!r}.")
    return made


def _estimators() -> dict[str, Any]:
    from sklearn.pipeline import make_pipeline
    from sklearn.utils import all_estimators

    return {"make_pipeline": make_pipeline, **dict(all_estimators())}


def _made(node: ast.expr, known: dict[str, Any]) -> Any:
    """The estimator or plain value that an expression stands for."""
    if isinstance(node, ast.Name):
        node = ast.Call(node, [], [])
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    named = {word.arg: _made(word.value, known) for word in node.keywords if word.arg is not None}
    if not isinstance(node.func, ast.Name) or len(named) < len(node.keywords):
        raise ValueError("it is something else")
    if node.func.id not in known:
        raise LookupError(node.func.id)
    return known[node.func.id](*(_made(one, known) for one in node.args), **named)
