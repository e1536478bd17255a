"""The methods of a comparison by name: EMSCO's searches, and rivals tuned on scored rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco.costs import FeatureCosts
from emsco.errors import ParameterError
from emsco.lab import rivals as baselines
from emsco.lab.rivals.base import CostedClassifier
from emsco.lab.rivals.tuning import Trial
from emsco.lab.searching import RULES, Choice, Parts, SplitBanks
from emsco.search.settings import SearchSettings

# "excluding" is an evolution whose designs may leave features out.
SEARCHES = ("paper", "evolution", "exact", "excluding")
RIVALS = {
    "greedy_miser": "GreedyMiser",
    "cstc": "CSTC",
    "astc": "ASTC",
    "cact_lasso": "CaCTLasso",
    "cost_ordered": "CostOrdered",
    "cost_aware_boosting": "CostAwareBoosting",
}
METHODS = (*SEARCHES, *RIVALS)
_LABELS = {
    "greedy_miser": "Greedy Miser",
    "cstc": "CSTC",
    "astc": "ASTC",
    "cact_lasso": "CaCT LASSO",
    "cost_ordered": "CO-T",
    "cost_aware_boosting": "CEGB",
}
_TUNED = "tuned"
EVERY = 10**6  # more settings than any grid has

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Contestant:
    """A method and its rule for the design to deploy: a line of the table."""

    method: str
    rule: str

    @property
    def is_emsco(self) -> bool:
        """Whether it is one of EMSCO's searches."""
        return self.method in SEARCHES

    @property
    def label(self) -> str:
        """Name in tables and drawings."""
        return f"EMSCO {self.method}, {self.rule}" if self.is_emsco else _LABELS[self.method]


CONTESTANTS = tuple(
    Contestant(method, rule)
    for method in METHODS
    for rule in (RULES if method in SEARCHES else (_TUNED,))
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of the design that one repeat of a method deploys by one rule."""

    rule: str
    repeat: int
    scored: Objectives
    seen: Objectives

    @classmethod
    def from_choice(cls, repeat: int, choice: Choice) -> Outcome:
        """Take the figures of a design that EMSCO chose."""
        return cls(choice.rule, repeat, choice.scored, choice.seen)

    @classmethod
    def from_dict(cls, fields: Fields) -> Outcome:
        """Read the values that `dataclasses.asdict` wrote."""
        return cls(
            fields.text("rule"),
            fields.whole("repeat", 0),
            Objectives.from_dict(fields.fields("scored")),
            Objectives.from_dict(fields.fields("seen")),
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """A setting of a method's own knobs, with its figures on scored and on test rows."""

    setting: dict[str, Any]
    scored: Objectives
    seen: Objectives

    @classmethod
    def from_trial(cls, trial: Trial) -> Attempt:
        """Take the setting and figures of a trial that had test rows."""
        if trial.test is None:
            raise AssertionError("tuning was given test rows")
        setting = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in trial.settings.items()
        }
        both = (one.objectives for one in (trial.evaluation, trial.test))
        return cls(setting, *both)

    @classmethod
    def from_dict(cls, fields: Fields) -> Attempt:
        """Read the values that `dataclasses.asdict` wrote."""
        return cls(
            fields.fields("setting").values,
            Objectives.from_dict(fields.fields("scored")),
            Objectives.from_dict(fields.fields("seen")),
        )


@dataclass(frozen=True, slots=True)
class MethodResult:
    """Results of a method on one split.

    Attributes
    ----------
    outcomes : tuple of Outcome
        Empty if the method could not run.
    curve : tuple of Attempt
        Settings that no other one dominates on the scored rows, from the cheapest up.
    setting : dict
        The setting that tuning chose.
    note : str
        Why there are no outcomes, or a remark about them.
    restricted : bool
        Whether the method was given less than others, as `note` says.
    seconds : float
        Processor time.
    """

    outcomes: tuple[Outcome, ...] = ()
    curve: tuple[Attempt, ...] = ()
    setting: dict[str, Any] | None = None
    note: str = ""
    seconds: float = 0.0
    restricted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
            "curve": [asdict(attempt) for attempt in self.curve],
            "setting": self.setting,
            "note": self.note,
            "restricted": self.restricted,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, fields: Fields) -> MethodResult:
        """Read the values that `to_dict` wrote."""
        outcomes = fields.many_fields("outcomes") if fields.items("outcomes") else []
        curve = fields.many_fields("curve") if fields.items("curve") else []
        return cls(
            tuple(Outcome.from_dict(one) for one in outcomes),
            tuple(Attempt.from_dict(one) for one in curve),
            fields.get("setting"),
            fields.text("note"),
            fields.number("seconds", 0),
            fields.flag("restricted"),
        )

    def of_rule(self, rule: str) -> tuple[Outcome, ...]:
        """Outcomes by one rule, one per repeat."""
        return tuple(outcome for outcome in self.outcomes if outcome.rule == rule)


