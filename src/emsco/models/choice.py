"""Choose the family of stage models: by log loss, out of fold, on all features and on subsets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from emsco._base.text import counted
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.errors import DataError
from emsco.models.logistic import LogisticFitter, is_wide
from emsco.models.rows import FitOptions, SplitData

_MOST_SPLITS = 3
_MOST_TRAINING = 4000  # rows of a split that fit models here
_MOST_JUDGED = 2000  # rows of a split that judge them
_FEWEST = 10  # rows of a class that are kept, if it has so many
_SUBSETS = 12  # beside all features
_PASSES = 40  # over the rows of a split with all inputs, to try a linear family
_PER_TERM = 5e-10  # seconds for a product in the sums and solutions of a pass
_PER_SPLINE = 4  # inputs that a spline makes of one
_REDUCING = 1 / 16  # share of the products of reducing a wide table, in each pass
_MANY, _CLEAR = 400, 4.0  # rows of a split that may decide alone, by so many standard errors
_SMALLEST = 1e-15  # probability whose logarithm counts
_GRID = (0.1, 1.0, 10.0, 100.0)  # penalties to choose from
_FOLDS = 3
_MOST_ROWS = 6000

# Log loss of each row by the model of each subset, (n_subsets, n_rows) over all splits.
RowLosses = Callable[[str, list[Split], BoolArray], FloatArray]


@dataclass(frozen=True, slots=True)
class FamilyLoss:
    """Log loss of a family of stage models, out of fold.

    Attributes
    ----------
    full : float
        Mean log loss of the model that sees all features.
    subsets : float
        Mean log loss over random subsets of the features.
    behind : float
        Mean of the two, minus that of the best family.
    error : float
        Standard error of this difference, over rows.
    """

    full: float
    subsets: float
    behind: float
    error: float


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The family of stage models that "auto" chose, and the losses that it was chosen by.

    The simplest family within one standard error of the best is chosen; a family whose models take
    long is chosen only if no quicker one is within it.

    Attributes
    ----------
    family : {"logistic", "spline", "boosting"}
    losses : dict of str to FamilyLoss
        By family, the simplest first.
    n_rows : int
        Rows that judged the families.
    n_subsets : int
        Random subsets of the features.

    Examples
    --------
    >>> losses = {"spline": FamilyLoss(0.3, 0.4, 0, 0), "boosting": FamilyLoss(0.5, 0.6, 0.2, 0.1)}
    >>> print(ModelChoice("spline", losses, 500, 12))
    spline, by log loss (lower is better) on all features and on 12 subsets: spline 0.300 and ...
    """

    family: str
    losses: Mapping[str, FamilyLoss]
    n_rows: int
    n_subsets: int

    def __str__(self) -> str:
        """Name the family and the losses of all, the best first."""
        ranked = sorted(self.losses.items(), key=lambda one: one[1].behind)
        best, simplest_first = ranked[0][0], list(self.losses)
        is_simpler = simplest_first.index(self.family) < simplest_first.index(best)
        better = "simpler" if is_simpler else "quicker"
        note = "" if best == self.family else f" ({better}, and within one standard error)"
        if not self.n_subsets:
            said = (f"{family} {loss.full:.3f}" for family, loss in ranked)
            return f"{self.family}{note}, by log loss (lower is better): {', '.join(said)}"
        said = (f"{family} {loss.full:.3f} and {loss.subsets:.3f}" for family, loss in ranked)
        on = f"on all features and on {counted(self.n_subsets, 'subset')}"
        return f"{self.family}{note}, by log loss (lower is better) {on}: {', '.join(said)}"

    @property
    def is_clear(self) -> bool:
        """Whether the family is the best beyond doubt."""
        others = [loss for family, loss in self.losses.items() if family != self.family]
        return all(loss.behind > _CLEAR * loss.error for loss in others)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def choose_family(
    families: Sequence[str],
    data: TrainingData,
    splits: Sequence[Split],
    losses_of: RowLosses,
    class_weights: FloatArray | None,
    seed: int,
    report: Report | None = None,
    slow: Collection[str] = (),
) -> ModelChoice:
    """Compare families on a few splits and subsets; take the simplest that is nearly the best.

    A slow family is taken only if no quicker one is nearly as good. At most three splits take part,
    with at most 4,000 training rows and 2,000 scored rows each, so that the choice takes seconds
    and depends on nothing but data, splits and seed. If the first one has many rows and leaves no
    doubt, it decides alone.

    Parameters
    ----------
    families : sequence of str
        The simplest first.
    data : TrainingData
    splits : sequence of (train, scored) row numbers
    losses_of : callable
        Called as ``losses_of(family, splits, subsets)``; returns the log loss of each scored row
        by the model of each subset, shape (n_subsets, n_rows).
    class_weights : ndarray of shape (n_classes,) or None
        Weight of each class in these losses.
    seed : int
    report : callable, optional
        Called as ``report(done, total)`` after each family.
    slow : collection of str
        Families that take so long to fit that one of the others is chosen if it is as good.
    """
    few = []
    for train, scored in splits[:_MOST_SPLITS]:
        if data.weights is not None:
            train, scored = train[data.weights[train] > 0], scored[data.weights[scored] > 0]
        train = _thinned(train, data.labels, _MOST_TRAINING)
        few.append((train, _thinned(scored, data.labels, _MOST_JUDGED)))
    subsets = random_subsets(len(data.costs.names), _SUBSETS, np.random.default_rng(seed))

    def compared(few: Sequence[Split]) -> ModelChoice:
        return _compared(
            families,
            data,
            few,
            subsets,
            losses_of=losses_of,
            class_weights=class_weights,
            report=report,
            slow=slow,
        )

    if len(few) > 1 and len(few[0][1]) >= _MANY:
        choice = compared(few[:1])
        if choice.is_clear:
            return choice
    return compared(few)


