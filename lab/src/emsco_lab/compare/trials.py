"""The rows of a split, the questions asked about them, and what a method offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from emsco import ErrorCosts, FeatureCosts
from emsco.errors import DataError

TEST_SHARE = 1 / 4
SPLITS_PER_SEED = 1000  # no two splits of any seeds draw alike
BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.4)
COVERAGES = (1.0, 0.9)
_ROUNDING = 1e-9

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows, an array or a data frame, with their labels."""

    X: Any
    y: AnyArray

    def take(self, which: IntArray) -> LabelledRows:
        """Return some of the rows, by position."""
        rows = self.X[which] if isinstance(self.X, np.ndarray) else self.X.take(which)
        return LabelledRows(rows, self.y[which])

    def commonest(self) -> tuple[Any, float]:
        """Return the commonest class, and its share of the rows."""
        classes, counts = np.unique(self.y, return_counts=True)
        return classes[counts.argmax()], float(counts.max() / counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class TrialRows:
    """The rows and costs of one trial: rows to fit and choose on, and rows to test on."""

    fitted: LabelledRows
    test: LabelledRows
    costs: FeatureCosts
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class CostedRows:
    """Labelled rows with the costs of their features; every split tests on a quarter."""

    rows: LabelledRows
    costs: FeatureCosts

    def divide(self, split: int, seed: int) -> tuple[IntArray, IntArray]:
        """Return the positions to fit and to test on, every class in the same shares."""
        everything = np.arange(len(self.rows.y))
        try:
            fitted, test = train_test_split(
                everything,
                test_size=TEST_SHARE,
                stratify=self.rows.y,
                random_state=SPLITS_PER_SEED * seed + split,
            )
        except ValueError as error:
            raise DataError(f"DATA must have enough rows of every class: {error}") from None
        return fitted, test

    def trial(self, split: int, seed: int) -> TrialRows:
        """Split the rows."""
        fitted, test = map(self.rows.take, self.divide(split, seed))
        return TrialRows(fitted, test, self.costs, SPLITS_PER_SEED * seed + split)


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """A request for the most accurate design within two limits on the rows that choose.

    Attributes
    ----------
    coverage : float
        Smallest share of rows that get a label.
    budget : float
        Largest mean cost of a row, as a share of the cost of everything.
    """

    coverage: float
    budget: float

    def allows(self, coverage: float, cost: float, total_cost: float) -> bool:
        """Whether figures are within the limits, rounding aside."""
        return (
            coverage >= self.coverage - _ROUNDING and cost <= (self.budget + _ROUNDING) * total_cost
        )


QUESTIONS = tuple(Question(coverage, budget) for coverage in COVERAGES for budget in BUDGETS)
LOWEST_TOTAL = Question(0.0, 1.0)  # asked where errors have a cost: no limits, the lowest total


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What happened to the test rows.

    Attributes
    ----------
    correct, accepted : ndarray of shape (n_rows,)
        Whether each row got a label, and the correct one.
    cost : float
        Mean cost of a row's features.
    totals : ndarray of shape (n_rows,) or None
        What each row cost with its error or rejection, if errors have a cost.
    """

    correct: BoolArray
    accepted: BoolArray
    cost: float
    totals: FloatArray | None = None

    @property
    def coverage(self) -> float:
        """Share of rows that got a label."""
        return float(self.accepted.mean())

    @property
    def accuracy(self) -> float:
        """Share of labels that are correct; 0 without labels."""
        return float(self.correct.sum() / max(1, self.accepted.sum()))

    @property
    def merits(self) -> FloatArray:
        """What each row adds to the figure that counts; their mean is that figure.

        This is the total, below 0, if errors have a cost; else the accuracy, linearised where rows
        were rejected.
        """
        if self.totals is not None:
            return -self.totals
        beyond = (self.correct - self.accuracy * self.accepted) / (self.coverage or 1.0)
        merits: FloatArray = self.accuracy + beyond
        return merits

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with a sign for each row: correct, wrong or rejected."""
        signs = np.where(self.accepted, np.where(self.correct, "1", "0"), "-")
        totals = None if self.totals is None else self.totals.tolist()
        return {"rows": "".join(signs.tolist()), "cost": self.cost, "totals": totals}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Seen:
        """Read what `to_dict` wrote."""
        signs = np.array(list(values["rows"]))
        totals = None if values["totals"] is None else np.array(values["totals"])
        return cls(signs == "1", signs != "-", values["cost"], totals)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a method deploys in answer to a question.

    Attributes
    ----------
    question : Question
    setting : str
        The method's setting or design, in words; "" for the commonest class.
    promised : float
        Accuracy on the rows that chose, or the mean total of a row if errors have a cost.
    seen : Seen
        On the test rows.
    """

    question: Question
    setting: str
    promised: float
    seen: Seen

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        asked = [self.question.coverage, self.question.budget]
        return {
            "asked": asked,
            "setting": self.setting,
            "promised": self.promised,
            **self.seen.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Offer:
        """Read what `to_dict` wrote."""
        seen = Seen.from_dict(values)
        return cls(Question(*values["asked"]), values["setting"], values["promised"], seen)


def places_of(prices: ErrorCosts, labels: AnyArray) -> IntArray:
    """Return the places of labels in all classes, which are in order."""
    return np.searchsorted(np.array(prices.labels), labels)


def cheapest(prices: ErrorCosts, probabilities: FloatArray, classes: AnyArray) -> IntArray:
    """Return the label of least expected cost for each row, by its place in all classes.

    The place behind all classes is a rejection, if that has a cost. A method may know some of the
    classes only.
    """
    shares = np.zeros((len(probabilities), len(prices.labels)))
    shares[:, places_of(prices, classes)] = probabilities
    expected = shares @ prices.costs
    given: IntArray = expected[:, : expected.shape[1] - (not prices.may_reject)].argmin(axis=1)
    return given


def losses(prices: ErrorCosts, given: IntArray, y: AnyArray) -> FloatArray:
    """Return what labels and rejections cost, by the true classes of the rows."""
    lost: FloatArray = prices.costs[places_of(prices, y), given]
    return lost


def seen_of(prices: ErrorCosts, given: IntArray, cost: FloatArray, y: AnyArray) -> Seen:
    """Measure labels and rejections, given by their places, on test rows."""
    return Seen(
        given == places_of(prices, y),
        given < len(prices.labels),
        float(cost.mean()),
        cost + losses(prices, given, y),
    )
