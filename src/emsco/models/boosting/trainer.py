"""Trains boosted trees on binned rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco._kernels.boosting import BLANK, Growth, Rows, Scratch, Trees, boost
from emsco._kernels.trees import trace_trees
from emsco.models.boosting.trees import MOST_CUTS, Bins, TreeEnsemble
from emsco.models.rows import FilledRows
from emsco.models.stage_models import n_outputs_of

_SHARED_WORK = 15_000_000  # rows, copies, rounds and outputs multiplied: some seconds
_OWN_WORK = 4_000_000  # about a second
_COPIED = 48_000  # rows in all copies together
_MANY = 2000  # rows that bear larger trees
_ROUNDS = 60  # or more: with fewer, a lower rate is as quick and a little better
_NEVER = -700.0  # logit of a class without training rows
_PATIENCE = 25  # rounds without a lower loss
_PARTS = 5
_ENOUGH = 400  # rows held out to choose by; parts are held out in turn until there are so many
_FEW = 500  # rows; fewer choose once for all subsets
_HELD = 16_000  # rows held out, in all their copies
_TOLERATED = 1.0  # log loss in all rows held out: few rows tell rounds apart poorly


@dataclass(frozen=True, slots=True)
class BoostingSize:
    """How large a boosted model is, and how fast it learns.

    Attributes
    ----------
    copies : int
        Copies of the training rows, each with other features blanked out; 1 for a model that
        always has its features.
    rounds : int
        Rounds of boosting, each with a tree per class if there are three or more.
    leaves : int
        Most leaves of a tree.
    learning_rate : float
    fewest : int
        Rows that a leaf has at least, copies counted.
    l2 : float
        Penalty of leaf values.
    bins : int
        Most values of an input that are told apart.

    Examples
    --------
    >>> BoostingSize.for_shared(5000, 20, 2).stopped(30)
    BoostingSize(copies=9, rounds=60, leaves=31, learning_rate=0.1, fewest=45, l2=30.0, bins=255)
    """

    copies: int
    rounds: int
    leaves: int
    learning_rate: float
    fewest: int
    l2: float
    bins: int = 255

    @classmethod
    def for_shared(cls, n_rows: int, n_features: int, n_classes: int) -> BoostingSize:
        """Return the largest model that may answer for every subset of the features.

        Few rows have more copies. Many have fewer rounds, so that training takes seconds.
        """
        max_copies = np.clip(2 * n_features, 8, 32)  # few features have few subsets to tell apart
        copies = int(np.clip(_COPIED // max(n_rows, 1), 2, max_copies))
        rounds = _rounds(_SHARED_WORK, n_rows * copies, n_classes, 400)
        return cls(copies, rounds, 31 if n_rows >= _MANY else 16, 0.2, 5 * copies, 30.0)

    @classmethod
    def for_own(cls, n_rows: int, n_classes: int) -> BoostingSize:
        """Return the largest model that may answer for all features alone."""
        rounds = _rounds(_OWN_WORK, n_rows, n_classes, 250)
        return cls(1, rounds, 16 if n_rows >= _MANY else 4, 0.2, 10, 20.0)

    def for_share(self, share: float) -> BoostingSize:
        """Return the size for a share of the features; fewer of them need fewer rounds."""
        return self.stopped(max(1, round(self.rounds * float(np.sqrt(share)))))

    def stopped(self, rounds: int) -> BoostingSize:
        """Return the size with this many rounds, or with more of them and a lower rate."""
        slower = self.learning_rate * min(1.0, rounds / _ROUNDS)
        return replace(self, rounds=max(rounds, _ROUNDS), learning_rate=slower)


def _rounds(work: int, n_rows: int, n_classes: int, max_rounds: int) -> int:
    n_outputs = n_outputs_of(n_classes)
    return int(np.clip(work // max(n_rows * n_outputs, 1), _ROUNDS, max_rounds))


@dataclass(frozen=True, slots=True, eq=False)
class BinnedRows:
    """Rows as bins of their inputs, with their classes and weights.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n_inputs, n_rows)
        `BLANK` marks an input that is not bought.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    weights : ndarray of shape (n_rows,)
    """

    codes: LabelArray
    labels: IntArray
    weights: FloatArray

    def take(self, rows: BoolArray) -> BinnedRows:
        """Return some of the rows."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        return BinnedRows(codes, self.labels[rows], self.weights[rows])

    def some(self, inputs: IntArray) -> BinnedRows:
        """Return the rows with some of the inputs."""
        return BinnedRows(np.ascontiguousarray(self.codes[inputs]), self.labels, self.weights)

    def blanked(self, blank: BoolArray) -> BinnedRows:
        """Return copies of the rows, (n_copies, n_inputs, n_rows), with inputs blanked out."""
        copies = len(blank)
        codes = np.where(blank, np.uint8(BLANK), self.codes).transpose(1, 0, 2)
        whole = np.ascontiguousarray(codes.reshape(len(self.codes), -1))
        return BinnedRows(whole, np.tile(self.labels, copies), np.tile(self.weights, copies))