def _compared(
    families: Sequence[str],
    data: TrainingData,
    few: Sequence[Split],
    subsets: BoolArray,
    losses_of: RowLosses,
    class_weights: FloatArray | None,
    report: Report | None,
    slow: Collection[str],
) -> ModelChoice:
    """Compare families on these splits and subsets."""
    judged = np.concatenate([scored for _, scored in few])
    weights = np.ones(len(judged)) if data.weights is None else data.weights[judged]
    if class_weights is not None:
        weights = weights * class_weights[data.labels[judged]]
    losses = {}
    for family in families:
        losses[family] = losses_of(family, list(few), subsets)
        if report:
            report(len(losses), len(families))
    # A row's loss is the mean of that with all features and of that over their subsets.
    share, n_subsets = weights / weights.sum(), len(subsets) - 1
    rows = {
        family: (every[0] + every[1:].mean(axis=0)) / 2 if n_subsets else every[0]
        for family, every in losses.items()
    }
    best = min(rows, key=lambda family: float(share @ rows[family]))
    described = {}
    for family, every in losses.items():
        full, more = float(share @ every[0]), rows[family] - rows[best]
        behind = float(share @ more)
        described[family] = FamilyLoss(
            full=full,
            subsets=float((every[1:] @ share).mean()) if n_subsets else full,
            behind=behind,
            error=float(np.sqrt(share**2 @ (more - behind) ** 2)),
        )
    as_good = [name for name, one in described.items() if one.behind <= one.error]
    family = next((name for name in as_good if name not in slow), as_good[0])
    return ModelChoice(family, described, len(weights), n_subsets)


