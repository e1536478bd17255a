"""Trains boosted trees with scikit-learn, and reads them into arrays of our own."""

from __future__ import annotations

from typing import Any

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco._base.workers import one_thread
from emsco._kernels.trees import trace_trees
from emsco.errors import EMSCOError
from emsco.models.batches import n_outputs_of
from emsco.models.boosting.size import BoostingSize
from emsco.models.boosting.trees import TreeEnsemble

__all__ = ["loss_by_round", "train_trees"]

_NEVER = -700.0  # logit of a class without training rows
_CHECKED = 64  # rows whose probabilities are compared with scikit-learn's
_TOLERATED = 1e-5
_PATIENCE = 25  # rounds without a lower loss


def train_trees(
    rows: FloatArray,
    labels: IntArray,
    weights: FloatArray | None,
    n_classes: int,
    fill: FloatArray,
    size: BoostingSize,
    seed: int,
) -> TreeEnsemble:
    """Train an ensemble; the result does not depend on the number of threads.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
        NaN is an input that is not bought.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0. Classes without rows get probability 0.
    weights : ndarray of shape (n_rows,) or None
    n_classes : int
    fill : ndarray of shape (n_inputs,)
        Value that replaces a missing one of a bought input.
    size : BoostingSize
    seed : int

    Raises
    ------
    EMSCOError
        If the trees of the installed scikit-learn are not what this module reads.
    """
    classes = np.unique(labels)
    if len(classes) == 1:
        return _constant(int(classes[0]), n_classes, fill)
    model = _classifier(size, seed, early_stopping=False)
    with one_thread():
        model.fit(rows, labels, sample_weight=weights)
        try:
            ensemble = _read(model, n_classes, fill)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise _unknown_trees(f"they cannot be read ({error})") from error
        _compare(ensemble, model, rows)
    return ensemble


def loss_by_round(
    rows: FloatArray,
    labels: IntArray,
    weights: FloatArray | None,
    held: tuple[FloatArray, IntArray, FloatArray | None],
    size: BoostingSize,
    seed: int,
) -> FloatArray:
    """Log loss on other rows after each round, until it has stopped falling for some rounds.

    `held` has the rows to measure on, their classes and weights. The result is empty if training
    rows have a single class.
    """
    classes = np.unique(labels)
    known = np.isin(held[1], classes)
    if len(classes) == 1 or not known.any():
        return np.zeros(0)
    model = _classifier(size, seed, early_stopping=True, n_iter_no_change=_PATIENCE, scoring="loss")
    with one_thread():
        model.fit(
            rows,
            labels,
            sample_weight=weights,
            X_val=held[0][known],
            y_val=held[1][known],
            sample_weight_val=None if held[2] is None else held[2][known],
        )
    return -np.asarray(model.validation_score_, dtype=np.float64)[1:]


def _classifier(size: BoostingSize, seed: int, **more: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=size.rounds,
        max_leaf_nodes=size.leaves,
        learning_rate=size.learning_rate,
        min_samples_leaf=size.fewest,
        l2_regularization=size.l2,
        max_bins=size.bins,
        random_state=seed,
        **more,
    )


def _constant(label: int, n_classes: int, fill: FloatArray) -> TreeEnsemble:
    """An ensemble without trees that is sure of one class."""
    sure = np.where(np.arange(n_classes) == label, 0.0, _NEVER)
    baseline = sure[1:] - sure[:1] if n_classes == 2 else sure
    return _ensemble(n_classes, baseline, fill, np.zeros(len(baseline)), {})


def _ensemble(
    n_classes: int,
    baseline: FloatArray,
    fill: FloatArray,
    trees_of: AnyArray,
    arrays: dict[str, AnyArray],
) -> TreeEnsemble:
    none: AnyArray = np.zeros(0)
    empty = dict.fromkeys(("cuts", "n_leaves", "leaves"), none)
    empty |= dict.fromkeys(("inputs", "cut_of", "blank_left", "n_left"), none)
    empty |= {"n_cuts": np.zeros(len(fill))}
    return TreeEnsemble(
        n_classes=n_classes, baseline=baseline, fill=fill, trees_of=trees_of, **empty | arrays
    )