def train_trees(
    rows: BinnedRows, bins: Bins, n_classes: int, fill: FloatArray, size: BoostingSize
) -> TreeEnsemble:
    """Train an ensemble on binned rows; classes without rows get probability 0.

    `fill` has the value that replaces a missing one of a bought input.
    """
    baseline = _baseline(rows, n_classes)
    if len(np.unique(rows.labels)) == 1:
        size = replace(size, rounds=0)  # the baseline says it all
    trees, rounds, _ = _boosted(rows, None, bins, baseline, size, 0)
    # Trees come round after round; an ensemble has them output after output.
    n_outputs = len(baseline)
    order = np.arange(rounds * n_outputs).reshape(rounds, n_outputs).T.ravel()
    # An ensemble has its nodes in pre-order.
    sizes = trees.pop("n_nodes")[order]
    there = np.arange(trees["inputs"].shape[1]) < sizes[:, None]
    inputs, cuts, blank_left, left, values = (one[order][there] for one in trees.values())
    starts, is_leaf = np.concatenate([[0], np.cumsum(sizes)]), inputs < 0
    children = left.astype(np.int64)
    placed, n_below = np.empty((2, len(inputs)), dtype=np.int64)
    trace_trees(starts, children, children + 1, is_leaf, placed, n_below)
    splits = np.flatnonzero(~is_leaf[placed])
    nodes = placed[splits]
    inputs, cuts = inputs[nodes].astype(np.int64), cuts[nodes].astype(np.int64)
    # It has used cuts only. Beyond all values, known ones go left and blank ones right.
    known = cuts < bins.counts[inputs] - 1
    used = [np.unique(cuts[known & (inputs == i)]) for i in range(len(bins))]
    n_cuts = np.array([len(of_input) for of_input in used], dtype=np.int64)
    cut_of = n_cuts[inputs]
    for i, of_input in enumerate(used):
        here = known & (inputs == i)
        cut_of[here] = np.searchsorted(of_input, cuts[here])
    return TreeEnsemble(
        n_classes=n_classes,
        baseline=baseline,
        fill=fill,
        n_cuts=n_cuts,
        cuts=np.concatenate([bins.cuts[i][of_input] for i, of_input in enumerate(used)]),
        trees_of=np.full(n_outputs, rounds),
        n_leaves=n_below[starts[:-1]].astype(np.uint8),
        leaves=values[placed[is_leaf[placed]]].astype(np.float32),
        inputs=inputs.astype(np.int16),
        cut_of=cut_of.astype(np.uint8),
        blank_left=blank_left[nodes].astype(np.bool_),
        n_left=n_below[splits + 1].astype(np.uint8),
    )


def loss_by_round(
    rows: BinnedRows, held: BinnedRows, bins: Bins, n_classes: int, size: BoostingSize
) -> FloatArray:
    """Log loss on other rows after each round, until it has stopped falling for some rounds.

    The result is empty if training rows have a single class.
    """
    classes = np.unique(rows.labels)
    known = np.isin(held.labels, classes)
    if len(classes) == 1 or not known.any():
        return np.zeros(0)
    judging = held.take(known)
    _, rounds, losses = _boosted(rows, judging, bins, _baseline(rows, n_classes), size, _PATIENCE)
    return losses[:rounds]


def _baseline(rows: BinnedRows, n_classes: int) -> FloatArray:
    """Logits before the first tree: the log of the shares of the classes."""
    counts = np.bincount(rows.labels, rows.weights, n_classes)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(counts / counts.sum()), _NEVER)
    logits: FloatArray = logs - logs.max()
    if n_classes == 2:
        logits = np.clip(logs[1:] - logs[:1], _NEVER, -_NEVER)
    return logits


