"""Records of a comparison: the rows of a trial, the questions asked, and what a method offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives, objectives_from_dict
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.costs import FeatureCosts
from emsco.data.labels import positions_of
from emsco.stats.error_costs import ErrorCosts
from emsco_lab.parts import divided, split_seed

TEST_SHARE = 1 / 4
BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)
_ROUNDING = 1e-9
_MIN_CHANCE = 1e-3  # some rivals say 0, which would make any log loss infinite


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows with labels, and weights if they have some."""

    X: Any
    y: AnyArray
    weights: FloatArray | None = None

    def take(self, which: IntArray) -> LabelledRows:
        """Some of the rows, by position."""
        rows = self.X[which] if isinstance(self.X, np.ndarray) else self.X.take(which)
        return LabelledRows(
            rows, self.y[which], None if self.weights is None else self.weights[which]
        )

    @property
    def counts(self) -> FloatArray:
        """Weight of each row."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def commonest(self) -> tuple[Any, float]:
        """The commonest class, and its share of the rows."""
        classes, labels = np.unique(self.y, return_inverse=True)
        shares = np.bincount(labels, self.counts)
        return classes[shares.argmax()], float(shares.max() / shares.sum())


@dataclass(frozen=True, slots=True, eq=False)
class TrialRows:
    """The rows and costs of one trial: rows to fit and choose on, and rows to test on."""

    fitted: LabelledRows
    test: LabelledRows
    costs: FeatureCosts
    seed: int

    @property
    def members(self) -> BoolArray:
        """Which test rows belong to each class, (n_classes, n_test_rows)."""
        classes = np.unique(np.concatenate([self.fitted.y, self.test.y]))
        return np.asarray(self.test.y == classes[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class CostedRows:
    """Labelled rows with the costs of their features.

    Attributes
    ----------
    rows : LabelledRows
    costs : FeatureCosts
    test : ndarray or None
        Positions of the rows to test on, if they are given; else every split draws a quarter.
    """

    rows: LabelledRows
    costs: FeatureCosts
    test: IntArray | None = None

    def trial(self, split: int, seed: int) -> TrialRows:
        """Split the rows, every class in the same shares."""
        everything, trial_seed = np.arange(len(self.rows.y)), split_seed(split, seed)
        if self.test is not None:
            fitted, test = np.setdiff1d(everything, self.test), self.test
        else:
            fitted, test = divided(everything, self.rows.y, TEST_SHARE, trial_seed)
        return TrialRows(self.rows.take(fitted), self.rows.take(test), self.costs, trial_seed)


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """A request for the most accurate design within two limits.

    Both limits hold on the rows that choose.

    Attributes
    ----------
    coverage : float
        Smallest share of rows that get a label.
    budget : float
        Largest mean cost of a row, as a share of the cost of everything.
    """

    coverage: float
    budget: float

    def allows(self, promised: Objectives, total_cost: float) -> bool:
        """Whether figures on the rows that choose are within the limits, rounding aside."""
        return (
            promised.coverage >= self.coverage - _ROUNDING
            and promised.cost <= (self.budget + _ROUNDING) * total_cost
        )


QUESTIONS = tuple(Question(coverage, budget) for coverage in COVERAGES for budget in BUDGETS)
ANYTHING = Question(0.0, 1.0)  # limits that leave the choice to a rule
LOWEST_TOTAL = "lowest total"  # the rule of an offer where errors have a price


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What errors and rejections cost in a trial.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    lines : ndarray of shape (n_classes, n_classes + 1)
        As `ErrorCosts.costs`.
    may_reject : bool
        Whether rejections have a price; without one, every row gets a label.
    """

    classes: AnyArray
    lines: FloatArray
    may_reject: bool

    def cheapest(self, probabilities: FloatArray, classes: AnyArray) -> tuple[IntArray, BoolArray]:
        """Return the label of least expected cost of each row, and whether it is given.

        A row gets no label if a rejection is expected to cost less. Labels are positions in all
        classes, of which a method may know some.
        """
        shares = np.zeros((len(probabilities), len(self.classes)))
        shares[:, positions_of(classes, self.classes)] = probabilities
        expected = shares @ self.lines
        given: IntArray = expected[:, :-1].argmin(axis=1)
        accepted = np.ones(len(given), dtype=np.bool_)
        if self.may_reject:
            accepted = expected[:, :-1].min(axis=1) <= expected[:, -1]
        return given, accepted

    def right(self, given: IntArray, accepted: BoolArray, y: AnyArray) -> BoolArray:
        """Whether rows get the correct label."""
        correct: BoolArray = accepted & (given == positions_of(y, self.classes))
        return correct

    def losses(self, given: IntArray, accepted: BoolArray, y: AnyArray) -> FloatArray:
        """What the labels and rejections of rows cost, by their true classes."""
        said = np.where(accepted, given, len(self.classes))
        lost: FloatArray = self.lines[positions_of(y, self.classes), said]
        return lost

    def losses_of(self, labels: AnyArray, accepted: BoolArray, y: AnyArray) -> FloatArray:
        """What labels, given by name and not by position, and rejections of rows cost."""
        return self.losses(positions_of(labels, self.classes), accepted, y)


