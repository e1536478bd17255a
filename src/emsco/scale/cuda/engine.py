"""The engine of logistic stage models on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import is_not
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    Report,
    StageArray,
    WordArray,
)
from emsco._base.workers import slices
from emsco._kernels.counts import add_prices
from emsco.models.backends import Backend
from emsco.models.batches import n_outputs_of
from emsco.models.bits import WORD, BitBank, Layout
from emsco.models.engine import Answers, LogisticEngine
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData
from emsco.models.splines import SplineBasis
from emsco.scale.cuda.fitter import TorchFitter
from emsco.scale.cuda.library import count_bits, open_device, torch
from emsco.scale.cuda.table import TrainTable, upload_columns

_COUNT_BYTES = 2**28  # of words of designs that are counted together
_ROWS = 2**18  # at a time with one output; fewer with more, so that blocks take as much memory
_MODELS = 256
_POSITIVE = float(np.finfo(np.float64).tiny)  # a logit of 0 is the first class
_GATHER = 0x0102040810204080  # moves the lowest bits of eight bytes into the highest byte
_SAMPLED, _SHARE = 1000, 32  # a sample has so many rows for each parameter, or one row in so many
_WORTH_SAMPLING = 4  # times as many rows as a sample has


class TorchBits(BitBank):
    """Bits of a `BitBank`, kept on a device.

    Parameters
    ----------
    layout : Layout
    missing : ndarray of bool, shape (n_features, n_rows), or None
    device : torch.device
    """

    def __init__(self, layout: Layout, missing: BoolArray | None, device: Any) -> None:
        super().__init__(layout, missing)
        self._device = device
        self.accepted: Any = self._tensor(self.accepted)
        self.correct: Any = self.accepted
        self._valid_words = self._tensor(self.valid)
        self._weights = torch.as_tensor(self.word_weights, device=device)
        self._missing_words = self._tensor(self.missing)
        ends = (0, self.n_words) if layout.ends is None else layout.ends.tolist()
        self._parts = list(pairwise(ends))

    def _tensor(self, words: WordArray) -> Any:
        return torch.as_tensor(np.ascontiguousarray(words).view(np.int64)).to(self._device)

    def _index(self, numbers: IntArray) -> Any:
        return torch.as_tensor(np.ascontiguousarray(numbers, dtype=np.int64)).to(self._device)

    def reserve(self, n_slots: int) -> None:
        """Grow to at least `n_slots` slots."""
        if len(self.accepted) < n_slots:
            self.accepted = self._more(self.accepted, n_slots)
            self.correct = self._more(self.correct, n_slots)

    def _more(self, words: Any, n_slots: int) -> Any:
        grown = torch.zeros((n_slots, self.n_words), dtype=torch.int64, device=self._device)
        grown[: len(words)] = words
        return grown

    def put(self, slots: IntArray, accepted: WordArray, correct: WordArray) -> None:
        """Store bits in slots, one row of words per slot, and clear the padding."""
        self.store(slots, self._tensor(accepted), self._tensor(correct))

    def store(self, slots: IntArray, accepted: Any, correct: Any) -> None:
        """Store words that are on the device already."""
        where = self._index(slots)
        self.accepted[where] = accepted & self._valid_words
        self.correct[where] = correct & self._valid_words

    def get(self, slots: IntArray, places: IntArray | None = None) -> WordArray:
        """Copy the bits of these slots, or some words of them: shape (2, n_slots, n_words)."""
        rows = self._index(slots)
        where = rows if places is None else (rows[:, None], self._index(places)[None])
        copied: Any = torch.stack([self.accepted[where], self.correct[where]]).cpu().numpy()
        words: WordArray = copied.view(np.uint64)
        return words

    def accepted_weight(self, slots: IntArray) -> FloatArray:
        """Weight of the accepted rows of these slots."""
        words = self.accepted[self._index(slots)]
        weight: FloatArray = (count_bits(words, words) @ self._weights).double().cpu().numpy()
        return weight

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        correct_exits: IntArray,
    ) -> None:
        """Send all scored rows through each design; `chains` holds the slots of its stages."""
        size = max(1, _COUNT_BYTES // (8 * max(1, self.n_words)))
        for part in slices(len(chains), size):
            counts = self._counts(designs[part], chains[part], n_stages[part])
            leaving, correct = counts.cpu().numpy()
            exits[part, : leaving.shape[1]] += leaving
            correct_exits[part, : correct.shape[1]] += correct

    def _counts(self, designs: StageArray, chains: IntArray, n_stages: IntArray) -> Any:
        """Rows that leave and correct ones: (2, n_designs, n_counted + most stages)."""
        max_stages, n_counted = int(n_stages.max(initial=0)), self.n_counted
        shape = (2, len(chains), n_counted + max_stages)
        counts_by_kind = torch.zeros(shape, dtype=torch.int64, device=self._device)
        slots = self._index(np.where(np.arange(chains.shape[1]) < n_stages[:, None], chains, -1))
        shape_of_rows = (len(chains), self.n_words)
        undecided = torch.full(shape_of_rows, -1, dtype=torch.int64, device=self._device)
        for j in range(max_stages):
            is_stage = slots[:, j] >= 0
            free = torch.where(is_stage[:, None], undecided, 0) & ~self._blocked(designs, j)
            slot = slots[:, j].clamp(min=0)
            leaving = self.accepted[slot]
            for kind, words in enumerate((leaving, self.correct[slot])):
                counts = count_bits(free, words) * self._weights
                by_part = [counts[:, first:end].sum(dim=1) for first, end in self._parts]
                for c in range(n_counted):
                    counts_by_kind[kind, :, c] += by_part[c]
                counts_by_kind[kind, :, n_counted + j] = sum(by_part)
            undecided &= ~(free & leaving)
        return counts_by_kind

    def _blocked(self, designs: StageArray, stage: int) -> Any:
        """Rows that lack a feature which a stage buys, by design; 0 if no value is missing."""
        blocked = torch.zeros((), dtype=torch.int64, device=self._device)
        for i in range(len(self._missing_words)):
            buys = torch.as_tensor(designs[:, i] == stage).to(self._device)
            blocked = blocked | torch.where(buys[:, None], self._missing_words[i], 0)
        return blocked

    def add_prices(self, designs: StageArray, chains: IntArray, spent: IntArray) -> None:
        """Add what all rows pay for features with prices of their own, by design."""
        slots, places = np.unique(chains, return_inverse=True)
        accepted, _ = self.get(slots)
        undecided = np.empty(self.n_words, dtype=np.uint64)
        add_prices(
            accepted,
            self.missing,
            self._prices,
            self._priced,
            designs,
            places.reshape(chains.shape),
            spent,
            undecided,
        )


# Likeliest class of each row and its probability, (n_models, n_rows); classes are bytes.
Answering: TypeAlias = tuple[Any, FloatArray]


class TorchShard:
    """The scored rows of a split on a device, in the order of their bits.

    Parameters
    ----------
    data : SplitData
    scaling : Scaling
    device : torch.device
    """

    def __init__(self, data: SplitData, scaling: Scaling, device: Any) -> None:
        missing = None if data.missing is None else data.missing[data.scored].T
        self.bits = TorchBits(data.layout, missing, device)
        self._device, self._n_classes = device, data.n_classes
        self._n_bits = WORD * self.bits.n_words
        rows = data.scored[self.bits.layout.rows]
        self.truth: LabelArray = data.labels[rows]
        self._columns = upload_columns(data.X, rows, scaling, device, self._n_bits)
        truth = np.pad(self.truth.astype(np.int64), (0, self._n_bits - len(rows)))
        truth_there = torch.as_tensor(truth).to(device)
        self._truth = truth_there == 1 if data.n_classes == 2 else truth_there

    def answers(self, coefs: FloatArray) -> Answering:
        """Likeliest class of each scored row by models with these weights, and its probability.

        Rows are in the order of their bits. `coefs` has a weight for each input of each model,
        for each class if there are more than two.
        """
        winner, confidence = answers_of(self._columns, coefs)
        return winner[:, : len(self.truth)], confidence[:, : len(self.truth)]

    def judge(self, coefs: FloatArray, slots: IntArray, thresholds: FloatArray) -> None:
        """Store the rows that each model accepts, and the correct ones, as bits in slots.

        A model accepts a row if the probability of its likeliest class reaches the threshold of
        that class; `thresholds` has a line for each slot. `coefs` is as in `answers`.
        """
        if self._n_classes == 2:
            different, place = np.unique(thresholds, return_inverse=True)
            logits_of = np.array([_logit(one) for one in different.tolist()])
            thresholds = logits_of[place.reshape(thresholds.shape)]
        for part in slices(len(slots), _MODELS):
            weights = _padded(coefs[part], self._columns)
            n, words = len(slots[part]), []
            of_part = torch.tensor(thresholds[part], device=self._device)
            for rows in _blocks(self._n_bits, n_outputs_of(self._n_classes)):
                logits = (weights @ self._columns[:, rows])[: n * n_outputs_of(self._n_classes)]
                judged = self._judged_two if self._n_classes == 2 else self._judged_many
                pair = judged(logits, rows, of_part)
                words.append([self._packed(one) for one in pair])
            if words:
                accepted, correct = (torch.cat(one, dim=1) for one in zip(*words, strict=True))
                self.bits.store(slots[part], accepted, correct)

    def _judged_two(self, logits: Any, rows: slice, thresholds: Any) -> tuple[Any, Any]:
        first = logits <= -thresholds[:, :1]
        second = logits >= thresholds[:, 1:].clamp(min=_POSITIVE)
        return first | second, torch.where(self._truth[rows], second, first)

    def _judged_many(self, logits: Any, rows: slice, thresholds: Any) -> tuple[Any, Any]:
        winner, confidence = _likeliest(logits.reshape(-1, self._n_classes, logits.shape[1]))
        sure = confidence >= thresholds.gather(1, winner)
        return sure, sure & (winner == self._truth[rows])

    def _packed(self, truths: Any) -> Any:
        """Pack truth values into words, lowest bit first."""
        # Eight truth values are a number of eight bytes; the product has their bits on top.
        eights = truths.view(torch.int64) * _GATHER >> 56
        return eights.to(torch.uint8).view(torch.int64)


def answers_of(columns: Any, coefs: FloatArray) -> Answering:
    """Likeliest class of each row and its probability, by models with these weights.

    `columns` is a line of ones, then a line per input. Equal classes: the first one wins.
    """
    n_rows, n_outputs = columns.shape[1], coefs.shape[1] if coefs.ndim == 3 else 1
    winner = np.empty((len(coefs), n_rows), dtype=np.uint8)
    confidence = np.empty((len(coefs), n_rows))
    for part in slices(len(coefs), _MODELS):
        weights, n = _padded(coefs[part], columns), len(coefs[part])
        for rows in _blocks(n_rows, n_outputs):
            logits = (weights @ columns[:, rows])[: n * n_outputs]
            if coefs.ndim == 2:
                best, sure = logits > 0.0, torch.sigmoid(logits.abs())
            else:
                best, sure = _likeliest(logits.reshape(n, n_outputs, -1))
            winner[part, rows] = best.to(torch.uint8).cpu().numpy()
            confidence[part, rows] = sure.cpu().numpy()
    return winner, confidence


def _blocks(n_rows: int, n_outputs: int) -> list[slice]:
    """Rows that are judged at a time: whole words, if there are several blocks."""
    size = max(WORD, _ROWS // n_outputs // WORD * WORD)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def _likeliest(logits: Any) -> tuple[Any, Any]:
    """Likeliest class of each row, the first of equals, and its probability."""
    top = logits.amax(dim=1, keepdim=True)
    confidence = 1.0 / torch.exp(logits - top).sum(dim=1)
    return torch.argmax(logits, dim=1), confidence


def _padded(coefs: FloatArray, columns: Any) -> Any:
    """Weights beside columns, (models · outputs, lines); always as many, so the shape is fixed."""
    padded = np.zeros((_MODELS, *coefs.shape[1:-1], len(columns)))
    padded[: len(coefs), ..., : coefs.shape[-1]] = coefs
    return torch.as_tensor(padded.reshape(-1, len(columns))).to(columns.device)


def _logit(confidence: float) -> float:
    """Size of a logit that reaches a confidence."""
    if confidence <= 0.5:  # which the likelier of two classes always has
        return 0.0
    if confidence > 1.0:
        return np.inf
    doubt = max(1.0 - confidence, 2.0**-54)  # a smaller one is lost by rounding
    return float(np.log(confidence / doubt))


@dataclass(frozen=True, slots=True, eq=False)
class TorchSplit:
    """Training and scored rows of one split on a device, with their fitter and scaling."""

    shards: Sequence[TorchShard]
    fitter: TorchFitter
    scaling: Scaling
    n_rows: int

    @classmethod
    def cut(cls, data: SplitData, penalty: float = 1.0, *, device: Any) -> Self:
        """Standardise by the training rows and send all to the device; see `SplitRows.cut`."""
        scaling, n_rows = data.scaling(), len(data.train)
        data = data.with_fit_weights()
        data = replace(data, train=data.weighty_train)
        n_train, sample = len(data.train), None
        table = TrainTable(data, scaling, device)
        wanted = max(_SAMPLED * table.n_columns * (data.n_classes - 1), n_train // _SHARE)
        if (stride := n_train // wanted) >= _WORTH_SAMPLING:
            sample = TrainTable(replace(data, train=data.train[::stride]), scaling, device)
        shard = TorchShard(data, scaling, device)
        return cls([shard], TorchFitter(table, sample, penalty), scaling, n_rows)


class TorchEngine(LogisticEngine):
    """Fits batches of logistic regressions on a device, and keeps their weights.

    Optima, and so probabilities, are those of `LogisticEngine` to the ninth decimal. The weights
    of a model do not depend on the others that are fitted with it.

    Parameters
    ----------
    splits : sequence of TorchSplit
    n_inputs, n_classes, basis
        As for `LogisticEngine`.
    device : torch.device
    """

    def __init__(
        self,
        splits: Sequence[Any],
        n_inputs: int,
        n_classes: int = 2,
        basis: SplineBasis | None = None,
        *,
        device: Any,
    ) -> None:
        super().__init__(splits, n_inputs, n_classes, 1, basis)
        self._device = device
        # Columns of the rows that `answers` had last, and these rows.
        self._sent: list[Any] = []
        self._sent_of: tuple[Any, ...] = ()

    judges_levels = True

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset on each split; return the weights, split after split."""
        splits: Sequence[Any] = self.splits
        if len(splits) == 1:
            weights = [splits[0].fitter.fit(subsets, report)]
        else:
            weights = []
            for split in splits:
                weights.append(split.fitter.fit(subsets, None))
                if report:
                    report(len(weights), len(splits))
        return np.stack(weights, axis=1).reshape(len(subsets), self.kept)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted models, at a threshold for each class, into slots of `bits`.

        `thresholds` may have a line for each slot.
        """
        del subsets  # weights of inputs that a model does not read are 0
        thresholds = np.broadcast_to(thresholds, (len(slots), self.n_classes))
        splits: Sequence[Any] = self.splits
        for split, spread in zip(splits, self.lines(numbers), strict=True):
            for shard in split.shards:
                shard.judge(spread, slots, thresholds)

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""
        del subsets
        columns = self._columns(rows, scored)
        return [
            answers_of(of_split, spread)
            for of_split, spread in zip(columns, self.lines(numbers), strict=True)
        ]

    def _columns(self, rows: Any, scored: Sequence[IntArray]) -> list[Any]:
        """Rows of each split on the device; they stay there until others are asked for."""
        given = rows, *scored
        if len(given) != len(self._sent_of) or any(map(is_not, given, self._sent_of)):
            columns = []
            for split, of_split in zip(self.splits, scored, strict=True):
                wide, numbers = rows, of_split
                if self.basis is not None:
                    wide, numbers = self.basis.expand(rows[of_split]), np.arange(len(of_split))
                sent = upload_columns(wide, numbers, split.scaling, self._device, len(of_split))
                columns.append(sent)
            self._sent, self._sent_of = columns, given
        return self._sent


def backend(name: str) -> Backend:
    """Return the back end of the device of this name."""
    device = open_device(name)
    return Backend(partial(TorchSplit.cut, device=device), partial(TorchEngine, device=device))