def _boosted(
    rows: BinnedRows,
    held: BinnedRows | None,
    bins: Bins,
    baseline: FloatArray,
    size: BoostingSize,
    patience: int,
) -> tuple[dict[str, AnyArray], int, FloatArray]:
    """Run the kernel; return the arrays of trees, the number of rounds, losses of held rows."""
    n_inputs, n_rows, n_outputs = *rows.codes.shape, len(baseline)
    if held is None:
        nothing = np.zeros((n_inputs, 0), dtype=np.uint8)
        held = BinnedRows(nothing, np.zeros(0, dtype=np.int64), np.zeros(0))
    max_nodes, n_trees = 2 * size.leaves - 1, size.rounds * n_outputs
    trees = {
        "inputs": np.full((n_trees, max_nodes), -1, dtype=np.int16),
        "bins": np.zeros((n_trees, max_nodes), dtype=np.int16),
        "blank_left": np.zeros((n_trees, max_nodes), dtype=np.bool_),
        "left": np.zeros((n_trees, max_nodes), dtype=np.int16),
        "values": np.zeros((n_trees, max_nodes)),
        "n_nodes": np.zeros(n_trees, dtype=np.int64),
    }
    scratch = Scratch(
        slopes=np.empty((2, n_rows)),
        ordered=np.empty((n_rows, 2)),
        rows=np.empty(n_rows, dtype=np.uint32),
        spare=np.empty(n_rows, dtype=np.uint32),
        sums=np.empty((size.leaves, n_inputs, 256, 2)),
        counts=np.empty((size.leaves, n_inputs, 256), dtype=np.int32),
        ends=np.zeros((max_nodes, 3), dtype=np.int64),
        best=np.zeros((max_nodes, 4)),
        totals=np.zeros((max_nodes, 3)),
    )
    growth = Growth(size.leaves, size.learning_rate, size.fewest, size.l2, patience)
    losses = np.zeros(size.rounds)
    rounds = boost(
        _started(rows, baseline),
        _started(held, baseline),
        bins.counts,
        growth,
        Trees(**trees),
        losses,
        scratch,
    )
    return trees, rounds, losses


def _started(rows: BinnedRows, baseline: FloatArray) -> Rows:
    """Rows with their logits before the first tree."""
    logits = np.repeat(baseline[:, None], len(rows.labels), axis=1)
    return Rows(rows.codes, rows.labels, rows.weights, logits)


