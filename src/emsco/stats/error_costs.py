"""What wrong labels and rejections cost, and the total that a row then costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_number, is_number
from emsco._base.documents import Fields
from emsco._base.objectives import NORMAL, Expected, Interval, Objectives
from emsco._base.text import some, what_was_meant
from emsco._base.typing import AnyArray, FloatArray
from emsco.costs.fees import LARGEST_COST
from emsco.data.labels import of_labels
from emsco.errors import ParameterError
from emsco.stats.by_class import ByClass

_ERROR, _REJECT = "error_cost", "reject_cost"
_EITHER = (False, True)  # stand for the classes where nobody has counted them
_LEAST_STAKE = 1e-3  # of an error about a class, as a share of the largest
_STEADY = 10.0  # errors, and rejections, of the usual mix of classes and labels


@dataclass(frozen=True, slots=True)
class Total:
    """Mean cost of a row with everything that it leads to, in the unit of the feature costs.

    Attributes
    ----------
    features : float
        Mean cost of the features that a row buys.
    errors : float
        Mean cost of wrong labels, and of correct ones if they have a cost.
    rejections : float
        Mean cost of rejections.
    standard_error : float or None
        Of the sum, if known.
    basis : str
        Where the shares come from: "expected", "scored" or "seen".

    Examples
    --------
    >>> print(Total(12.0, 5.0, 2.0, 0.5))
    19 (18.02 to 19.98): features 12, errors 5, rejections 2
    """

    features: float
    errors: float
    rejections: float
    standard_error: float | None = None
    basis: str = "expected"

    @property
    def value(self) -> float:
        """The sum of the three parts."""
        return self.features + self.errors + self.rejections

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the sum, if its standard error is known."""
        if self.standard_error is None:
            return None
        half = NORMAL * self.standard_error
        return Interval(max(0.0, self.value - half), self.value + half)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the sum, its interval, the parts and their basis."""
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "features": self.features,
            "errors": self.errors,
            "rejections": self.rejections,
            "basis": self.basis,
        }

    @property
    def in_words(self) -> str:
        """The sum, then its interval if there is one."""
        around = self.interval
        return f"{self.value:.4g}" + (f" ({around.low:.4g} to {around.high:.4g})" if around else "")

    def __str__(self) -> str:
        """Show the sum, its interval and the parts."""
        return (
            f"{self.in_words}: features {self.features:.4g}, errors {self.errors:.4g}, "
            f"rejections {self.rejections:.4g}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCosts:
    """What each label costs a row of each class, and what a rejection costs it.

    All costs are in the unit of the feature costs.

    Attributes
    ----------
    labels : tuple
        The classes.
    costs : ndarray of shape (n_classes, n_classes + 1)
        One line per true class: the cost of each label, then that of a rejection. The lines are
        in the order of `ByClass.counts`.
    may_reject : bool
        Whether a cost of rejections was given; without one it is 0, where no row is rejected.

    Examples
    --------
    >>> costs = ErrorCosts.from_parameters({"ill": 500, "well": 20}, 40, ("ill", "well"))
    >>> costs.costs.tolist()
    [[0.0, 500.0, 40.0], [20.0, 0.0, 40.0]]
    >>> print(costs)
    500 for an error about 'ill', 20 about 'well' and 40 for a rejection
    """

    labels: tuple[object, ...]
    costs: FloatArray
    may_reject: bool = True

    @classmethod
    def from_parameters(
        cls,
        error_cost: Any,
        reject_cost: Any,
        labels: Sequence[object] | None = None,
        *,
        may_reject: bool = True,
    ) -> Self:
        """Check the costs of errors and rejections.

        Parameters
        ----------
        error_cost : float, mapping or array-like
            Cost of a wrong label: one number, a number for each true label, or a matrix with a
            line per true label and a column per label given. A matrix may also be a mapping
            ``{true: {given: cost}}``, which needs no entry for the correct label.
        reject_cost : float, mapping or None
            Cost of a rejection: one number, or one for each true label. None where no row is
            rejected.
        labels : sequence, optional
            The classes; without them, both costs must be single numbers.
        may_reject : bool
            Whether `reject_cost` is needed.
        """
        if error_cost is None:
            raise ParameterError(
                f"{_ERROR} must be given beside {_REJECT}, got None; 0 makes errors free."
            )
        if labels is None:
            for name, given in ((_ERROR, error_cost), (_REJECT, reject_cost)):
                # Without results by class, nobody knows whose error it was.
                if given is not None and not is_number(given):
                    raise ParameterError(
                        f"{name} must be one number for designs without results by class, got "
                        f"{given!r}."
                    )
        known = tuple(_EITHER if labels is None else labels)
        # A class that does not exist is said before a cost that is missing.
        errors = _matrix(error_cost, known)
        if reject_cost is None and may_reject:
            raise ParameterError(
                f"{_REJECT} must be given beside {_ERROR}, got None; 0 makes rejections free."
            )
        by_class = 0.0 if reject_cost is None else reject_cost
        if not isinstance(by_class, Mapping):
            if not is_number(by_class):
                raise ParameterError(
                    f"{_REJECT} must be a number, or a number for each label, got {by_class!r}."
                )
            by_class = dict.fromkeys(known, check_number(_REJECT, by_class, 0, LARGEST_COST))
        rejections = [
            check_number(f"{_REJECT} of class {label!r}", cost, 0, LARGEST_COST)
            for label, cost in _lines(_REJECT, by_class, known)
        ]
        costs = locked_copy(np.column_stack([errors, rejections]))
        return cls(known, costs, reject_cost is not None)

    @classmethod
    def if_given(
        cls,
        error_cost: Any,
        reject_cost: Any,
        labels: Sequence[object] | None = None,
        *,
        may_reject: bool = True,
    ) -> Self | None:
        """Check the costs of errors and rejections; None if neither is given."""
        if error_cost is None and reject_cost is None:
            return None
        return cls.from_parameters(error_cost, reject_cost, labels, may_reject=may_reject)

    @classmethod
    def from_fields(cls, fields: Fields, name: str, labels: Sequence[object]) -> Self:
        """Read `costs` from a file, under a name, and check them."""
        lines = fields.items(name)
        try:
            errors = [line[:-1] for line in lines]
            rejections = dict(zip(labels, (line[-1] for line in lines), strict=True))
            given = rejections if any(rejections.values()) else None
            return cls.from_parameters(errors, given, labels, may_reject=False)
        except (ParameterError, TypeError, IndexError, ValueError) as error:
            fields.refuse(name, "costs that can be used", str(error))

    @property
    def of_labels(self) -> FloatArray:
        """Cost of each label for a row of each class, (n_classes, n_classes)."""
        return self.costs[:, :-1]

    @property
    def is_uniform(self) -> bool:
        """Whether all errors cost the same, all rejections do, and correct labels are free."""
        wrong = self.of_labels[~np.eye(len(self.labels), dtype=np.bool_)]
        # A correct label costs 0 as well, or not all labels are equal.
        parts = (wrong, self.costs[:, -1], np.append(np.diagonal(self.of_labels), 0.0))
        return all(len(set(part.tolist())) == 1 for part in parts)

    @property
    def by_true_class(self) -> tuple[float, ...] | None:
        """Cost of an error about each class.

        None if it depends on the label given too, or if correct labels have a cost.
        """
        errors = [set(np.delete(line, k).tolist()) for k, line in enumerate(self.of_labels)]
        if np.diagonal(self.of_labels).any() or any(len(one) > 1 for one in errors):
            return None
        return tuple(one.pop() for one in errors)

    @property
    def stakes(self) -> FloatArray:
        """Mean cost of a wrong label for each class, beyond that of the correct one.

        At least a thousandth of the largest, so that no class is forgotten; 1 for all if errors
        cost nothing.
        """
        stakes = self.mean_wrong - np.diagonal(self.of_labels)
        if not stakes.any():
            return np.ones(len(stakes))
        floored: FloatArray = np.maximum(stakes, _LEAST_STAKE * stakes.max())
        return floored

    @property
    def mean_wrong(self) -> FloatArray:
        """Mean cost of a wrong label for each class, over all labels that would be wrong."""
        wrong = ~np.eye(len(self.labels), dtype=np.bool_)
        means: FloatArray = np.where(wrong, self.of_labels, 0.0).sum(axis=1) / wrong.sum(axis=1)
        return means

    @property
    def labels_follow_stakes(self) -> bool:
        """Whether the likeliest label of rows weighted by `stakes` is the one that costs least.

        So it is if an error costs the same beyond the correct label, whichever label is given, and
        no class has more than its own stake.
        """
        beyond = self.of_labels - np.diagonal(self.of_labels)[:, None]
        wrong = ~np.eye(len(self.labels), dtype=np.bool_)
        return bool(np.isclose(beyond, self.stakes[:, None])[wrong].all())

    def equals(self, other: ErrorCosts) -> bool:
        """Whether both have the same costs for the same classes."""
        return self.labels == other.labels and np.array_equal(self.costs, other.costs)

    def __eq__(self, other: object) -> bool:
        """Whether the other is the same; see `equals`."""
        return self.equals(other) if isinstance(other, ErrorCosts) else NotImplemented

    def __hash__(self) -> int:
        """Equal ones have equal numbers."""
        return hash((self.labels, self.costs.tobytes()))

    def mean_costs(
        self, by_class: ByClass | None = None, *, promised: bool = False
    ) -> tuple[float, float, float]:
        """Mean cost of a correct, a wrong and a rejected row, as some rows were decided.

        If none of these rows is of a kind, its mean is what it would be if labels, given as often,
        knew nothing of the class. `promised` is as for `total`.
        """
        (correct, wrong, rejected), _ = self._means(by_class, promised)
        return correct, wrong, rejected

    def _means(self, by_class: ByClass | None, promised: bool) -> tuple[list[float], list[float]]:
        """Mean costs of correct, wrong and rejected rows, and their standard errors."""
        n = len(self.labels)
        counts = np.zeros((n, n + 1)) if by_class is None else np.array(by_class.counts)
        rows = counts.sum(axis=1, keepdims=True)
        # Without any rows, all classes are equally likely.
        shares = rows / rows.sum() if rows.sum() else np.full((n, 1), 1 / n)
        right = np.column_stack([np.eye(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)])
        rejected = np.arange(n + 1)[None] == n
        given = np.append(counts[:, :-1].sum(axis=0), 1.0)
        steady = _STEADY if promised else 0.0
        means, errors = [], []
        for kind in (right, ~right & ~rejected, np.broadcast_to(rejected, right.shape)):
            # How often each cell of a kind would be hit if labels knew nothing of the class.
            usual = np.where(kind, shares * given, 0.0)
            if not usual.any():  # none of its labels would be of this kind
                usual = np.where(kind, shares, 0.0)
            usual /= usual.sum()
            seen = np.where(kind, counts, 0.0)
            # The prior's weight: ten rows for a promise, and at least one where nothing was seen.
            weights = seen + (steady if seen.sum() else max(steady, 1.0)) * usual
            mean = float((weights * self.costs).sum() / weights.sum())
            variance = float((weights * (self.costs - mean) ** 2).sum() / weights.sum())
            means.append(mean)
            errors.append(math.sqrt(variance / weights.sum()))
        return means, errors

    def wrong_by_class(self, by_class: ByClass) -> FloatArray:
        """Mean cost of a wrong label for each true class, as some rows were labelled.

        If no row of a class got a wrong label, the mean is over all labels that would be wrong.
        """
        wrong = ~np.eye(len(self.labels), dtype=np.bool_)
        counts = np.where(wrong, np.array(by_class.counts, dtype=np.float64)[:, :-1], 0.0)
        # A class without errors so far could get any of the wrong labels.
        counts = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, wrong)
        means: FloatArray = (counts * self.of_labels).sum(axis=1) / counts.sum(axis=1)
        return means

    def total(
        self,
        figures: Objectives,
        by_class: ByClass | None = None,
        expected: Expected | None = None,
        *,
        basis: str = "scored",
        standard_error: float | None = None,
        promised: bool = False,
    ) -> Total:
        """Return the mean total of a row.

        Parameters
        ----------
        figures : Objectives
            Coverage, accuracy (the share of labels that are correct) and cost.
        by_class : ByClass, optional
            Says what a wrong and a rejected row cost on average.
        expected : Expected, optional
            The same figures with intervals, for the standard error of the total.
        basis : str
            Where the figures come from.
        standard_error : float, optional
            Of the total, if it is known otherwise.
        promised : bool
            Whether the total is to hold on other rows. A design that is chosen made few errors, and
            these tell little about what its next ones cost. So ten errors and ten rejections are
            added, and the total is less certain. They are those of labels that are given as often,
            but know nothing of the class.
        """
        means, errors = self._means(by_class, promised)
        correct, wrong, rejected = means
        coverage, accuracy = figures.coverage, figures.accuracy
        if expected is not None:
            # Derivatives of the total by each figure, times that figure's standard error.
            slopes = (
                (accuracy * correct + (1 - accuracy) * wrong - rejected) * expected.coverage.error,
                coverage * (correct - wrong) * expected.accuracy.error,
                expected.cost.error,
                coverage * (1 - accuracy) * errors[1] if promised else 0.0,
                (1 - coverage) * errors[2] if promised else 0.0,
            )
            standard_error = math.hypot(*slopes)
        return Total(
            features=figures.cost,
            errors=coverage * ((1 - accuracy) * wrong + accuracy * correct),
            rejections=(1 - coverage) * rejected,
            standard_error=standard_error,
            basis=basis,
        )

    def relabelled(self, by_class: ByClass) -> ByClass:
        """Replace each label by the one that costs least for the rows that got it.

        It shows what labels of least expected cost save at least: they look at each row. Of
        equals, a label stays as it is.

        Examples
        --------
        >>> costs = ErrorCosts.from_parameters({"ill": 50, "well": 1}, 4, ("ill", "well"))
        >>> always_well = ByClass(("ill", "well"), ((0, 10, 0), (0, 90, 0)))
        >>> costs.relabelled(always_well).counts
        ((10.0, 0.0, 0.0), (90.0, 0.0, 0.0))
        """
        counts = np.array(by_class.counts, dtype=np.float64)
        relabelled = np.zeros_like(counts)
        relabelled[:, -1] = counts[:, -1]
        for given, costs in enumerate(counts[:, :-1].T @ self.of_labels):
            best = given if costs[given] == costs.min() else int(costs.argmin())
            relabelled[:, best] += counts[:, given]
        return ByClass(by_class.labels, tuple(map(tuple, relabelled.tolist())))

    def mean(self, by_class: ByClass) -> float:
        """Mean cost of a row as these were decided, without features."""
        counts = np.array(by_class.counts, dtype=np.float64)
        return float((counts * self.costs).sum() / (counts.sum() or 1.0))

    def losses(self, by_class: ByClass) -> float:
        """Mean cost of a row, without features, if a search for the lowest total decided these.

        Where the label of least cost is not the likeliest of weighted rows, which these got, it is
        counted for all rows with the same label.
        """
        given = by_class if self.labels_follow_stakes else self.relabelled(by_class)
        return self.mean(given)

    def total_of_nothing(self, by_class: ByClass, basis: str = "scored") -> Total:
        """Return the mean total of a row if nothing is bought: all get one label, or none.

        It follows from the shares of the classes alone.

        Examples
        --------
        >>> costs = ErrorCosts.from_parameters({"ill": 50, "well": 1}, 4, ("ill", "well"))
        >>> always_well = ByClass(("ill", "well"), ((0, 10, 0), (0, 90, 0)))
        >>> print(costs.total_of_nothing(always_well))
        5 (2.06 to 7.94): features 0, errors 5, rejections 0
        """
        mean, is_rejected = self.mean(by_class), not by_class.answered.any()
        n_rows = float(by_class.rows.sum()) or 1.0
        return Total(
            features=0.0,
            errors=0.0 if is_rejected else mean,
            rejections=mean if is_rejected else 0.0,
            standard_error=self.deviation(by_class) / math.sqrt(n_rows),
            basis=basis,
        )

    def deviation(self, by_class: ByClass) -> float:
        """Standard deviation over rows of what labels and rejections cost."""
        counts = np.array(by_class.counts, dtype=np.float64)
        shares = counts / (counts.sum() or 1.0)
        mean = (shares * self.costs).sum()
        # Rounding can leave a tiny negative number.
        return float(np.sqrt(max(0.0, (shares * (self.costs - mean) ** 2).sum())))

    def __str__(self) -> str:
        """Put the costs into words."""
        wrong = [np.delete(line[:-1], i) for i, line in enumerate(self.costs)]
        if all(len(set(one.tolist())) == 1 for one in wrong):
            errors = _in_words([float(one[0]) for one in wrong], "an error", self.labels)
        else:
            errors = "your matrix of costs for errors"
        if not self.may_reject:
            return errors
        rejections = _in_words(self.costs[:, -1].tolist(), "a rejection", self.labels)
        return f"{errors} and {rejections}"


def check_label_costs(error_cost: Any, classes: AnyArray) -> FloatArray:
    """Return the cost of each label for a row of each class, as a read-only matrix."""
    labels = classes.tolist()
    return ErrorCosts.from_parameters(error_cost, None, labels, may_reject=False).of_labels


def plain_costs(given: Any) -> Any:
    """Return costs as plain values that a file can hold, with labels as text.

    Examples
    --------
    >>> plain_costs({1: {0: np.float64(5)}}), plain_costs(np.eye(2))
    ({'1': {'0': 5.0}}, [[1.0, 0.0], [0.0, 1.0]])
    """
    if isinstance(given, Mapping):
        return {str(label): plain_costs(one) for label, one in given.items()}
    if isinstance(given, np.ndarray | np.generic):
        return given.tolist()
    return [plain_costs(one) for one in given] if isinstance(given, list | tuple) else given


def _matrix(given: Any, labels: tuple[object, ...]) -> FloatArray:
    """Check the cost of each label for a row of each class."""
    n = len(labels)
    if is_number(given):
        costs = np.full((n, n), check_number(_ERROR, given, 0, LARGEST_COST))
        np.fill_diagonal(costs, 0.0)
    elif isinstance(given, Mapping):
        costs = np.zeros((n, n))
        for i, (label, line) in enumerate(_lines(_ERROR, given, labels)):
            of = f"{_ERROR} of class {label!r}"
            if not isinstance(line, Mapping):
                costs[i] = check_number(of, line, 0, LARGEST_COST)
                # A row of a class costs nothing if its label is correct.
                costs[i, i] = 0.0
                continue
            by_label = {label: 0.0, **of_labels(line, labels)}
            for j, (other, cost) in enumerate(_lines(of, by_label, labels)):
                given_label = f"{of} given the label {other!r}"
                costs[i, j] = check_number(given_label, cost, 0, LARGEST_COST)
    else:
        rule = (
            f"be a number, a number for each label, or {n} lines of {n} numbers: true labels down, "
            "labels given across"
        )
        try:
            costs = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError(f"{_ERROR} must {rule}, got {given!r}.") from None
        if costs.shape != (n, n):
            raise ParameterError(f"{_ERROR} must {rule}, got the shape {costs.shape}.")
        for i, j in np.ndindex(n, n):
            of = f"{_ERROR} of class {labels[i]!r} given the label {labels[j]!r}"
            check_number(of, float(costs[i, j]), 0, LARGEST_COST)
    # A correct label that costs more than a wrong one would make every rule prefer errors.
    for i, j in np.argwhere(costs < np.diagonal(costs)[:, None]).tolist():
        raise ParameterError(
            f"{_ERROR} must make the correct label of class {labels[i]!r} cost no more than a "
            f"wrong one, got {costs[i, i]:g} for it and {costs[i, j]:g} for {labels[j]!r}."
        )
    return costs


def _lines(
    name: str, given: Mapping[Any, Any], labels: tuple[object, ...]
) -> list[tuple[object, Any]]:
    """Return the entry of each label, in the order of the classes; refuse others and gaps."""
    known = of_labels(given, labels)
    for label in known:
        if label not in labels:
            raise ParameterError(
                f"{name} must name the classes {some(labels)}, got {label!r}"
                f"{what_was_meant(label, labels)}"
            )
    if lacking := [label for label in labels if label not in known]:
        raise ParameterError(
            f"{name} must have a cost for each of the classes {some(labels)}, got none for "
            f"{lacking[0]!r}."
        )
    return [(label, known[label]) for label in labels]


def _in_words(costs: Sequence[float], what: str, labels: Sequence[object]) -> str:
    if len(set(costs)) == 1:
        return f"{costs[0]:.10g} for {what}"
    pairs = zip(costs, labels, strict=True)
    first, *others = [f"{cost:.10g} about {label!r}" for cost, label in pairs]
    return ", ".join([first.replace(" about", f" for {what} about", 1), *others])
