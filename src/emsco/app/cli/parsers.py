"""Parse options that take more than a word or a number."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emsco._base.text import what_was_meant
from emsco.errors import ParameterError


def parse_by_class(
    name: str, text: str, rule: str = "be a number or label=number pairs with commas between"
) -> float | dict[str, float]:
    """Parse a number, or a number for each label, as in ``ill=0.9,well=0.99``.

    Examples
    --------
    >>> parse_by_class("min_confidence", "0.9")
    0.9
    >>> parse_by_class("min_confidence", "ill=0.9,well=0.99")
    {'ill': 0.9, 'well': 0.99}
    """
    # From the right, as a label may have an equals sign in it.
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(number) for _, _, number in parts]
    except ValueError:
        raise ParameterError(f"{name} must {rule}, got {text!r}.") from None
    labels = [label.strip() for label, _, _ in parts]
    if labels == [""]:
        return numbers[0]
    # Numbers with and without a label cannot be mixed.
    if "" in labels or len(set(labels)) < len(labels):
        raise ParameterError(f"{name} must {rule}, got {text!r}.")
    return dict(zip(labels, numbers, strict=True))


def parse_min_confidence(text: str) -> str | float | dict[str, float]:
    """Parse a number, or a number for each label; return "auto" unchanged."""
    rule = 'be "auto", a number or label=number pairs with commas between'
    return text if text == "auto" else parse_by_class("min_confidence", text, rule)


def parse_cv(text: str) -> str | float | int:
    """Parse a number of folds or a share of the rows; return any other word unchanged.

    Examples
    --------
    >>> parse_cv("5"), parse_cv("0.25"), parse_cv("auto")
    (5, 0.25, 'auto')
    """
    try:
        # Digits alone are a number of folds; 5.0 would be a share, and is refused as one.
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        return text


def parse_screen_rows(text: str) -> str | int | None:
    """Parse a number of rows or "none"; return any other word unchanged.

    Examples
    --------
    >>> parse_screen_rows("20000"), parse_screen_rows("none"), parse_screen_rows("auto")
    (20000, None, 'auto')
    """
    # As people write large numbers.
    plain = text.strip().replace(",", "").replace("_", "")
    return None if plain == "none" else int(plain) if plain.isdecimal() else text


def parse_branches(text: str) -> str | int:
    """Parse a number of ways; return any other word unchanged.

    Examples
    --------
    >>> parse_branches("3"), parse_branches("auto")
    (3, 'auto')
    """
    return int(text) if text.strip().isdecimal() else text


def parse_shares(
    name: str, texts: Sequence[str] | None, *, of_all: bool = False
) -> dict[str | None, float] | None:
    """Parse shares of labels, as in ``ill=0.9``, from an option that may be given several times.

    With `of_all`, a share without a label is for all of them, under the key None.

    Examples
    --------
    >>> parse_shares("min_accuracy", ["0.95", "ill=0.9"], of_all=True)
    {None: 0.95, 'ill': 0.9}
    """
    shares: dict[str | None, float] = {}
    rule = "be label=share pairs with commas between, as in ill=0.9"
    for text in texts or ():
        one = parse_by_class(name, text, f"be a share or {rule[3:]}" if of_all else rule)
        if not isinstance(one, dict) and not of_all:
            raise ParameterError(f"{name} must {rule}, got {text!r}.")
        for label, share in one.items() if isinstance(one, dict) else [(None, one)]:
            if label in shares:
                raise ParameterError(f"{name} must be given once for a label, got {text!r} again.")
            shares[label] = share
    return shares or None


def parse_delays(texts: Sequence[str] | None) -> dict[str, float] | None:
    """Parse delays of features, as in ``chol=1``, from an option that may be given several times.

    Examples
    --------
    >>> parse_delays(["chol=1", "a=b=0.5"])
    {'chol': 1.0, 'a=b': 0.5}
    """
    delays: dict[str, float] = {}
    for text in texts or ():
        # From the right, as the name of a column may have an equals sign.
        name, _, number = text.rpartition("=")
        try:
            delay = float(number)
        except ValueError:
            name = ""
        if not name:
            raise ParameterError(f"delay must be feature=time, as in chol=1, got {text!r}.")
        if name in delays:
            raise ParameterError(f"delay must be given once for a feature, got {text!r} again.")
        delays[name] = delay
    return delays or None


def parse_error_costs(name: str, texts: Sequence[str] | None, *, by_label: bool = False) -> Any:
    """Parse what errors or rejections cost, from an option that may be given several times.

    A number is for all, ``ill=500`` for a true label and, with `by_label`, ``ill:well=500`` for a
    true label and the label given. The name of a CSV file stands for what it says.

    Examples
    --------
    >>> parse_error_costs("reject_cost", ["40"])
    40.0
    >>> parse_error_costs("error_cost", ["ill=500", "well=20"])
    {'ill': 500.0, 'well': 20.0}
    >>> parse_error_costs("error_cost", ["ill:well=500", "well:ill=20"], by_label=True)
    {'ill': {'well': 500.0}, 'well': {'ill': 20.0}}
    """
    if not texts:
        return None
    if len(texts) == 1 and _may_be_file(texts[0]):
        return _from_file(name, texts[0])
    pairs = "label=number pairs, as in ill=500"
    others = "true:given=number, or a CSV file" if by_label else "or a CSV file"
    rule = f"be a number, {pairs}, {others}"
    parts = [part for text in texts for part in text.split(",")]
    if len(parts) == 1 and "=" not in parts[0]:
        return parse_by_class(name, parts[0], rule)
    costs: dict[str, Any] = {}
    for part in parts:
        one = parse_by_class(name, part, rule)
        if not isinstance(one, dict):
            raise ParameterError(f"{name} must {rule}, got {part!r}.")
        ((key, cost),) = one.items()
        # The first colon parts true from given label.
        label, colon, said = key.partition(":") if by_label else (key, "", "")
        line = costs.setdefault(label, {}) if colon else costs
        # A label has one cost for all errors, or one for each label given, never both.
        if not isinstance(line, dict) or (said or label) in line:
            raise ParameterError(f"{name} must be given once for a label, got {part!r} again.")
        line[said or label] = cost
    return costs


def _may_be_file(text: str) -> bool:
    """Whether a text is the name of a file rather than costs."""
    path = Path(text)
    return path.is_file() or path.suffix.lower() in (".csv", ".tsv", ".txt")


def _from_file(name: str, path: str) -> Any:
    """Read what errors or rejections cost from a CSV file."""
    import csv

    from emsco.costs.files import parse_error_costs_file

    try:
        return parse_error_costs_file(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ParameterError(
            f"{name} must be a file that can be read, got {path} ({error.strerror or error})."
        ) from None
    except (csv.Error, ValueError) as error:  # also bad UTF-8
        raise ParameterError(
            f"{name} must be a CSV file of numbers, a line for each true label, got {path}: "
            f"{error}."
        ) from None


def parse_class_weight(text: str | None) -> str | dict[str, float] | None:
    """Parse a number for each label; return None and "balanced" unchanged."""
    if text is None or text == "balanced":
        return text
    rule = 'be "balanced" or label=number pairs with commas between'
    if isinstance(weights := parse_by_class("class_weight", text, rule), float):
        raise ParameterError(f"class_weight must {rule}, got {text!r}.")
    return weights


def parse_estimator(text: str) -> Any:
    """Make a classifier or pipeline of scikit-learn from its expression in Python.

    The names of families of stage models are returned as they are.

    Parameters must be plain values. Nothing is executed: names are looked up among
    scikit-learn's estimators.

    Examples
    --------
    >>> parse_estimator("RandomForestClassifier(n_estimators=50)")
    RandomForestClassifier(n_estimators=50)
    >>> parse_estimator("make_pipeline(StandardScaler(), KNeighborsClassifier())").steps[1][0]
    'kneighborsclassifier'
    """
    must = (
        "estimator must be auto, logistic, spline, boosting or a classifier of scikit-learn with "
        "plain parameters, such as 'RandomForestClassifier(n_estimators=50)' or "
        "'make_pipeline(StandardScaler(), SVC())', got"
    )
    from emsco.models.recipe import AUTO, NAMED

    if text in (AUTO, *NAMED):
        return text
    from sklearn.pipeline import make_pipeline
    from sklearn.utils import all_estimators

    known = {"make_pipeline": make_pipeline, **dict(all_estimators())}
    try:
        made = _made(ast.parse(text.strip(), mode="eval").body, known)
    except (SyntaxError, ValueError):
        raise ParameterError(f"{must} {text!r}.") from None
    except LookupError as error:
        classifiers = [name for name, _ in all_estimators(type_filter="classifier")]
        meant = what_was_meant(error.args[0], (AUTO, *NAMED, "make_pipeline", *classifiers))
        raise ParameterError(f"{must} {error.args[0]!r}, which is none{meant}") from None
    except TypeError as error:
        raise ParameterError(f"{must} {text!r} ({error}).") from None
    if not hasattr(made, "fit"):
        raise ParameterError(f"{must} {text!r}.")
    return made


def _made(node: ast.expr, known: dict[str, Any]) -> Any:
    """Return the estimator or plain value of an expression."""
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
