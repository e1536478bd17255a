"""Boosted trees as plain arrays, which answer for any subset of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.documents import Fields, pack_array, unpack_array
from emsco._base.typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    SingleArray,
    StageArray,
)
from emsco._kernels.trees import (
    BLOCK,
    MOST_LEAVES,
    add_trees,
    code_rows,
    collapse,
    likeliest_of,
    shares_of,
)
from emsco.models.stage_models import n_outputs_of

MOST_CUTS = 254  # of an input, so that a code fits into a byte
_SAMPLE = 200_000  # rows whose quantiles are taken
_MOST_IN_ALL = 2**22  # of all trees in a file
_FREE_BYTES, _MOST_TIMES = 2**12, 8  # of unpacked arrays, and times the text that packs them
_FEWEST_AT_ONCE = 32  # subsets
MOST_AT_ONCE = 512  # subsets: the more, the more often they share leaves of a tree
_LOGITS_AT_ONCE = 2**21
_LARGEST = 1e100  # number in a file
_TYPES: dict[str, type] = {
    "n_leaves": np.uint8,
    "leaves": np.float32,
    "inputs": np.int16,
    "cut_of": np.uint8,
    "blank_left": np.bool_,
    "n_left": np.uint8,
}


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Cuts between the values of each input; bin b holds the values above cut b - 1, up to cut b.

    Attributes
    ----------
    cuts : tuple of ndarray
        Cuts of each input, in ascending order.
    """

    cuts: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, rows: FloatArray, max_bins: int) -> Self:
        """Cut between all distinct values of an input, or at quantiles if there are many.

        Examples
        --------
        >>> Bins.learn(np.array([[1.0], [3.0], [3.0]]), 255).cuts[0].tolist()
        [2.0]
        """
        step = -(-len(rows) // _SAMPLE)
        cuts = []
        for column in rows[::step].T:
            values = np.unique(column)
            if len(values) > max_bins:
                shares = np.linspace(0, 1, max_bins + 1)[1:-1]
                cuts.append(np.unique(np.quantile(column, shares, method="midpoint")))
            else:
                # The middle of two neighbours may be rounded to the upper one, which must stay
                # above it.
                middle = values[:-1] + (values[1:] - values[:-1]) / 2
                cuts.append(np.where(middle < values[1:], middle, values[:-1]))
        return cls(tuple(cuts))

    def __len__(self) -> int:
        """Number of inputs."""
        return len(self.cuts)

    @property
    def counts(self) -> IntArray:
        """Number of bins of each input."""
        return np.array([len(cuts) + 1 for cuts in self.cuts], dtype=np.int64)

    def some(self, inputs: IntArray) -> Bins:
        """Return the bins of some inputs."""
        return Bins(tuple(self.cuts[i] for i in inputs))

    def code(self, rows: FloatArray) -> LabelArray:
        """Return the bin of each value, (n_inputs, n_rows)."""
        codes = np.empty((len(self), len(rows)), dtype=np.uint8)
        for i, cuts in enumerate(self.cuts):
            codes[i] = np.searchsorted(cuts, rows[:, i])
        return codes


def leaves_below(n_leaves: LabelArray, n_left: LabelArray) -> tuple[IntArray, IntArray] | None:
    """Find the first leaf under each node, and the end; None if the counts make no trees.

    Nodes are in pre-order, tree after tree; a node has the leaves `first` to `first + n_left - 1`
    on its left. It takes a step per depth, and no kernel, which a file would wait for to be read.
    """
    first, end = np.zeros((2, len(n_left)), dtype=np.int64)
    n_nodes = n_leaves.astype(np.int64) - 1
    roots = np.flatnonzero(n_nodes > 0)
    nodes = (np.cumsum(n_nodes) - n_nodes)[roots]
    low, high = np.zeros(len(roots), dtype=np.int64), n_nodes[roots] + 1
    while len(nodes):
        middle = low + n_left[nodes]
        if not ((low < middle) & (middle < high)).all():
            return None
        first[nodes], end[nodes] = low, high
        has_left, has_right = middle - low > 1, high - middle > 1
        # The left child comes next, and the right one after all nodes on the left.
        children = nodes[has_left] + 1, (nodes + middle - low)[has_right]
        nodes = np.concatenate(children)
        low, high = (
            np.concatenate([low[has_left], middle[has_right]]),
            np.concatenate([middle[has_left], high[has_right]]),
        )
    return first, end


class _Masks(NamedTuple):
    """What kernels need besides the arrays of an ensemble."""

    starts: IntArray  # first leaf of each tree, and the end
    cut_starts: IntArray  # first cut of each input, and the end
    left: AnyArray  # leaves on the left of each node, as bits
    right: AnyArray
    known_left: BoolArray  # no value is above the cut


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Boosted trees whose values add up to logits.

    A row goes left at a node if its value is at most the cut. If the input is not bought, all rows
    go the same way. A missing value of a bought input is replaced by `fill`.

    Attributes
    ----------
    n_classes : int
    baseline : ndarray of shape (n_outputs,)
        Logits before the first tree. Two classes have one output, the logit of the second class;
        more have one each.
    fill : ndarray of shape (n_inputs,)
    n_cuts : ndarray of shape (n_inputs,)
        How many cuts each input has.
    cuts : ndarray of float64
        Cuts of all inputs, input after input, in ascending order.
    trees_of : ndarray of shape (n_outputs,)
        How many trees each output has; they come output after output.
    n_leaves : ndarray of uint8, shape (n_trees,)
    leaves : ndarray of float32
        Values of all leaves, tree after tree, from left to right.
    inputs, cut_of, blank_left, n_left : ndarray of shape (n_nodes,)
        All nodes with two sides, tree after tree, in pre-order: the input; the number of its cut,
        or `n_cuts` if every value goes left; whether rows go left if the input is not bought; and
        how many leaves are on the left.
    """

    family: ClassVar[str] = "boosting"
    untrusted_types: ClassVar[tuple[str, ...]] = ()

    n_classes: int
    baseline: FloatArray
    fill: FloatArray
    n_cuts: IntArray
    cuts: FloatArray
    trees_of: IntArray
    n_leaves: LabelArray
    leaves: SingleArray
    inputs: StageArray
    cut_of: LabelArray
    blank_left: BoolArray
    n_left: LabelArray

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        floats = dict.fromkeys(("baseline", "fill", "cuts"), np.float64)
        counts = dict.fromkeys(("n_cuts", "trees_of"), np.int64)
        kinds: dict[str, type] = {**floats, **counts, **_TYPES}
        for name, kind in kinds.items():
            object.__setattr__(self, name, locked_copy(getattr(self, name), kind))

    @property
    def n_inputs(self) -> int:
        """Number of inputs of a row, whether trees read them or not."""
        return len(self.fill)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.n_leaves)

    @cached_property
    def reads(self) -> BoolArray:
        """Inputs that some tree reads, shape (n_inputs,)."""
        are_read = np.zeros(self.n_inputs, dtype=np.bool_)
        are_read[self.inputs] = True
        return are_read

    def reads_only(self, inputs: IntArray) -> bool:
        """Whether it reads none but these inputs; trees need not split on every one."""
        others = self.reads.copy()
        others[inputs] = False
        return not others.any()

    def code(self, rows: FloatArray) -> LabelArray:
        """Count the cuts below each value of rows: the code of trees, shape (n_inputs, n_rows)."""
        codes = np.zeros((self.n_inputs, len(rows)), dtype=np.uint8)
        owned = np.ascontiguousarray(rows, dtype=np.float64)
        code_rows(owned, self.reads, self.cuts, self._masks.cut_starts, self.fill, codes)
        return codes

    def logits(self, codes: LabelArray, subsets: BoolArray) -> FloatArray:
        """Logits of coded rows for subsets of the inputs, shape (n_subsets, n_outputs, n_rows).

        A row's logits for a subset do not depend on the other rows and subsets.
        """
        masks, n_rows = self._masks, codes.shape[1]
        logits = np.empty((len(subsets), len(self.baseline), n_rows))
        n_read = min(self.n_inputs, MOST_LEAVES)
        scratch = np.empty((n_read + 1, min(BLOCK, max(n_rows, 1))), dtype=masks.left.dtype)
        at_once = self._at_once(n_rows)
        for start in range(0, len(subsets), at_once):
            some = np.ascontiguousarray(subsets[start : start + at_once])
            alive, base = self._collapsed(some)
            order = np.ascontiguousarray(np.argsort(alive, axis=0).T)
            add_trees(
                codes,
                some,
                self.trees_of,
                masks.starts,
                self.inputs,
                self.cut_of,
                masks.left,
                self.leaves,
                alive,
                order,
                base,
                logits[start : start + at_once],
                scratch[1:],
                scratch[0],
            )
        return logits

    def answers(self, codes: LabelArray, subsets: BoolArray) -> tuple[IntArray, FloatArray]:
        """Likeliest class, the first of equals, and its probability: both (n_subsets, n_rows)."""
        winner = np.empty((len(subsets), codes.shape[1]), dtype=np.int64)
        confidence = np.empty(winner.shape)
        at_once = self._at_once(codes.shape[1])
        for start in range(0, len(subsets), at_once):
            part = slice(start, start + at_once)
            likeliest_of(self.logits(codes, subsets[part]), winner[part], confidence[part])
        return winner, confidence

    def _at_once(self, n_rows: int) -> int:
        """How many subsets are answered for together."""
        n_subsets = _LOGITS_AT_ONCE // max(len(self.baseline) * n_rows, 1)
        return min(max(n_subsets, _FEWEST_AT_ONCE), MOST_AT_ONCE)

    def shares(self, codes: LabelArray, subset: BoolArray) -> FloatArray:
        """Class probabilities of coded rows for one subset, shape (n_rows, n_classes)."""
        shares = np.empty((codes.shape[1], self.n_classes))
        shares_of(self.logits(codes, subset[None])[0], shares)
        return shares

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows with all inputs, shape (n_rows, n_classes).

        NaN is a missing value of a bought input.
        """
        return self.shares(self.code(rows), np.ones(self.n_inputs, dtype=np.bool_))

    def restricted(self, subset: BoolArray) -> Self:
        """Keep only what matters to one subset: the same probabilities, to the last bit."""
        masks = self._masks
        alive, base = (one[0] for one in self._collapsed(subset[None]))
        n_nodes = self.n_leaves.astype(np.int64) - 1
        here = np.repeat(alive, n_nodes)
        left, right = masks.left & here, masks.right & here
        nodes = np.flatnonzero((left != 0) & (right != 0))
        position = np.arange(len(self.leaves)) - np.repeat(masks.starts[:-1], self.n_leaves)
        reached = np.repeat(alive, self.n_leaves) >> position.astype(alive.dtype) & 1 == 1
        inputs = self.inputs[nodes]
        cuts, cut_of = np.unique(masks.cut_starts[inputs] + self.cut_of[nodes], return_inverse=True)
        of_cut = np.searchsorted(masks.cut_starts, cuts, side="right") - 1
        n_cuts = np.bincount(of_cut, minlength=self.n_inputs)
        output = np.repeat(np.arange(len(self.trees_of)), self.trees_of)
        return replace(
            self,
            baseline=base,
            n_cuts=n_cuts,
            cuts=self.cuts[cuts],
            trees_of=np.bincount(output[alive != 0], minlength=len(self.trees_of)),
            n_leaves=np.bitwise_count(alive)[alive != 0],
            leaves=self.leaves[reached],
            inputs=inputs,
            cut_of=cut_of.reshape(-1) - (np.cumsum(n_cuts) - n_cuts)[inputs],
            blank_left=self.blank_left[nodes],
            n_left=np.bitwise_count(left)[nodes],
        )

    def widened(self, inputs: IntArray, fill: FloatArray) -> Self:
        """Return the ensemble for rows with more inputs.

        Its own are at the positions `inputs`, in ascending order; `fill` is that of all.
        """
        if (np.diff(inputs) <= 0).any():
            raise AssertionError("cuts come input after input, so the order must stay")
        n_cuts = np.zeros(len(fill), dtype=np.int64)
        n_cuts[inputs] = self.n_cuts
        return replace(self, fill=fill, n_cuts=n_cuts, inputs=inputs[self.inputs].astype(np.int16))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a file; the arrays are packed into text."""
        packed = {name: pack_array(getattr(self, name)) for name in ("cuts", *_TYPES)}
        return {
            "baseline": self.baseline.tolist(),
            "fill": self.fill.tolist(),
            "n_cuts": self.n_cuts.tolist(),
            "trees_of": self.trees_of.tolist(),
            "n_all_leaves": len(self.leaves),
            **packed,
        }

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str] = ()
    ) -> Self:
        """Read an ensemble from a file and check it.

        Raises
        ------
        FileError
            If a value breaks its rule, or the trees do not fit together.
        """
        del trusted  # trees are plain numbers
        n_outputs = n_outputs_of(n_classes)
        trees_of = fields.wholes("trees_of", n_outputs, 0, _MOST_IN_ALL // n_outputs)
        n_cuts = fields.wholes("n_cuts", n_inputs, 0, MOST_CUTS)
        n_trees = sum(trees_of)
        n_leaves = fields.whole("n_all_leaves", n_trees, min(n_trees * MOST_LEAVES, _MOST_IN_ALL))
        sizes = {"n_leaves": n_trees, "leaves": n_leaves}
        # Refuse arrays that claim far more values than trees could pack into their text.
        n_bytes = n_leaves * sum(np.dtype(kind).itemsize for kind in _TYPES.values())
        packed = sum(len(fields.text(name)) for name in ("cuts", *_TYPES))
        if n_bytes + 8 * sum(n_cuts) > (max_bytes := _FREE_BYTES + _MOST_TIMES * packed):
            fields.refuse(
                "n_all_leaves", f"trees that unpack to at most {max_bytes:,} bytes", n_leaves
            )
        arrays = {
            name: unpack_array(fields, name, sizes.get(name, n_leaves - n_trees), kind)
            for name, kind in _TYPES.items()
        }
        ensemble = cls(
            n_classes=n_classes,
            baseline=fields.numbers("baseline", n_outputs, -_LARGEST, _LARGEST),
            fill=fields.numbers("fill", n_inputs, -_LARGEST, _LARGEST),
            n_cuts=np.array(n_cuts, dtype=np.int64),
            cuts=unpack_array(fields, "cuts", sum(n_cuts), np.float64),
            trees_of=np.array(trees_of, dtype=np.int64),
            **arrays,
        )
        ensemble._check(fields)
        return ensemble

    def _check(self, fields: Fields) -> None:
        """Refuse arrays that are no trees, whatever their values."""
        n_leaves = self.n_leaves.astype(np.int64)
        bad = n_leaves[(n_leaves < 1) | (n_leaves > MOST_LEAVES)]
        if len(bad):
            fields.refuse("n_leaves", f"whole numbers from 1 to {MOST_LEAVES}", int(bad[0]))
        if n_leaves.sum() != len(self.leaves):
            fields.refuse("n_leaves", f"{len(self.leaves):,} in total", f"{n_leaves.sum():,}")
        for name in ("cuts", "leaves"):
            values = getattr(self, name)
            if not np.isfinite(values).all():
                fields.refuse(name, "finite numbers", str(values[~np.isfinite(values)][0]))
        of_cut = np.repeat(np.arange(self.n_inputs), self.n_cuts)
        falls = (np.diff(self.cuts) <= 0) & (np.diff(of_cut) == 0)
        if falls.any():
            after = int(np.argmax(falls))
            fields.refuse(
                "cuts",
                "numbers that go up in each input",
                f"{self.cuts[after + 1]} after {self.cuts[after]}",
            )
        strange = self.inputs[(self.inputs < 0) | (self.inputs >= self.n_inputs)]
        if len(strange):
            fields.refuse("inputs", f"whole numbers from 0 to {self.n_inputs - 1}", int(strange[0]))
        beyond = self.cut_of > self.n_cuts[self.inputs]
        if beyond.any():
            number = int(self.cut_of[beyond][0])
            fields.refuse("cut_of", "at most the number of cuts of the input", number)
        if leaves_below(self.n_leaves, self.n_left) is None:
            fields.refuse("n_left", "counts of leaves that make trees", "counts that make none")

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects probabilities, for a digest."""
        names = ("baseline", "fill", "n_cuts", "cuts", "trees_of", *_TYPES)
        return tuple(getattr(self, name) for name in names)

    def _collapsed(self, subsets: BoolArray) -> tuple[AnyArray, FloatArray]:
        """Leaves that each subset reaches in each tree, and logits of trees that are constant."""
        masks = self._masks
        alive = np.empty((len(subsets), self.n_trees), dtype=masks.left.dtype)
        base = np.empty((len(subsets), len(self.baseline)))
        collapse(
            np.ascontiguousarray(subsets),
            self.trees_of,
            masks.starts,
            self.inputs,
            self.blank_left,
            masks.known_left,
            masks.left,
            masks.right,
            self.leaves,
            self.baseline,
            alive,
            base,
        )
        return alive, base

    @cached_property
    def _masks(self) -> _Masks:
        spans = leaves_below(self.n_leaves, self.n_left)
        if spans is None:
            raise AssertionError("a file is checked, and scikit-learn makes trees")
        first, end = spans
        bits = [1 << edge.astype(np.uint64) for edge in (first, first + self.n_left, end)]
        kind = np.uint16 if (self.n_leaves <= 16).all() else np.uint32
        return _Masks(
            starts=np.concatenate([[0], np.cumsum(self.n_leaves, dtype=np.int64)]),
            cut_starts=np.concatenate([[0], np.cumsum(self.n_cuts)]),
            left=(bits[1] - bits[0]).astype(kind),
            right=(bits[2] - bits[1]).astype(kind),
            known_left=self.cut_of == self.n_cuts[self.inputs],
        )
