"""What wrong labels and rejections cost, and the total that a row then costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_number, is_number
from emsco._base.documents import Fields
from emsco._base.objectives import NORMAL, Expected, Interval, Objectives
from emsco._base.text import brief, some, what_was_meant
from emsco._base.typing import FloatArray
from emsco.costs.checks import LARGEST_COST
from emsco.data.labels import of_labels
from emsco.errors import ParameterError
from emsco.scoring.by_class import ByClass

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


@dataclass(frozen=True)
class ErrorCosts:
    """What each label costs a row of each class, and what a rejection costs it.

    All costs are in the unit of the feature costs.

    Attributes
    ----------
    labels : tuple
        The classes.
    lines : tuple of tuple of float
        One per true class: the cost of each label, then that of a rejection, in the order of
        `ByClass.counts`.
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
    lines: tuple[tuple[float, ...], ...]
    may_reject: bool = field(default=True, compare=False)

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
        both = {_ERROR: (error_cost, "errors"), _REJECT: (reject_cost, "rejections")}
        for name, (given, what) in both.items():
            if given is None and (may_reject or name == _ERROR):
                raise ParameterError(f"{name} must be given, got None; 0 makes {what} free.")
            # Without results by class, nobody knows whose error it was.
            if labels is None and given is not None and not is_number(given):
                raise ParameterError(
                    f"{name} must be one number for designs without results by class, got "
                    f"{given!r}."
                )
        known = tuple(_EITHER if labels is None else labels)
        errors = _matrix(error_cost, known)
        given = 0.0 if reject_cost is None else reject_cost
        rejections = [*map(_checked, _by_class(_REJECT, given, known))]
        lines = np.column_stack([errors, rejections]).tolist()
        return cls(known, tuple(map(tuple, lines)), reject_cost is not None)

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
        try:
            *errors, rejections = np.array(fields.items(name), dtype=np.float64).T.tolist()
            given = dict(zip(labels, rejections, strict=True)) if any(rejections) else None
            return cls.from_parameters(np.transpose(errors), given, labels, may_reject=False)
        except (ParameterError, TypeError, ValueError) as error:
            fields.refuse(name, "costs that can be used", str(error))

    @cached_property
    def costs(self) -> FloatArray:
        """The lines as an array that cannot be changed, (n_classes, n_classes + 1)."""
        return locked_copy(np.array(self.lines))

    @property
    def of_labels(self) -> FloatArray:
        """Cost of each label for a row of each class, (n_classes, n_classes)."""
        return self.costs[:, :-1]

    @property
    def by_true_class(self) -> tuple[float, ...] | None:
        """Cost of an error about each class.

        None if it depends on the label given too, or if correct labels have a cost.
        """
        is_wrong = ~np.eye(len(self.labels), dtype=np.bool_)
        errors = self.of_labels.max(axis=1)
        is_same = np.array_equal(self.of_labels, errors[:, None] * is_wrong)
        return tuple(errors.tolist()) if is_same else None

    @property
    def is_uniform(self) -> bool:
        """Whether all errors cost the same, all rejections do, and correct labels are free."""
        parts = self.by_true_class, self.costs[:, -1].tolist()
        return all(part is not None and len(set(part)) == 1 for part in parts)

    @property
    def stakes(self) -> FloatArray:
        """Mean cost of a wrong label for each class, beyond that of the correct one.

        At least a thousandth of the largest, so that no class is forgotten; 1 for all if errors
        cost nothing.
        """
        stakes = self.mean_wrong() - np.diagonal(self.of_labels)
        return np.maximum(stakes, _LEAST_STAKE * stakes.max()) if stakes.any() else stakes + 1

    @property
    def labels_follow_stakes(self) -> bool:
        """Whether the likeliest label of rows weighted by `stakes` is the one that costs least.

        So it is if an error costs the same beyond the correct label, whichever label is given, and
        no class has more than its own stake.
        """
        beyond = self.of_labels - np.diagonal(self.of_labels)[:, None]
        wrong = ~np.eye(len(beyond), dtype=np.bool_)
        return bool(np.isclose(beyond, self.stakes[:, None])[wrong].all())

    def mean_wrong(self, by_class: ByClass | None = None) -> FloatArray:
        """Mean cost of a wrong label for each true class, as some rows were labelled.

        If no row of a class got a wrong label, the mean is over all labels that would be wrong.
        """
        counts = wrong = 1.0 - np.eye(len(self.labels))
        if by_class is not None:
            seen = by_class.matrix[:, :-1] * wrong
            # A class without errors so far could get any of the wrong labels.
            counts = np.where(seen.any(axis=1, keepdims=True), seen, wrong)
        return np.asarray((counts * self.of_labels).sum(axis=1) / counts.sum(axis=1))

    def mean_costs(
        self, by_class: ByClass | None = None, *, promised: bool = False
    ) -> tuple[float, ...]:
        """Mean cost of a correct, a wrong and a rejected row, as some rows were decided.

        If none of these rows is of a kind, its mean is what it would be if labels, given as often,
        knew nothing of the class. `promised` is as for `total`.
        """
        return tuple(mean for mean, _ in self._by_kind(by_class, promised=promised))

    def _by_kind(self, by_class: ByClass | None, *, promised: bool) -> list[tuple[float, float]]:
        """Mean costs of correct, wrong and rejected rows, and their standard errors."""
        n = len(self.labels)
        counts = np.zeros((n, n + 1)) if by_class is None else by_class.matrix
        rows = counts.sum(axis=1, keepdims=True)
        # Without any rows, all classes are equally likely.
        shares = rows / rows.sum() if rows.any() else np.full((n, 1), 1 / n)
        given = np.append(counts[:, :-1].sum(axis=0), 1.0)
        right, rejected = np.eye(n, n + 1), np.tile(np.arange(n + 1) == n, (n, 1))
        by_kind = []
        for kind in (right, 1 - right - rejected, rejected):
            # How often each cell of a kind would be hit if labels knew nothing of the class.
            usual, seen = shares * given * kind, counts * kind
            if not usual.any():  # none of its labels would be of this kind
                usual = shares * kind
            # The prior's weight: ten rows for a promise, and at least one where nothing was seen.
            n_usual = max(_STEADY * promised, float(not seen.any()))
            weights = seen + n_usual * usual / usual.sum()
            mean, deviation = self._spread(weights)
            by_kind.append((mean, deviation / math.sqrt(weights.sum())))
        return by_kind

    def _spread(self, weights: FloatArray) -> tuple[float, float]:
        """Mean and standard deviation over rows, by how many are in each place of the costs."""
        total = weights.sum() or 1.0
        mean = float((weights * self.costs).sum() / total)
        return mean, math.sqrt((weights * (self.costs - mean) ** 2).sum() / total)

    def total(
        self,
        figures: Objectives,
        by_class: ByClass | None = None,
        expected: Expected | None = None,
        *,
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
            Where the figures come from: they have intervals, so the total has a standard error.
        promised : bool
            Whether the total is to hold on other rows. A design that is chosen made few errors, and
            these tell little about what its next ones cost. So ten errors and ten rejections are
            added, and the total is less certain. They are those of labels that are given as often,
            but know nothing of the class.
        """
        by_kind = self._by_kind(by_class, promised=promised)
        (correct, _), (wrong, wrong_error), (rejected, rejected_error) = by_kind
        coverage, accuracy = figures.coverage, figures.accuracy
        answered = accuracy * correct + (1 - accuracy) * wrong
        parts = figures.cost, coverage * answered, (1 - coverage) * rejected
        if expected is None:
            return Total(*parts, basis="scored")
        # Derivatives of the total by each figure, times that figure's standard error.
        standard_error = math.hypot(
            (answered - rejected) * expected.coverage.error,
            coverage * (correct - wrong) * expected.accuracy.error,
            expected.cost.error,
            promised * coverage * (1 - accuracy) * wrong_error,
            promised * (1 - coverage) * rejected_error,
        )
        return Total(*parts, standard_error)

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
        n, counts = len(self.labels), by_class.matrix
        costs = counts[:, :-1].T @ self.of_labels  # of the rows that got a label, by the new one
        stays = np.diagonal(costs) == costs.min(axis=1)
        best = np.where(stays, np.arange(n), costs.argmin(axis=1))
        return ByClass.from_matrix(self.labels, counts @ np.eye(n + 1)[[*best, n]])

    def mean(self, by_class: ByClass) -> float:
        """Mean cost of a row as these were decided, without features."""
        return self._spread(by_class.matrix)[0]

    def deviation(self, by_class: ByClass) -> float:
        """Standard deviation over rows of what labels and rejections cost."""
        return self._spread(by_class.matrix)[1]

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
        mean, deviation = self._spread(by_class.matrix)
        errors, rejections = (mean, 0.0) if by_class.answered.any() else (0.0, mean)
        standard_error = deviation / math.sqrt(by_class.rows.sum() or 1.0)
        return Total(0.0, errors, rejections, standard_error, basis)

    def __str__(self) -> str:
        """Put the costs into words."""
        by_class, errors = self.by_true_class, "your matrix of costs for errors"
        if by_class is not None:
            errors = _in_words(by_class, "an error", self.labels)
        if not self.may_reject:
            return errors
        return f"{errors} and {_in_words(self.costs[:, -1].tolist(), 'a rejection', self.labels)}"


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
    if not isinstance(given, Mapping) and not is_number(given):
        try:
            matrix = np.array(given, dtype=np.float64).tolist()
            lines = [dict(zip(labels, line, strict=True)) for line in matrix]
            given = dict(zip(labels, lines, strict=True))
        except (TypeError, ValueError):
            raise ParameterError(
                f"{_ERROR} must be a number, a number for each label, or {n} lines of {n} numbers "
                f"(true labels down, labels given across), got {brief(given)}."
            ) from None
    costs = np.empty((n, n))
    for i, (name, line) in enumerate(_by_class(_ERROR, given, labels)):
        if isinstance(line, Mapping):
            by_label = {labels[i]: 0.0, **of_labels(line, labels)}
            costs[i] = [*map(_checked, _by_class(name, by_label, labels, "given the label"))]
        else:
            costs[i] = _checked((name, line))
            costs[i, i] = 0.0  # the correct label is free
    # A correct label that costs more than a wrong one would make every rule prefer errors.
    for i, j in np.argwhere(costs < np.diagonal(costs)[:, None]).tolist():
        raise ParameterError(
            f"{_ERROR} must make the correct label of class {labels[i]!r} cost no more than a "
            f"wrong one, got {costs[i, i]:g} for it and {costs[i, j]:g} for {labels[j]!r}."
        )
    return costs


def _by_class(
    name: str, given: Any, labels: tuple[object, ...], of: str = "of class"
) -> list[tuple[str, Any]]:
    """Return what is given for each class, or for all, with a name for errors.

    Other classes are refused, and gaps.
    """
    if not isinstance(given, Mapping):
        return [(name, given)] * len(labels)
    known = of_labels(given, labels)
    for label in [*known, *labels]:
        if label not in labels or label not in known:
            got = f"{label!r}{what_was_meant(label, labels)}"
            if label in labels:
                got = f"none for {label!r}."
            raise ParameterError(
                f"{name} must have a cost for each of the classes {some(labels)}, got {got}"
            )
    return [(f"{name} {of} {label!r}", known[label]) for label in labels]


def _checked(named: tuple[str, Any]) -> float:
    """Check a cost, which comes with a name for errors."""
    return check_number(*named, 0, LARGEST_COST)


def _in_words(costs: Sequence[float], what: str, labels: Sequence[object]) -> str:
    if len(set(costs)) == 1:
        return f"{costs[0]:.10g} for {what}"
    pairs = zip(costs, labels, strict=True)
    first, *others = [f"{cost:.10g} about {label!r}" for cost, label in pairs]
    return ", ".join([first.replace(" about", f" for {what} about", 1), *others])
