"""Searches on a split in three parts: training, scored and test rows."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from emsco._base.checks import check_choice
from emsco._base.digests import fingerprint
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives, objectives_from_dict
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, Report
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import subsets_of_words
from emsco.errors import DataError, InterruptedWarning
from emsco.fitting import Workbench
from emsco.scoring.pareto import best_balanced_first, fittest_of, knee_of
from emsco.search.loop import SearchResult
from emsco.search.plan import SearchPlan
from emsco.search.settings import SearchSettings
from emsco_lab.datasets import Dataset, paper_split

SPLITS_PER_SEED = 1000  # no two splits of any seeds draw alike
LARGEST_STUDY_SEED = 2**32 // SPLITS_PER_SEED - 1  # so that the seed of a split fits 32 bits
RULES = ("fittest", "balanced")
EVERY_RULE = (*RULES, "knee")
_WORDS = {"X": "rows", "y": "labels", "sample_weight": "weights"}
_MEMORY = 2**29
_PROOF_MEMORY = 2**31  # bytes that an exact search may use


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A table with labels and costs, and the positions of training, scored and test rows.

    `val` holds the scored rows. Weights, if given, count in fits and in all figures.
    """

    X: Any
    y: AnyArray
    costs: FeatureCosts
    train: IntArray
    val: IntArray
    test: IntArray
    weights: FloatArray | None = None

    def rows(self, part: str) -> tuple[Any, ...]:
        """Rows and labels of "train", "val" or "test", and their weights if there are any."""
        which = getattr(self, check_choice("part", part, ("train", "val", "test")))
        rows = self.X[which] if isinstance(self.X, np.ndarray) else self.X.take(which)
        if self.weights is None:
            return rows, self.y[which]
        return rows, self.y[which], self.weights[which]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedParts:
    """Parts of a table as arrays of numbers, which processes share without copies."""

    data: TrainingData
    train: IntArray
    val: IntArray
    test: IntArray

    @classmethod
    def from_parts(cls, parts: Parts, gaps: str = "refuse") -> EncodedParts:
        """Check the rows and encode them as numbers; `gaps` is that of `EMSCOClassifier`."""
        data = TrainingData.from_table(parts.X, parts.y, parts.weights, parts.costs, gaps)
        return cls(data, parts.train, parts.val, parts.test)

    def digest(self) -> str:
        """Digest that identifies rows, labels, costs and the split."""
        text = json.dumps(self._fingerprints(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """Digests of rows, labels, costs and split, under the words that messages use."""
        return {_WORDS.get(name, name): value for name, value in self._fingerprints().items()}

    def _fingerprints(self) -> dict[str, Any]:
        split = fingerprint(self.train, self.val, self.test)
        return {**self.data.fingerprints(), "split": split}


@dataclass(frozen=True, slots=True)
class Choice:
    """The design that a rule deploys, with its figures on scored and on test rows."""

    rule: str
    scored: Objectives
    seen: Objectives
    design: tuple[int, ...] = ()

    @classmethod
    def from_dict(cls, fields: Fields) -> Choice:
        """Read the values that `dataclasses.asdict` wrote."""
        n_features = len(fields.items("design"))
        design = fields.wholes("design", n_features, -1, n_features - 1)
        if max(design, default=-1) < 0:
            fields.refuse("design", "the stage of each feature, from 0", design)
        return cls(
            fields.text("rule"),
            objectives_from_dict(fields.fields("scored")),
            objectives_from_dict(fields.fields("seen")),
            tuple(design),
        )


def split_seed(split: int, seed: int) -> int:
    """Seed of a split, and of the methods on it."""
    return SPLITS_PER_SEED * seed + split


def split_parts(data: Dataset, split: int, seed: int) -> Parts:
    """Split a set at random, as in the paper: training, scored and test rows."""
    train, val, test = paper_split(len(data.X), split_seed(split, seed))
    return Parts(data.X, data.y, data.costs, train, val, test)


def divided(rows: IntArray, y: AnyArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Split row numbers in two at random, every class in the same shares."""
    try:
        first, second = train_test_split(rows, test_size=share, stratify=y[rows], random_state=seed)
    except ValueError as error:
        raise DataError(f"DATA must have enough rows of every class to be split: {error}") from None
    return first, second


class SplitBanks:
    """Searches on one split, any number of times and at any threshold; no subset is fitted twice.

    Parameters
    ----------
    parts : Parts or EncodedParts
    n_jobs : int
        Threads.
    """

    def __init__(self, parts: Parts | EncodedParts, n_jobs: int = 1) -> None:
        data = (
            parts.data if isinstance(parts, EncodedParts) else EncodedParts.from_parts(parts).data
        )
        self._costs = data.costs
        # Models depend on training rows alone, so both banks have the same ones.
        self._scored, self._test = (
            Workbench.from_split(data, (parts.train, rows), _MEMORY, n_jobs)
            for rows in (parts.val, parts.test)
        )

    @property
    def n_subsets(self) -> int:
        """Number of subsets of the features."""
        return int(2**self._scored.bank.n_features - 1)

    @property
    def capacity(self) -> int:
        """Number of subsets that a bank can hold."""
        return self._scored.bank.capacity

    def fit_every(self, report: Report | None = None) -> FloatArray:
        """Fit models for all subsets, and return them for `adopt`.

        ``report(done, total)`` is called as parts of the work are done.
        """
        with self._scored.bank.reporting(report):
            return self._scored.bank.kept(self._every())

    def adopt(self, models: FloatArray) -> None:
        """Take over the models that `fit_every` fitted on the same rows."""
        self._scored.bank.adopt(self._every(), models)

    def _every(self) -> BoolArray:
        numbers = np.arange(1, self.n_subsets + 1, dtype=np.uint64)
        return subsets_of_words(numbers[:, None], self._scored.bank.n_features)

    def plan(self, search: str, settings: SearchSettings, min_confidence: float) -> SearchPlan:
        """Plan a search: the one to use for "auto", and whether "exact" is within reach.

        Raises
        ------
        ParameterError
            If "exact" is out of reach.
        """
        return self._scored.plan(search, settings, min_confidence, _PROOF_MEMORY)

    def search(
        self,
        search: str,
        settings: SearchSettings,
        min_confidence: float,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> SearchResult:
        """Search for designs on the scored rows.

        Raises
        ------
        ParameterError
            If "exact" is out of reach.
        KeyboardInterrupt
            If Ctrl-C stopped the search.
        """
        with warnings.catch_warnings():  # an interrupted search is dropped below
            warnings.simplefilter("ignore", InterruptedWarning)
            result = self._scored.search(
                search,
                settings,
                min_confidence,
                rng,
                time_limit=time_limit,
                memory_limit=_PROOF_MEMORY,
            )
        if result.stop_reason.is_interrupted:
            raise KeyboardInterrupt  # so that nobody takes half a search for a whole one
        return result

    def choose(self, result: SearchResult, rule: str, min_confidence: float) -> Choice:
        """Choose a design by a rule, and test it."""
        check_choice("rule", rule, EVERY_RULE)
        scores, total = result.scores, self._costs.total
        if rule == "balanced":
            position = int(best_balanced_first(result.designs, scores, total)[0])
        elif rule == "knee":
            position = knee_of(scores.coverage, scores.accuracy, scores.cost)
        else:
            position = fittest_of(
                result.designs,
                scores.coverage,
                scores.accuracy,
                scores.cost,
                self._costs.smallest,
            )
        design = result.designs[position : position + 1]
        n_stages = int(design.max()) + 1
        subsets = (design[0] >= 0) & (design[0] <= np.arange(n_stages)[:, None])
        self._test.bank.adopt(subsets, self._scored.bank.kept(subsets))
        seen = self._test.evaluator(n_stages, min_confidence).score(design).objectives(0)
        return Choice(rule, scores.objectives(position), seen, tuple(design[0].tolist()))
