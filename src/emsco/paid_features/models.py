"""From a list of fitted classifiers to a cascade that asks the expensive ones last."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.text import brief, some
from emsco._base.typing import AnyArray
from emsco.cascade.decisions import Decisions
from emsco.cascade.evaluation import Evaluation
from emsco.errors import DataWarning, ParameterError
from emsco.paid_features.collection import PaidFeatures, Rows
from emsco.paid_features.features import PaidFeature

if TYPE_CHECKING:
    from emsco.estimator import EMSCOClassifier

_TIMED = 30  # calls that latency is the median of
_FEW = 50  # rows; a model may have fewer all right by chance


@dataclass(frozen=True, eq=False)
class ModelCascade:
    """Classifiers of rising price, and the cascade that says which of them each row asks.

    Attributes
    ----------
    services : PaidFeatures
        The classifiers.
    classifier : EMSCOClassifier
        Fitted on their answers: the front, the chosen design and all that belongs to it. It reads
        `table(X)` instead of X.
    prices : dict
        Model → its price for one row.
    """

    services: PaidFeatures
    classifier: EMSCOClassifier
    prices: Mapping[str, float]

    def table(self, X: Any) -> Any:
        """Return the answers of all models, for `classifier.certify` and the like."""
        return self.services.collect(X).table

    def decide(self, X: Any, budget: float | None = None) -> Decisions:
        """Decide rows; a model runs only for the rows that need it."""
        return self.services.run(self.classifier.cascade_, X, budget)

    def predict(self, X: Any) -> AnyArray:
        """Return the most likely class of each row, also of those that are rejected."""
        return self.decide(X).guesses

    def evaluate(self, X: Any, y: ArrayLike) -> Evaluation:
        """Measure coverage, accuracy and cost on labelled rows that nobody has seen."""
        return self.classifier.evaluate(self.table(X), y)

    def __repr__(self) -> str:
        return f"ModelCascade({self.classifier.cascade_.design})"


def cascade_of(
    models: Sequence[Any] | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    prices: str | Mapping[str, float] | Sequence[float] = "latency",
    **settings: Any,
) -> ModelCascade:
    """Make a cascade of fitted classifiers: cheap ones first, the others where these are unsure.

    Parameters
    ----------
    models : sequence or mapping of str to classifier
        Fitted classifiers with `predict_proba`.
    X, y : array-like
        Labelled rows that no model was trained on. On its training rows a model is too good, and
        the cascade would trust it too much.
    prices : {"latency", "throughput"}, mapping or sequence
        What each model costs for a row. Measured in milliseconds, it is the median of calls with
        one row, or the time for a row if all of X is one call.
    **settings
        For `EMSCOClassifier`. By default, every row gets a label.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> small = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:200], y[:200])
    >>> large = RandomForestClassifier(random_state=0).fit(X[:200], y[:200])
    >>> both = cascade_of(
    ...     [small, large], X[200:450], y[200:450], prices=[1, 100], cv=1 / 3, random_state=0
    ... )
    >>> found = both.decide(X[450:])
    >>> len(found), bool(found.cost.mean() < 101)
    (119, True)
    """
    from emsco.estimator import EMSCOClassifier  # a process that only decides does not need it

    named = _named(models)
    labels = np.asarray(y)
    rows = Rows(X)
    priced = _prices(prices, named, rows)
    features = [PaidFeature.classifier(name, named[name], priced[name]) for name in named]
    if labels.shape != (len(rows),):
        raise ParameterError(
            f"y must have one label for each of the {len(rows)} rows of X, got shape "
            f"{labels.shape}."
        )
    for one in features:
        if not {*one.labels} & {*labels.tolist()}:
            raise ParameterError(
                f"models of {one.name!r} must know classes of y, got {some([*one.labels])}."
            )
    services = PaidFeatures(features)
    collected = services.collect(rows)
    for one in features:
        chances = np.column_stack([collected.table[name] for name in one.columns])
        right = np.asarray(one.labels)[chances.argmax(axis=1)] == labels
        if right.all() and len(labels) >= _FEW:
            warnings.warn(
                DataWarning(
                    f"{one.name!r} has all {len(labels)} rows right; has it seen them? A cascade "
                    "needs rows that no model was trained on."
                ),
                stacklevel=2,
            )
    classifier = EMSCOClassifier(collected.costs, **{"always_answer": True, **settings})
    return ModelCascade(services, classifier.fit(collected.table, labels), priced)


def _named(models: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return models by name; those of a list are called after their classes."""
    named: dict[str, Any] = {}
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not isinstance(models, str):
        kinds = [type(model).__name__ for model in models]
        for i, kind in enumerate(kinds):
            count = f" {kinds[: i + 1].count(kind)}" if kinds.count(kind) > 1 else ""
            named[f"{kind}{count}"] = models[i]
    if not named:
        raise ParameterError(
            f"models must be a list or mapping of classifiers, got {brief(models)}."
        )
    return named


def _prices(prices: Any, named: Mapping[str, Any], rows: Rows) -> dict[str, float]:
    if isinstance(prices, str) and prices in ("latency", "throughput"):
        batches = [[*range(len(rows))]]
        if prices == "latency":
            batches = [[i % len(rows)] for i in range(_TIMED)]
        return {name: _milliseconds(model, rows, batches) for name, model in named.items()}
    if isinstance(prices, Mapping) and {*prices} == {*named}:
        return {name: prices[name] for name in named}
    is_list = isinstance(prices, (Sequence, np.ndarray)) and not isinstance(prices, str)
    if is_list and len(prices) == len(named):
        return dict(zip(named, prices, strict=True))
    raise ParameterError(
        f"prices must be 'latency', 'throughput' or a price for each of {some([*named])}, got "
        f"{brief(prices)}."
    )


def _milliseconds(model: Any, rows: Rows, batches: list[list[int]]) -> float:
    """Return the median time for a row."""
    model.predict_proba(rows.some(batches[0]))  # the first call may load or compile something
    times = []
    for batch in batches:
        some_rows = rows.some(batch)
        begun = time.perf_counter()
        model.predict_proba(some_rows)
        times.append((time.perf_counter() - begun) / len(batch))
    return float(np.median(times)) * 1e3
