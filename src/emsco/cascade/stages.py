"""The stages of a cascade: the features they buy, their costs, and their judgement of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.digests import fingerprint
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade.branching import BranchReader
from emsco.cascade.decisions import PATH_BETWEEN
from emsco.costs import StagePrices
from emsco.data.encoding import Encoding
from emsco.models.stage_models import Judgement, StageModels


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Where rows have got to in the stages of a cascade.

    Attributes
    ----------
    accepted : ndarray of bool
        Whether the row got a label.
    stage : ndarray of int
        Last stage that judged the row, from 1; 0 if none did.
    winner : ndarray of int
        Position of its label there, or of the label it would have got.
    confidence : ndarray of float
        Probability of that label; NaN if no stage judged the row.
    waits_for : ndarray of int or None
        Stage whose features the row lacks, from 0; -1 if it lacks none. None if no row does.
    """

    accepted: BoolArray
    stage: IntArray
    winner: IntArray
    confidence: FloatArray
    waits_for: IntArray | None

    @classmethod
    def begin(cls, n_rows: int, *, some_may_wait: bool) -> Self:
        """No stage has judged a row."""
        return cls(
            accepted=np.zeros(n_rows, dtype=np.bool_),
            stage=np.zeros(n_rows, dtype=np.int64),
            winner=np.zeros(n_rows, dtype=np.int64),
            # The first stage judges every row that does not wait for it.
            confidence=np.full(n_rows, np.nan) if some_may_wait else np.empty(n_rows),
            waits_for=np.full(n_rows, -1) if some_may_wait else None,
        )

    def part(self, rows: slice) -> Self:
        """Return views of some rows; what is written there is written here."""
        return type(self)(
            accepted=self.accepted[rows],
            stage=self.stage[rows],
            winner=self.winner[rows],
            confidence=self.confidence[rows],
            waits_for=None if self.waits_for is None else self.waits_for[rows],
        )


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of a cascade, prepared for deciding rows.

    Attributes
    ----------
    buys : tuple of tuple of str
        Features that each stage buys.
    columns : tuple of tuple of str
        Columns of these features.
    inputs : tuple of tuple of int
        Positions of the model inputs that the columns become.
    costs : tuple of float
        Cost of a row after each stage; with prices by row, of a row with the usual prices.
    classes : ndarray of shape (n_classes,)
    labels : tuple
        The classes as plain values.
    thresholds : ndarray of shape (n_stages, n_classes)
        Confidence that each stage needs to give each class as the label.
    encoding : Encoding
    models : StageModels
    prices : StagePrices
        Features whose price differs from row to row.
    chains : tuple of range
        Stages without a branch between them, in order.
    delays : tuple of float
        Time that a row has waited after each stage; empty if no value comes later.
    label_costs : ndarray of shape (n_classes, n_classes) or None
        Cost of each label for a row of each class, if labels are those of least expected cost.
    stakes : ndarray of shape (n_classes,) or None
        Weight of a row of each class in the fit of the models, if they were weighted.
    before : tuple of int
        The stage before each stage, -1 for the first; empty for a chain.
    branches : mapping
        What comes after the stages at which rows go different ways.
    """

    buys: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, ...], ...]
    inputs: tuple[tuple[int, ...], ...]
    costs: tuple[float, ...]
    classes: AnyArray
    labels: tuple[object, ...]
    thresholds: FloatArray
    encoding: Encoding
    models: StageModels
    prices: StagePrices
    chains: tuple[range, ...]
    delays: tuple[float, ...] = ()
    label_costs: FloatArray | None = None
    stakes: FloatArray | None = None
    before: tuple[int, ...] = ()
    branches: Mapping[int, BranchReader] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.buys)

    def follow(
        self, rows: FloatArray, followed: Followed, lacking: BoolArray | None = None
    ) -> None:
        """Send encoded rows through the stages, each as far as it goes, and fill in `followed`.

        `lacking`, of shape (n_rows, n_stages), marks the stages that a row cannot pass yet.
        """
        n_rows, n_stages = len(rows), len(self)
        coming = np.zeros(n_rows, dtype=np.int64)  # the next stage of each row that goes on
        alone = (range(j, j + 1) for j in range(n_stages))
        at: slice | IntArray
        # A stage comes after the one before it, so one pass over all is enough.
        for chain in self.chains if lacking is None else alone:
            first, end = chain.start, chain.stop
            if first == 0 and lacking is None:  # all rows are here, and need not be copied
                at, reached = slice(None), rows
            else:
                here = np.flatnonzero(coming == first)
                if lacking is not None and followed.waits_for is not None:
                    stop = lacking[here, first]
                    followed.waits_for[here[stop]] = first
                    here = here[~stop]
                if not here.size:
                    continue
                at, reached = here, rows.take(here, axis=0)
            left, winner, confidence = self.judge(reached, first, end)
            sure = left < n_stages
            followed.accepted[at] = sure
            left += 1  # from 1, and at most the last that judged the row
            followed.stage[at] = np.minimum(left, end, out=left)
            followed.winner[at], followed.confidence[at] = winner, confidence
            if self._after[end - 1] < n_stages:
                # Asking all rows is quicker than picking those that go on.
                ways = self.go_on(end - 1, reached, winner, confidence)
                coming[at] = np.where(sure, n_stages, ways)
        for j in range(n_stages) if self._relabels else ():
            here = np.flatnonzero(followed.stage == j + 1)
            if here.size and (relabelled := self.relabelled(rows[here], j)) is not None:
                followed.winner[here], followed.confidence[here] = relabelled

    def go_on(
        self, stage: int, rows: FloatArray, winner: IntArray, confidence: FloatArray
    ) -> IntArray:
        """Return the next stage of rows that do not leave at `stage`; the number of stages if none.

        `winner` and `confidence` are the judgement of the stage, before costs of labels.
        """
        if stage in self.branches:
            return self.branches[stage].go_on(rows, winner, confidence)
        return np.full(len(rows), self._after[stage])

    def go_on_one(
        self, stage: int, row: Sequence[float], winner: int, confidence: float
    ) -> tuple[int, str]:
        """Return the next stage of one row, and why it goes there; "" if there is no other way."""
        if stage in self.branches:
            return self.branches[stage].go_on_one(row, winner, confidence)
        return self._after[stage], ""

    def stage_before(self, stage: int) -> int:
        """Return the stage before a stage on its path; -1 for the first."""
        return self.before[stage] if self.before else stage - 1

    @cached_property
    def _after(self) -> tuple[int, ...]:
        """The stage after each stage that is no branch; the number of stages if there is none."""
        if not self.before:
            return tuple(range(1, len(self) + 1))
        after = [len(self)] * len(self)
        for j, one in enumerate(self.before):
            if one >= 0:
                after[one] = j
        return tuple(after)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the stages, as the path of a case has them."""
        return tuple(f"stage {j + 1}" for j in range(len(self)))

    @cached_property
    def ways_to(self) -> tuple[tuple[str, ...], ...]:
        """What held at each branch on the way to each stage, in words; empty for a chain."""
        way_into = {
            stage: way
            for reader in self.branches.values()
            for stage, way in zip(reader.branch.starts, reader.branch.ways, strict=True)
        }
        ways: list[tuple[str, ...]] = []
        for j, before in enumerate(self.before):
            earlier = ways[before] if before >= 0 else ()
            ways.append((*earlier, way_into[j]) if j in way_into else earlier)
        return tuple(ways)

    @cached_property
    def paths_to(self) -> tuple[str, ...]:
        """The path to each stage in words, with what held at a branch before it.

        Empty for a chain.
        """
        paths: list[str] = []
        for j, before in enumerate(self.before):
            steps = [] if before < 0 else [paths[before], f"{before + 1}"]
            if before in self.branches:
                steps.append(self.ways_to[j][-1])
            paths.append(PATH_BETWEEN.join(filter(None, steps)))
        return tuple(paths)

    @property
    def _relabels(self) -> bool:
        """Whether rows get other labels than the likeliest by the models."""
        return self.label_costs is not None or self.stakes is not None

    def relabelled(self, rows: FloatArray, stage: int) -> tuple[IntArray, FloatArray] | None:
        """Label that each row gets at a stage, and its probability.

        It is the label of least expected cost, or the likeliest of plain rows. None if it is the
        likeliest by the models, with their probability.
        """
        if not self._relabels:
            return None
        if self.label_costs is None:
            return self.likeliest(rows, stage)
        probabilities = self.probabilities(rows, stage)
        winner = cheapest_labels(probabilities, self.label_costs)
        return winner, probabilities[np.arange(len(rows)), winner]

    def judge(self, rows: FloatArray, first: int, end: int) -> Judgement:
        """Send encoded rows through the stages from `first` up to, but not including, `end`.

        Returns the stage at which each row leaves, from 0, or the number of stages if it does not
        leave; and the most likely class and its probability at the last stage that judged the
        row. A row never leaves at a stage that it skips.
        """
        if self.encoding.gaps == "refuse":
            return self.models.judge(rows, first, end, self.thresholds)
        skips, rows = self._skips(rows), self.models.filled(rows)
        if skips is None:
            return self.models.judge(rows, first, end, self.thresholds)
        # Complete rows go through all stages in one call, the others stage by stage.
        whole = ~skips.any(axis=1)
        stage, winner = np.zeros((2, len(rows)), dtype=np.int64)
        confidence = np.empty(len(rows))
        stage[whole], winner[whole], confidence[whole] = self.models.judge(
            rows[whole], first, end, self.thresholds
        )
        left = np.flatnonzero(~whole)
        stage[left] = len(self)
        for j in range(first, end):
            sure, winner[left], confidence[left] = self.models.judge(
                rows[left], j, j + 1, self.thresholds
            )
            # A stage that a row skips judges it, too, but must not let it go.
            leaving = (sure == j) & ~skips[left, j]
            stage[left[leaving]] = j
            left = left[~leaving]
        return stage, winner, confidence

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities of encoded rows at one stage, shape (n_rows, n_classes).

        They are those of plain rows, also if the models were fitted on weighted ones.
        """
        probabilities = self.models.probabilities(self.models.filled(rows), stage)
        if self.stakes is None:
            return probabilities
        plain = probabilities / self.stakes
        shares: FloatArray = plain / plain.sum(axis=1, keepdims=True)
        return shares

    def likeliest(self, rows: FloatArray, stage: int) -> tuple[IntArray, FloatArray]:
        """Most likely class of encoded rows at one stage and its probability, of plain rows."""
        probabilities = self.probabilities(rows, stage)
        winner: IntArray = probabilities.argmax(axis=1)
        return winner, probabilities[np.arange(len(rows)), winner]

    def opinions(self, rows: FloatArray) -> tuple[FloatArray, IntArray, BoolArray]:
        """What every stage of its path says of every row, as if no stage before were sure.

        Returns the confidence, the most likely class, and whether the stage is on the path of the
        row, all of shape (n_stages, n_rows). The confidence is 0 at a stage that the row skips, and
        off its path. Both are those of plain rows, as `probabilities` are.
        """
        skips = self._skips(rows) if self.encoding.gaps == "skip" else None
        filled = rows if self.encoding.gaps == "refuse" else self.models.filled(rows)
        confidence = np.empty((len(self), len(rows)))
        winner = np.empty((len(self), len(rows)), dtype=np.int64)
        on_path = np.empty((len(self), len(rows)), dtype=np.bool_)
        coming = np.zeros(len(rows), dtype=np.int64)  # the next stage of each row
        for j in range(len(self)):
            _, winner[j], confidence[j] = self.models.judge(filled, j, j + 1, self.thresholds)
            on_path[j] = coming == j
            here = np.flatnonzero(on_path[j])
            coming[here] = self.go_on(j, rows[here], winner[j, here], confidence[j, here])
            if self.stakes is not None:
                winner[j], confidence[j] = self.likeliest(rows, j)
        # A confidence of 0 reaches no threshold above 0: such a stage accepts nobody.
        confidence[~on_path] = 0.0
        if skips is not None:
            confidence[skips.T] = 0.0
        return confidence, winner, on_path

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[bool, int, float]:
        """Whether one row leaves at a stage; its most likely class there and the probability."""
        winner, confidence = self.models.judge_one(row, stage)
        sure = confidence >= self._thresholds[stage][winner]
        if sure and self.encoding.gaps == "skip":
            sure = all(row[i] == row[i] for i in self.inputs[stage])  # False for NaN
        return sure, winner, confidence

    def why_rejected(self, rows: FloatArray, last: int) -> AnyArray:
        """Why no stage has labelled encoded rows whose path ends after stage `last`, in words."""
        why = "never sure" if any(self.buys) else "nothing is bought: everyone is rejected"
        reasons = np.full(len(rows), why, dtype=object)
        skips = self._skips(rows)
        if skips is not None:
            path = [last]
            while path[-1] > 0:
                path.append(self.stage_before(path[-1]))
            skipped = skips[:, path]
            reasons[skipped.any(axis=1)] = "never sure; values are missing at other stages"
            reasons[skipped.all(axis=1)] = "values are missing at every stage"
        return reasons

    @cached_property
    def why_labelled(self) -> AnyArray:
        """Why a row leaves at each stage with each class as its label, in words."""
        reasons = np.empty(self.thresholds.shape, dtype=object)
        for j, thresholds in enumerate(self._thresholds):
            last = "last stage" if j + 1 == len(self) and not self.branches else f"stage {j + 1}"
            for k, label in enumerate(self.labels):
                if not any(self.buys):  # a part of a branch may buy nothing, and knows something
                    why = "the commonest class" if self.label_costs is None else "what costs least"
                    reasons[j, k] = f"nothing is bought: {label!r} is {why}"
                elif self.label_costs is not None:
                    reasons[j, k] = f"leaves at stage {j + 1}, where {label!r} costs least"
                elif thresholds[k] > 0:
                    reasons[j, k] = f"sure at stage {j + 1}"
                elif any(thresholds):
                    reasons[j, k] = f"stage {j + 1} gives {label!r} at any confidence"
                else:
                    reasons[j, k] = f"{last} answers all"
        return reasons

    def _skips(self, rows: FloatArray) -> BoolArray | None:
        """Mark the stages that each row skips for lack of a value; None if no row skips any."""
        if self.encoding.gaps != "skip":
            return None
        missing = np.isnan(rows)
        if not missing.any():
            return None
        return np.column_stack([missing[:, list(used)].any(axis=1) for used in self.inputs])

    @cached_property
    def _thresholds(self) -> list[list[float]]:
        # For a single row, plain lists are faster than arrays.
        thresholds: list[list[float]] = self.thresholds.tolist()
        return thresholds

    @property
    def _questions(self) -> list[str]:
        """What is asked at each branch, and where rows go."""
        readers = self.branches.items()
        return [
            f"{j} {one.branch.questions} {one.branch.usual} {one.branch.starts}"
            for j, one in readers
        ]

    @cached_property
    def identity(self) -> str:
        """Digest of everything that decisions depend on."""
        # Ranges only serve warnings; decisions do not depend on them.
        read = self.encoding.without_ranges().to_dict()
        words = [*(f"{label!r}" for label in self.labels), f"{read}"]
        return fingerprint(
            np.array([*words, f"{self.buys}", *self._questions]),
            np.array(self.costs),
            self.thresholds,
            *self.models.arrays,
            *(() if self.label_costs is None else (self.label_costs,)),
            *(() if self.stakes is None else (self.stakes,)),
        )


def cheapest_labels(probabilities: FloatArray, costs: FloatArray) -> IntArray:
    """Return the label of least expected cost of each row; of equals the likeliest.

    Sums are taken class by class, so that a row never depends on its neighbours.
    """
    expected = np.zeros_like(probabilities)
    for k, line in enumerate(costs):
        expected += probabilities[:, k, None] * line
    lowest = expected == expected.min(axis=1, keepdims=True)
    # The other labels are set below any probability, so that the likeliest of these wins.
    cheapest: IntArray = np.where(lowest, probabilities, -1.0).argmax(axis=1)
    return cheapest


@dataclass(frozen=True, slots=True, eq=False)
class FrontModels:
    """Fitted models of every design of a front.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    encoding : Encoding
    of_points : sequence of StageModels
        Models of each point, in the order of the front; those of a file are put together when one
        is asked for.
    everything : StageModels or None
        The model of the single stage that buys all features, for comparison.
    """

    classes: AnyArray
    encoding: Encoding
    of_points: Sequence[StageModels]
    everything: StageModels | None = None

    def __post_init__(self) -> None:
        """Copy and lock the classes."""
        object.__setattr__(self, "classes", locked_copy(self.classes))