def trial_seconds(family: str, n_rows: int, n_inputs: int, n_classes: int) -> float:
    """Estimate the time that trying a linear family takes on one core, to a factor of a few.

    It grows with the square of the inputs, and with their cube if they are many; so it does with
    the classes. Where inputs are far more than rows, they are first reduced to the number of rows.
    Boosted trees count nothing here.

    Examples
    --------
    >>> round(trial_seconds("logistic", n_rows=2000, n_inputs=30, n_classes=2), 2)
    0.05
    >>> round(trial_seconds("logistic", n_rows=2000, n_inputs=1000, n_classes=2))
    80
    """
    if family == "boosting":
        return 0.0
    n_rows = min(n_rows, _MOST_TRAINING)
    n_columns = n_inputs * (_PER_SPLINE if family == "spline" else 1)
    terms = 0.0
    if is_wide(n_columns, n_rows):
        terms = n_columns * n_rows**2 * _REDUCING
        n_columns = n_rows
    n_weights = n_columns * (n_classes - 1)
    terms += n_weights**2 * (n_rows / 2 + n_weights / 3)
    return _MOST_SPLITS * _PASSES * terms * _PER_TERM


def log_losses(probabilities: FloatArray, labels: LabelArray) -> FloatArray:
    """Log loss of each row, given its class probabilities and its class."""
    said = probabilities[np.arange(len(labels)), labels]
    losses: FloatArray = -np.log(np.maximum(said, _SMALLEST))
    return losses


def random_subsets(n_features: int, n_subsets: int, rng: np.random.Generator) -> BoolArray:
    """Draw subsets of all sizes; all features together come first. One feature has no others."""
    if n_features == 1:
        return np.ones((1, 1), dtype=np.bool_)
    subsets = np.zeros((n_subsets + 1, n_features), dtype=np.bool_)
    subsets[0] = True
    for subset in subsets[1:]:
        size = rng.integers(1, n_features)
        subset[rng.choice(n_features, size, replace=False)] = True
    return subsets


def _thinned(rows: IntArray, labels: LabelArray, max_rows: int) -> IntArray:
    """Keep about `max_rows` rows, evenly spaced within each class; a rare class keeps some."""
    if len(rows) <= max_rows:
        return rows
    kept = []
    for label in np.unique(labels[rows]):
        of_class = rows[labels[rows] == label]
        n_kept = min(len(of_class), max(_FEWEST, round(len(of_class) * max_rows / len(rows))))
        kept.append(of_class[np.linspace(0, len(of_class) - 1, n_kept).astype(np.int64)])
    return np.sort(np.concatenate(kept))


def choose_penalty(data: SplitData) -> float:
    """Return the penalty with the lowest log loss over three folds of the training rows.

    At most 6,000 rows take part, and the folds depend on the rows alone, so that the same data
    gives the same penalty everywhere. A penalty whose models do not converge is not taken.
    """
    train, labels, weights = data.weighty_train, data.labels, data.weights
    train = train[:: max(1, -(-len(train) // _MOST_ROWS))]
    by_label = train[np.argsort(labels[train], kind="stable")]
    fold = np.arange(len(by_label)) % _FOLDS
    losses = np.zeros(len(_GRID))
    for k in range(_FOLDS):
        fitting, judging = by_label[fold != k], by_label[fold == k]
        if len(np.unique(labels[fitting])) < data.n_classes or not len(judging):
            return 1.0  # too few rows of a class to tell
        part = replace(data, train=fitting, scored=judging)
        counts = np.ones(len(judging)) if weights is None else weights[judging]
        for i, penalty in enumerate(_GRID):
            losses[i] += _loss(part, penalty, counts)
    return _GRID[int(losses.argmin())] if np.isfinite(losses).any() else _GRID[-1]


def _loss(part: SplitData, penalty: float, weights: FloatArray) -> float:
    """Log loss of the model of all inputs, summed over scored rows; infinite if it has no fit.

    Weights that span many orders of magnitude make small penalties unusable, and not all of them.
    """
    from sklearn.exceptions import ConvergenceWarning  # late: deciding needs no scikit-learn

    n_inputs, rows = part.X.shape[1], part.X[part.scored]
    fitter = LogisticFitter(part, FitOptions(np.arange(n_inputs), penalty=penalty))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            (model,) = fitter.models(np.ones((1, n_inputs), dtype=np.bool_))
        except (ConvergenceWarning, DataError):
            return np.inf
    return float(
        log_losses(model.probabilities(model.filled(rows), 0), part.labels[part.scored]) @ weights
    )