def _read(model: Any, n_classes: int, fill: FloatArray) -> TreeEnsemble:
    """Read the private arrays of a fitted HistGradientBoostingClassifier."""
    n_outputs = n_outputs_of(n_classes)
    given = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    seen = np.asarray(model.classes_)
    # With two classes of three or more, the first has logit 0 and the trees are the second's.
    outputs = [0] if n_outputs == 1 else seen[-len(given) :].tolist()
    baseline = np.full(n_outputs, _NEVER)
    baseline[seen if n_outputs > 1 else 0] = 0.0
    baseline[outputs] = given
    rounds = model._predictors
    trees_of = np.zeros(n_outputs, dtype=np.int64)
    trees_of[outputs] = len(rounds)
    nodes = [one[k].nodes for k in range(len(given)) for one in rounds]
    return _ensemble(n_classes, baseline, fill, trees_of, _arrays(nodes, len(fill)))


def _arrays(trees: list[AnyArray], n_inputs: int) -> dict[str, AnyArray]:
    """Arrays of an ensemble, from scikit-learn's nodes of each tree."""
    nodes = np.concatenate(trees)
    starts = np.concatenate([[0], np.cumsum([len(one) for one in trees])])
    left, right = (nodes[name].astype(np.int64) for name in ("left", "right"))
    order, n_below = np.empty((2, len(nodes)), dtype=np.int64)
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    if not trace_trees(starts, left, right, is_leaf, order, n_below):
        raise ValueError("children are out of place")
    if nodes["is_categorical"].any():
        raise ValueError("a split is on categories")
    nodes, splits = nodes[order], np.flatnonzero(~is_leaf[order])
    inputs, cuts = nodes["feature_idx"][splits].astype(np.int64), nodes["num_threshold"][splits]
    known = np.isfinite(cuts)  # beyond all values: known ones go left, blank ones right
    every = np.unique(np.column_stack([inputs, cuts])[known], axis=0)
    n_cuts = np.bincount(every[:, 0].astype(np.int64), minlength=n_inputs)
    cut_of = n_cuts[inputs]
    for i in range(n_inputs):
        own = every[every[:, 0] == i, 1]
        here = known & (inputs == i)
        cut_of[here] = np.searchsorted(own, cuts[here])
    return {
        "n_cuts": n_cuts,
        "cuts": every[:, 1],
        "n_leaves": n_below[starts[:-1]],
        "leaves": nodes["value"][nodes["is_leaf"] == 1],
        "inputs": inputs,
        "cut_of": cut_of,
        "blank_left": nodes["missing_go_to_left"][splits],
        "n_left": n_below[splits + 1],
    }


def _compare(ensemble: TreeEnsemble, model: Any, rows: FloatArray) -> None:
    """Compare with the public `predict_proba`, with and without blank inputs."""
    some = rows[np.linspace(0, len(rows) - 1, min(_CHECKED, len(rows))).astype(np.int64)]
    filled = np.where(np.isnan(some), ensemble.fill, some)
    for subset in _checked_subsets(ensemble.reads):
        found = ensemble.probabilities(filled, subset)[:, model.classes_]
        said = model.predict_proba(np.where(subset, filled, np.nan))
        if not (np.abs(found - said) <= _TOLERATED).all():
            raise _unknown_trees("their probabilities differ from those of predict_proba")


def _checked_subsets(reads: BoolArray) -> list[BoolArray]:
    every = np.ones(len(reads), dtype=np.bool_)
    even = np.arange(len(reads)) % 2 == 0
    return [every, even, ~even, ~every]


def _unknown_trees(why: str) -> EMSCOError:
    import sklearn

    return EMSCOError(
        "scikit-learn must be a version whose boosted trees this emsco can read, got "
        f"{sklearn.__version__}: {why}; install another version or choose another estimator."
    )
