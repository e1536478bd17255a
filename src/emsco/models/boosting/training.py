"""Trains boosted trees on binned rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco._kernels.boosting import BLANK, Growth, Rows, Scratch, Trees, boost
from emsco._kernels.trees import trace_trees
from emsco.models.boosting.bins import Bins
from emsco.models.boosting.size import BoostingSize
from emsco.models.boosting.trees import TreeEnsemble

__all__ = ["BinnedRows", "loss_by_round", "train_trees"]

_NEVER = -700.0  # logit of a class without training rows
_PATIENCE = 25  # rounds without a lower loss


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

    @classmethod
    def from_rows(
        cls, bins: Bins, rows: FloatArray, labels: IntArray, weights: FloatArray | None
    ) -> Self:
        """Code rows; None gives every row weight 1."""
        own = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
        return cls(bins.code(rows), labels.astype(np.int64), own)

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
        return _ensemble(n_classes, baseline, fill, np.zeros(len(baseline)), {})
    trees, rounds, _ = _boosted(rows, None, bins, baseline, size, 0)
    # Trees come round after round; an ensemble has them output after output.
    n_outputs = len(baseline)
    order = np.arange(rounds * n_outputs).reshape(rounds, n_outputs).T.ravel()
    trees_of = np.full(n_outputs, rounds)
    return _ensemble(n_classes, baseline, fill, trees_of, _arrays(trees, order, bins))


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
    own = held.take(known)
    _, rounds, losses = _boosted(rows, own, bins, _baseline(rows, n_classes), size, _PATIENCE)
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
) -> tuple[Trees, int, FloatArray]:
    """Run the kernel; return the trees, the number of rounds and the losses of held rows."""
    n_inputs, n_rows, n_outputs = *rows.codes.shape, len(baseline)
    if held is None:
        nothing = np.zeros((n_inputs, 0), dtype=np.uint8)
        held = BinnedRows(nothing, np.zeros(0, dtype=np.int64), np.zeros(0))
    most, n_trees = 2 * size.leaves - 1, size.rounds * n_outputs
    trees = Trees(
        inputs=np.full((n_trees, most), -1, dtype=np.int16),
        bins=np.zeros((n_trees, most), dtype=np.int16),
        blank_left=np.zeros((n_trees, most), dtype=np.bool_),
        left=np.zeros((n_trees, most), dtype=np.int16),
        values=np.zeros((n_trees, most)),
        n_nodes=np.zeros(n_trees, dtype=np.int64),
    )
    scratch = Scratch(
        slopes=np.empty((2, n_rows)),
        ordered=np.empty((n_rows, 2)),
        rows=np.empty(n_rows, dtype=np.uint32),
        spare=np.empty(n_rows, dtype=np.uint32),
        sums=np.empty((size.leaves, n_inputs, 256, 2)),
        counts=np.empty((size.leaves, n_inputs, 256), dtype=np.int32),
        ends=np.zeros((most, 3), dtype=np.int64),
        best=np.zeros((most, 4)),
        totals=np.zeros((most, 3)),
    )
    growth = Growth(size.leaves, size.learning_rate, size.fewest, size.l2, patience)
    losses = np.zeros(size.rounds)
    own, other = (Rows(p.codes, p.labels, p.weights, _start(baseline, p)) for p in (rows, held))
    rounds = boost(own, other, bins.counts, growth, trees, losses, scratch)
    return trees, rounds, losses


def _start(baseline: FloatArray, rows: BinnedRows) -> FloatArray:
    return np.repeat(baseline[:, None], len(rows.labels), axis=1)


def _ensemble(
    n_classes: int,
    baseline: FloatArray,
    fill: FloatArray,
    trees_of: AnyArray,
    arrays: dict[str, AnyArray],
) -> TreeEnsemble:
    none: AnyArray = np.zeros(0)
    empty = dict.fromkeys(("cuts", "n_leaves", "leaves"), none)
    empty |= dict.fromkeys(("inputs", "cut_of", "blank_left", "n_left"), none)
    empty |= {"n_cuts": np.zeros(len(fill))}
    return TreeEnsemble(
        n_classes=n_classes, baseline=baseline, fill=fill, trees_of=trees_of, **empty | arrays
    )


def _arrays(trees: Trees, order: IntArray, bins: Bins) -> dict[str, AnyArray]:
    """Arrays of an ensemble: the trees in this order, nodes in pre-order, used cuts only."""
    sizes = trees.n_nodes[order]
    there = np.arange(trees.inputs.shape[1]) < sizes[:, None]
    inputs, cuts, blank_left, left, values = (one[order][there] for one in trees[:5])
    starts, is_leaf = np.concatenate([[0], np.cumsum(sizes)]), inputs < 0
    children = left.astype(np.int64)
    placed, n_below = np.empty((2, len(inputs)), dtype=np.int64)
    trace_trees(starts, children, children + 1, is_leaf, placed, n_below)
    splits = np.flatnonzero(~is_leaf[placed])
    nodes = placed[splits]
    inputs, cuts = inputs[nodes].astype(np.int64), cuts[nodes].astype(np.int64)
    known = (
        cuts < bins.counts[inputs] - 1
    )  # beyond all values: known ones go left, blank ones right
    used = [np.unique(cuts[known & (inputs == i)]) for i in range(len(bins))]
    n_cuts = np.array([len(own) for own in used], dtype=np.int64)
    cut_of = n_cuts[inputs]
    for i, own in enumerate(used):
        here = known & (inputs == i)
        cut_of[here] = np.searchsorted(own, cuts[here])
    return {
        "n_cuts": n_cuts,
        "cuts": np.concatenate([bins.cuts[i][own] for i, own in enumerate(used)]),
        "n_leaves": n_below[starts[:-1]],
        "leaves": values[placed[is_leaf[placed]]],
        "inputs": inputs,
        "cut_of": cut_of,
        "blank_left": blank_left[nodes],
        "n_left": n_below[splits + 1],
    }