@dataclass(frozen=True, slots=True)
class Seen(Objectives):
    """Objectives on test rows, the mean log loss of the labelled ones, and results by class.

    Chances below 0.001 count as 0.001; the log loss is 0 if no row is labelled.

    Attributes
    ----------
    log_loss : float
    wrong, rejected : tuple of float
        For each class, the share of all test rows that belong to it and got a wrong label, or none;
        empty if nobody has counted them.
    lost : float or None
        Mean cost of labels and rejections, if errors have a price.
    """

    log_loss: float = 0.0
    wrong: tuple[float, ...] = ()
    rejected: tuple[float, ...] = ()
    lost: float | None = None

    @classmethod
    def from_rows(
        cls,
        correct: BoolArray,
        accepted: BoolArray,
        cost: FloatArray,
        chances: FloatArray,
        weights: FloatArray | None,
        members: BoolArray | None = None,
        losses: FloatArray | None = None,
    ) -> Seen:
        """Measure from what happened to each row; `chances` are those of its true class.

        `members` says which rows belong to each class, (n_classes, n_rows), for results by class,
        and `losses` what the label or rejection of each row costs.
        """
        counts = np.ones(len(correct)) if weights is None else weights
        labelled = counts * accepted
        n_labelled = float(labelled.sum())
        log_losses = -np.log(np.clip(chances, _MIN_CHANCE, 1.0))
        share = max(n_labelled, np.finfo(np.float64).tiny)
        of_class = np.zeros((0, len(correct))) if members is None else members / counts.sum()
        return cls(
            min(1.0, n_labelled / float(counts.sum())),  # rounding may exceed 1
            min(1.0, float(labelled @ correct) / share),
            float(counts @ cost / counts.sum()),
            float(labelled @ log_losses) / share,
            tuple((of_class @ (labelled * ~correct)).tolist()),
            tuple((of_class @ (counts * ~accepted)).tolist()),
            None if losses is None else float(counts @ losses / counts.sum()),
        )

    @classmethod
    def from_constant(
        cls,
        label: Any,
        y: AnyArray,
        share: float,
        weights: FloatArray | None,
        members: BoolArray | None = None,
        losses: FloatArray | None = None,
    ) -> Seen:
        """Measure the answer `label` for everyone, for nothing, at a confidence of `share`."""
        correct = np.asarray(y == label)
        return cls.from_rows(
            correct,
            np.ones(len(y), dtype=np.bool_),
            np.zeros(len(y)),
            np.where(correct, share, 1.0 - share),
            weights,
            members,
            losses,
        )

    @classmethod
    def from_dict(cls, fields: Fields) -> Seen:
        """Read the values that `dataclasses.asdict` wrote; older files have no results by class."""
        one = objectives_from_dict(fields)
        wrong, rejected = (
            tuple(fields.numbers(name, len(fields.items(name)), 0, 1).tolist())
            if name in fields.values
            else ()
            for name in ("wrong", "rejected")
        )
        log_loss = fields.number("log_loss", 0)
        lost = fields.number("lost", 0) if fields.values.get("lost") is not None else None
        return cls(one.coverage, one.accuracy, one.cost, log_loss, wrong, rejected, lost)

    def money(self, costs: ErrorCosts) -> float:
        """Mean total of a row, if errors about each class and rejections cost so much.

        Costs that depend on the label given must be those that the method was told.
        """
        if costs.is_uniform:
            return costs.total(self).value
        if costs.by_true_class is None and self.lost is not None:
            return self.cost + self.lost
        if costs.by_true_class is None or len(self.wrong) != len(costs.labels):
            rule = "be one number for results that an earlier version has kept without classes"
            raise refused("error_cost", rule, str(costs), hint="choose another folder")
        errors = np.dot(self.wrong, costs.by_true_class)
        return float(self.cost + errors + np.dot(self.rejected, costs.costs[:, -1]))