def repeat_search(
    banks: SplitBanks,
    search: str,
    settings: SearchSettings,
    min_confidence: float,
    seeds: Sequence[Sequence[int]],
    time_limit: float | None = None,
) -> MethodResult:
    """Repeat one of EMSCO's searches on one split, once per seed, and choose by every rule.

    An exact search runs once, since it draws nothing at random. If it is out of reach, the note
    says why.
    """
    outcomes, note = [], ""
    for repeat, seed in enumerate(seeds[:1] if search == "exact" else seeds):
        rng = np.random.default_rng(seed)
        try:
            result = banks.search(search, settings, min_confidence, rng, time_limit)
        except ParameterError as obstacle:
            return MethodResult(note=str(obstacle))
        if search == "exact" and not result.proven:
            return MethodResult(note=f"exact search was given up: {result.stop_reason}")
        note = str(result.stop_reason)
        choices = [banks.choose(result, rule, min_confidence) for rule in RULES]
        outcomes += [Outcome.from_choice(repeat, choice) for choice in choices]
    return MethodResult(tuple(outcomes), note=note)


def new_rival(
    method: str, costs: FeatureCosts, min_confidence: float, seed: int
) -> CostedClassifier:
    """Make a rival with these costs, and with the threshold and seed if it has such parameters."""
    made: CostedClassifier = getattr(baselines, RIVALS[method])(costs=costs)
    known = {"min_confidence": min_confidence, "random_state": seed}
    if made.get_params(deep=False).get("min_confidence") is None:
        known.pop("min_confidence")  # this rival answers every row by default
    return told(made, **known)


def told(rival: CostedClassifier, **known: Any) -> CostedClassifier:
    """Set those of the parameters that a rival has, and return it."""
    own = rival.get_params(deep=False)
    rival.set_params(**{name: value for name, value in known.items() if name in own})
    return rival


def spread(items: Sequence[T], most: int) -> list[T]:
    """Pick at most `most` items, evenly from the first to the last.

    Examples
    --------
    >>> spread("abcdefg", 3)
    ['a', 'd', 'g']
    """
    places = np.linspace(0, len(items) - 1, min(most, len(items)))
    return [items[round(place)] for place in places.tolist()]


def tune_rival(rival: CostedClassifier, parts: Parts, most: int = EVERY) -> MethodResult:
    """Tune a rival on the scored rows, and test it.

    At most `most` settings of its grid are tried, evenly from the first to the last.
    """
    train, val, test = (parts.rows(part) for part in ("train", "val", "test"))
    grid = spread(rival.grid(parts.costs, len(parts.train)), most)
    tuned = baselines.tune(rival, train, val, test=test, grid=grid)
    best = Attempt.from_trial(tuned.best)
    return MethodResult(
        outcomes=(Outcome(_TUNED, 0, best.scored, best.seen),),
        curve=_undominated([Attempt.from_trial(trial) for trial in tuned.trials]),
        setting=best.setting,
    )


def _undominated(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Front of the attempts on the scored rows, by cost; of equal attempts the first."""
    from moocore import is_nondominated

    points = np.array(
        [[one.scored.coverage, one.scored.accuracy, -one.scored.cost] for one in attempts]
    )
    kept = [attempts[i] for i in np.flatnonzero(is_nondominated(points, maximise=True)).tolist()]
    return tuple(sorted(kept, key=lambda one: one.scored.cost))
