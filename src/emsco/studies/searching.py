"""EMSCO on rows in three parts: one bank to choose designs on, one to test them on."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.checks import check_choice
from emsco._base.digests import fingerprint
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, Report
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import subsets_of_words
from emsco.errors import InterruptedWarning
from emsco.fitting import Workbench
from emsco.scoring.pareto import best_balanced_first, fittest_of, knee_of
from emsco.search.loop import SearchResult
from emsco.search.planning import SearchPlan
from emsco.search.settings import SearchSettings

__all__ = ["EVERY_RULE", "RULES", "Choice", "Parts", "SplitBanks", "SplitData"]

RULES = ("fittest", "balanced")
EVERY_RULE = (*RULES, "knee")
_WORDS = {"X": "rows", "y": "labels", "sample_weight": "weights"}
_MEMORY = 2**29
_PROOF_MEMORY = 2**31  # that kinds of chains may take while a front is proven


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A table with labels and costs, and which rows to fit on, to choose on and to test on.

    Rows may have weights, which then count in fits and in all figures.
    """

    X: Any
    y: AnyArray
    costs: FeatureCosts
    train: IntArray
    val: IntArray
    test: IntArray
    weights: FloatArray | None = None

    def rows(self, part: str) -> tuple[Any, ...]:
        """Rows and labels of "train", "val" or "test", and weights where there are any."""
        which = getattr(self, check_choice("part", part, ("train", "val", "test")))
        rows = self.X[which] if isinstance(self.X, np.ndarray) else self.X.take(which)
        found = rows, self.y[which]
        return found if self.weights is None else (*found, self.weights[which])


@dataclass(frozen=True, slots=True, eq=False)
class SplitData:
    """Parts of a table as numbers: arrays, which processes share without copies."""

    data: TrainingData
    train: IntArray
    val: IntArray
    test: IntArray

    @classmethod
    def from_parts(cls, parts: Parts) -> SplitData:
        """The same rows, checked."""
        data = TrainingData.from_table(parts.X, parts.y, parts.weights, parts.costs, "refuse")
        return cls(data, parts.train, parts.val, parts.test)

    def digest(self) -> str:
        """What identifies rows, labels, costs and the split."""
        text = json.dumps(self._fingerprints(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """The same one by one, as plain values under words that messages have for them."""
        return {_WORDS.get(name, name): value for name, value in self._fingerprints().items()}

    def _fingerprints(self) -> dict[str, Any]:
        split = fingerprint(self.train, self.val, self.test)
        return {**self.data.fingerprints(), "split": split}


@dataclass(frozen=True, slots=True)
class Choice:
    """A design by one rule: what it does on the rows that chose it, and on the test rows."""

    rule: str
    scored: Objectives
    seen: Objectives
    design: tuple[int, ...] = ()

    @classmethod
    def from_dict(cls, fields: Fields) -> Choice:
        """What `dataclasses.asdict` gave, read from a file."""
        return cls(
            fields.text("rule"),
            Objectives.from_dict(fields.fields("scored")),
            Objectives.from_dict(fields.fields("seen")),
            tuple(fields.items("design")),
        )


class SplitBanks:
    """Searches any number of times on one split, at any thresholds, and fits no subset twice.

    Parameters
    ----------
    parts : Parts or SplitData
    n_jobs : int
        Threads.
    """

    def __init__(self, parts: Parts | SplitData, n_jobs: int = 1) -> None:
        data = parts.data if isinstance(parts, SplitData) else SplitData.from_parts(parts).data
        self._costs = data.costs
        # A bank's fits depend on its training rows alone: both have the same models.
        self._val, self._test = (
            Workbench.from_split(data, (parts.train, rows), _MEMORY, n_jobs)
            for rows in (parts.val, parts.test)
        )

    @property
    def n_subsets(self) -> int:
        """How many subsets of the features there are."""
        return int(2**self._val.bank.n_features - 1)

    @property
    def capacity(self) -> int:
        """How many of them a bank can hold."""
        return self._val.bank.capacity

    def fit_every(self, report: Report | None = None) -> FloatArray:
        """Fit all subsets; what is kept of each, for `adopt`.

        ``report(done, total)`` is called as parts of the fits are done.
        """
        self._val.bank.on_fit = report
        return self._val.bank.kept(self._every())

    def adopt(self, fits: FloatArray) -> None:
        """Take the fits of all subsets that banks on the same rows have made."""
        self._val.bank.adopt(self._every(), fits)

    def _every(self) -> BoolArray:
        numbers = np.arange(1, self.n_subsets + 1, dtype=np.uint64)
        return subsets_of_words(numbers[:, None], self._val.bank.n_features)

    def plan(self, search: str, settings: SearchSettings, min_confidence: float) -> SearchPlan:
        """Which search "auto" means here.

        Raises
        ------
        ParameterError
            Where "exact" is out of reach.
        """
        return self._val.plan(search, settings, min_confidence, _PROOF_MEMORY)

    def search(
        self,
        search: str,
        settings: SearchSettings,
        min_confidence: float,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> SearchResult:
        """Designs that one search finds on the validation rows.

        Raises
        ------
        ParameterError
            Where "exact" is out of reach.
        KeyboardInterrupt
            Where Ctrl-C has ended the search.
        """
        with warnings.catch_warnings():  # what an interrupted search has found is not kept here
            warnings.simplefilter("ignore", InterruptedWarning)
            found = self._val.search(
                search,
                settings,
                min_confidence,
                rng,
                time_limit=time_limit,
                memory_limit=_PROOF_MEMORY,
            )
        if found.stop_reason.is_interrupted:
            raise KeyboardInterrupt  # or half a search would be taken for a whole one
        return found

    def choose(self, result: SearchResult, rule: str, min_confidence: float) -> Choice:
        """The design that a rule deploys, tested."""
        position = self._position(result, check_choice("rule", rule, EVERY_RULE))
        design = result.designs[position : position + 1]
        most = int(design.max()) + 1
        subsets = (design[0] >= 0) & (design[0] <= np.arange(most)[:, None])
        self._test.bank.adopt(subsets, self._val.bank.kept(subsets))
        tested = self._test.evaluator(most, min_confidence).score(design)
        validated = result.scores.objectives(position)
        test = tested.objectives(0)
        return Choice(rule, validated, test, tuple(design[0].tolist()))

    def _position(self, result: SearchResult, rule: str) -> int:
        scores = result.scores
        if rule == "balanced":
            return int(best_balanced_first(result.designs, scores, self._costs.total)[0])
        objectives = scores.coverage, scores.accuracy, scores.cost
        if rule == "knee":
            return knee_of(*objectives)
        return fittest_of(result.designs, *objectives, self._costs.smallest)
