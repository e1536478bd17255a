"""Contests: all methods on random splits of some rows, each job kept as soon as it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from time import process_time
from typing import Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.documents import Fields
from emsco._base.typing import IntArray
from emsco.costs import FeatureCosts
from emsco.errors import DataError, EMSCOError
from emsco.lab import rivals as baselines
from emsco.lab.answering import LabelledRows, Trial, answer_with_emsco, answer_with_rival
from emsco.lab.jobs import Report, ResultStore, finish_jobs
from emsco.lab.methods import told
from emsco.lab.questions import QUESTIONS, Offer
from emsco.lab.rivals.base import CostedClassifier
from emsco.lab.searching import divided

EMSCO = "emsco"
RIVALS = {
    "cost_aware_boosting": ("CostAwareBoosting", "CEGB"),
    "catboost": ("PenalisedCatBoost", "CatBoost"),
    "fixed_subset": ("FixedSubset", "fixed subset"),
    "threshold_cascade": ("ThresholdCascade", "threshold cascade"),
    "aaco": ("AACO", "AACO"),
    "greedy_miser": ("GreedyMiser", "Greedy Miser"),
    "astc": ("ASTC", "ASTC"),
    "cstc": ("CSTC", "CSTC"),
    "cact_lasso": ("CaCTLasso", "CaCT LASSO"),
    "cost_ordered": ("CostOrdered", "CO-T"),
}
METHODS = (EMSCO, *RIVALS)
_MOST_FEATURES = {"aaco": 40}  # of data that a rival is tried on: with 50, an hour is not enough
TEST_SHARE = 1 / 4
SPLITS_PER_SEED = 1000  # no two splits of any seeds draw alike
LARGEST_SEED = 2**32 // SPLITS_PER_SEED - 1  # random states have 32 bits


@dataclass(frozen=True, slots=True)
class Effort:
    """How thoroughly methods are tuned.

    Attributes
    ----------
    most : int
        Largest number of settings to try of a rival's grid.
    generations : int
        Generations of each of EMSCO's searches.
    """

    most: int = 48
    generations: int = 150


FULL, QUICK = Effort(), Effort(6, 30)


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

    def trial(self, split: int, seed: int) -> Trial:
        """Split the rows, every class in the same shares."""
        n_rows, own = len(self.rows.y), SPLITS_PER_SEED * seed + split
        if self.test is not None:
            rest = np.setdiff1d(np.arange(n_rows), self.test)
            return Trial(self.rows.take(rest), self.rows.take(self.test), self.costs, own)
        fitted, test = divided(np.arange(n_rows), self.rows.y, TEST_SHARE, own)
        return Trial(self.rows.take(fitted), self.rows.take(test), self.costs, own)


@dataclass(frozen=True, slots=True)
class ContestJob:
    """One method on one split of some data.

    Attributes
    ----------
    data : str
        Name or digest of the data.
    split : int
    method : str
    seed : int
        Seed of the splits and of every method.
    most, generations : int
        See `Effort`.
    """

    data: str
    split: int
    method: str
    seed: int
    most: int
    generations: int

    @property
    def title(self) -> str:
        """Data, split and method."""
        return f"{self.data} split {self.split} {label_of(self.method)}"


@dataclass(frozen=True, slots=True)
class Answers:
    """What a method offers on one split.

    Attributes
    ----------
    offers : tuple of Offer
        One for each question; empty if the method could not run.
    note : str
        Why there are no offers, or a remark about the method's models.
    seconds : float
        Processor time.
    """

    offers: tuple[Offer, ...]
    note: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "offers": [offer.to_dict() for offer in self.offers],
            "note": self.note,
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, fields: Fields) -> Answers:
        """Read the values that `to_dict` wrote."""
        listed = fields.many_fields("offers") if fields.items("offers") else []
        offers = tuple(Offer.from_dict(one) for one in listed)
        if offers and tuple(offer.question for offer in offers) != QUESTIONS:
            rule = f"one for each of {len(QUESTIONS)} questions, in their order, or none"
            fields.refuse("offers", rule, f"{len(offers)} others")
        return cls(
            offers,
            fields.text("note"),
            fields.number("seconds", 0),
        )


def label_of(method: str) -> str:
    """Name of a method in tables and drawings."""
    return "EMSCO" if method == EMSCO else RIVALS[method][1]


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return each method once; a label or a near miss is refused with the name that was meant."""
    if not methods:
        raise refused("methods", "name one method or more", methods, got="none")
    for method in methods:
        if method not in METHODS:
            listed = ", ".join(f'"{one}"' for one in METHODS)
            raise refused("methods", f"be one of {listed}", method, hint=_meant(method))
    return tuple(dict.fromkeys(methods))


def _meant(word: object) -> str:
    """A question that names the method whose name or label is nearest, if one is near."""
    known = {_folded(text): method for method in METHODS for text in (label_of(method), method)}
    near = get_close_matches(_folded(str(word)), known, n=1)
    return f'did you mean "{known[near[0]]}"?' if near else ""


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def do_job(job: ContestJob, data: CostedRows) -> dict[str, Any]:
    """Let one method answer all questions on one split; if it refuses the data, say why."""
    started = process_time()
    trial = data.trial(job.split, job.seed)
    try:
        if job.method == EMSCO:
            offers, note = answer_with_emsco(trial, QUESTIONS, generations=job.generations)
        else:
            rival = _new_rival(job.method, trial)
            offers, note = answer_with_rival(rival, trial, QUESTIONS, job.most), ""
    except EMSCOError as obstacle:
        offers, note = [], str(obstacle)
    return Answers(tuple(offers), note, process_time() - started).to_dict()


def _new_rival(method: str, trial: Trial) -> CostedClassifier:
    """Make a rival that answers every row, with a seed if it draws at random.

    Raises
    ------
    DataError
        If there are more features than the rival can deal with in hours.
    """
    n_features = len(trial.costs.names)
    if n_features > (most := _MOST_FEATURES.get(method, n_features)):
        raise DataError(
            f"data must have at most {most} features for {label_of(method)}, got {n_features}; it "
            "would take hours."
        )
    made: CostedClassifier = getattr(baselines, RIVALS[method][0])(costs=trial.costs)
    return told(made, random_state=trial.seed, gaps="impute")


def run_contest(
    jobs: Sequence[ContestJob],
    work: Callable[[ContestJob], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> tuple[dict[ContestJob, Answers], bool]:
    """Do all jobs, or read their results if the store has them; also whether all are done.

    A method without an answer is asked again: a library may have been installed since.
    """
    for job in jobs:
        known = store.find(job)
        if known is not None and not known.items("offers"):
            store.forget(job)
    found, complete = finish_jobs(jobs, work, store, n_jobs, report)
    return {job: Answers.from_dict(fields) for job, fields in found.items()}, complete