@dataclass(frozen=True, eq=False)
class BoostingJob:
    """Everything that training needs.

    Attributes
    ----------
    rows : FilledRows
    input_feature : ndarray of shape (n_inputs,)
        Feature of each input; inputs of one feature are blanked out together.
    """

    rows: FilledRows
    input_feature: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows to fit on."""
        return len(self.rows.X)

    def shared(self, size: BoostingSize) -> TreeEnsemble:
        """Train the model that answers for every subset of the features."""
        rng = np.random.default_rng(self.rows.seed)
        rows = blanked(self.binned, self.input_feature, size.copies, rng)
        return train_trees(rows, self.bins, self.rows.n_classes, self.rows.fill, size)

    @cached_property
    def bins(self) -> Bins:
        """Bins of the inputs, by the rows to fit on."""
        return Bins.learn(self.rows.X, MOST_CUTS + 1)

    @cached_property
    def binned(self) -> BinnedRows:
        """The rows to fit on, as bins."""
        rows = self.rows
        weights = np.ones(len(rows.X)) if rows.weights is None else rows.weights.astype(np.float64)
        return BinnedRows(self.bins.code(rows.X), rows.labels, weights)

    def for_subset(self, subset: BoolArray, size: BoostingSize) -> TreeEnsemble:
        """Train a model for one subset alone."""
        inputs = np.flatnonzero(subset)
        rows, bins, fill = self.binned.some(inputs), self.bins.some(inputs), self.rows.fill[inputs]
        narrow = train_trees(rows, bins, self.rows.n_classes, fill, size)
        return narrow.widened(inputs, self.rows.fill).restricted(subset)


class SizeChoice:
    """The sizes of boosted models, chosen when first asked for.

    Rounds are those with the least log loss on training rows held out: of shared models with
    features blanked out, of others with the features that they have. Few rows choose once, with
    all features, and a rule says how many rounds fewer features need.

    Parameters
    ----------
    job : BoostingJob
        The rows to choose by.
    """

    def __init__(self, job: BoostingJob) -> None:
        self._job = job
        self._of_subsets: dict[bytes, BoostingSize] = {}

    @cached_property
    def shared(self) -> BoostingSize:
        """Size of the model that answers for every subset."""
        job = self._job
        n_features = len(np.unique(job.input_feature))
        size = BoostingSize.for_shared(job.n_rows, n_features, job.rows.n_classes)
        losses = []
        for rows, held in self.parts:
            rng = np.random.default_rng(job.rows.seed)
            given = blanked(rows, job.input_feature, size.copies, rng)
            copies = int(np.clip(_HELD // len(held.labels), 2, 64))
            asked = blanked(held, job.input_feature, copies, rng)
            losses.append(loss_by_round(given, asked, job.bins, job.rows.n_classes, size))
        return _stopped(size, losses)

    def for_subset(self, subset: BoolArray) -> BoostingSize:
        """Size of a model that answers for one subset of the inputs alone."""
        job = self._job
        if job.n_rows < _FEW and not subset.all():
            features = job.input_feature
            share = len(np.unique(features[subset])) / len(np.unique(features))
            return self.for_subset(np.ones_like(subset)).for_share(share)
        if (key := subset.tobytes()) not in self._of_subsets:
            inputs, n_classes = np.flatnonzero(subset), job.rows.n_classes
            size, bins = BoostingSize.for_own(job.n_rows, n_classes), job.bins.some(inputs)
            losses = [
                loss_by_round(rows.some(inputs), held.some(inputs), bins, n_classes, size)
                for rows, held in self.parts
            ]
            n_held = job.n_rows * max(len(losses), 1) / _PARTS
            self._of_subsets[key] = _stopped(size, losses, _TOLERATED / n_held)
        return self._of_subsets[key]

    @cached_property
    def parts(self) -> list[tuple[BinnedRows, BinnedRows]]:
        """Rows to train on and rows held out, class by class."""
        rows, rng = self._job.binned, np.random.default_rng(self._job.rows.seed)
        part = np.empty(len(rows.labels), dtype=np.int64)
        for k in np.unique(rows.labels):
            here = np.flatnonzero(rows.labels == k)
            part[rng.permutation(here)] = (np.arange(len(here)) + k) % _PARTS
        n_parts = min(_PARTS, math.ceil(_PARTS * _ENOUGH / max(len(rows.labels), 1)))
        return [
            (rows.take(part != i), rows.take(part == i))
            for i in range(n_parts)
            if (part == i).any() and (part != i).any()
        ]


def _stopped(size: BoostingSize, losses: list[FloatArray], tolerated: float = 0.0) -> BoostingSize:
    """Stop where the mean loss is least, or first within `tolerated` of that.

    A curve that ends early goes on as it ended. The model will have more rows than these had, and
    bears more rounds.
    """
    losses = [one for one in losses if len(one)]
    if not losses:
        return size
    longest = max(map(len, losses))
    mean = np.mean([np.pad(one, (0, longest - len(one)), "edge") for one in losses], axis=0)
    rounds = 1 + int(np.argmax(mean <= mean.min() + tolerated))
    return size.stopped(min(round(rounds * _PARTS / (_PARTS - 1)), size.rounds))


def blanked(
    rows: BinnedRows, input_feature: IntArray, copies: int, rng: np.random.Generator
) -> BinnedRows:
    """Return copies of rows in which features are blanked out.

    A share is drawn for each row, uniform over (0, 1) and evenly spread over its copies; each
    feature is kept with this probability. The first row is kept whole, so that every input has a
    value.
    """
    n_rows, n_features = len(rows.labels), int(input_feature.max()) + 1
    blank = np.empty((copies, len(input_feature), n_rows), dtype=np.bool_)
    for copy in range(copies):
        share = (copy + rng.random((n_rows, 1))) / copies
        drawn = rng.random((n_rows, n_features)) >= share
        if copy == 0:
            drawn[0] = False
        blank[copy] = drawn[:, input_feature].T
    return rows.blanked(blank)