@dataclass(frozen=True, slots=True)
class Offer:
    """What a method deploys in answer to a question, or by a rule.

    Attributes
    ----------
    question : Question
    setting : str
        The method's own setting or design, in words; "" for the commonest class. If buying nothing
        has the lowest total, it says what everyone gets.
    promised : Objectives
        On the rows that chose.
    seen : Seen
        On the test rows.
    rule : str
        Rule that chose, such as "balanced"; "" for the most accurate design within the limits.
    promised_total : float or None
        Mean total of a row on the rows that chose, if the rule is the lowest total.
    """

    question: Question
    setting: str
    promised: Objectives
    seen: Seen
    rule: str = ""
    promised_total: float | None = None

    @classmethod
    def from_dict(cls, fields: Fields) -> Offer:
        """Read the values that `dataclasses.asdict` wrote; older files lack some."""
        limits = fields.fields("question")
        has_total = fields.values.get("promised_total") is not None
        return cls(
            Question(limits.number("coverage", 0, 1), limits.number("budget", 0)),
            fields.text("setting"),
            objectives_from_dict(fields.fields("promised")),
            Seen.from_dict(fields.fields("seen")),
            fields.text("rule") if "rule" in fields.values else "",
            fields.number("promised_total", 0) if has_total else None,
        )


@dataclass(frozen=True, slots=True)
class Answers:
    """What a method offers on one split.

    Attributes
    ----------
    offers : tuple of Offer
        One for each question, or several for each rule; empty if the method could not run.
    note : str
        Why there are no offers, or a remark about them.
    seconds : float
        Processor time.
    """

    offers: tuple[Offer, ...]
    note: str = ""
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "offers": [asdict(offer) for offer in self.offers],
            "note": self.note,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, fields: Fields, questions: Sequence[Question] | None = QUESTIONS) -> Answers:
        """Read the values that `to_dict` wrote.

        If there are offers that no rule has chosen, they answer `questions`.
        """
        listed = fields.many_fields("offers") if fields.items("offers") else []
        offers = tuple(Offer.from_dict(one) for one in listed)
        asked = [offer.question for offer in offers if offer.rule != LOWEST_TOTAL]
        if offers and questions is not None and asked != list(questions):
            rule = f"one for each of {len(questions)} questions, in their order, or none"
            fields.refuse("offers", rule, f"{len(offers)} others")
        return cls(offers, fields.text("note"), fields.number("seconds", 0))

    def by_rule(self, rule: str) -> list[Offer]:
        """Offers that a rule chose, one for each repeat."""
        return [offer for offer in self.offers if offer.rule == rule]
