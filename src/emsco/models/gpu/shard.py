"""Scored rows on a device: the bits and the answers that fitted models give for them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco._base.workers import slices
from emsco.models.batches import n_outputs_of
from emsco.models.gpu.bits import TorchBits
from emsco.models.gpu.library import torch
from emsco.models.gpu.table import upload_columns
from emsco.models.layout import WORD, Layout
from emsco.models.scaling import Scaling

__all__ = ["Answering", "TorchShard", "answers_of"]

_ROWS = 2**18  # at a time with one output; fewer with more, so that blocks take as much memory
_MODELS = 256
_POSITIVE = float(np.finfo(np.float64).tiny)  # a logit of 0 is the first class
_GATHER = 0x0102040810204080  # moves the lowest bits of eight bytes into the highest byte

# Likeliest class of each row and its probability, (n_models, n_rows); classes are bytes.
Answering: TypeAlias = tuple[Any, FloatArray]


class TorchShard:
    """The scored rows of a split on a device, in the order of their bits.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
    labels : ndarray of shape (n_rows,)
    scored : ndarray of int
        Numbers of the scored rows.
    scaling : Scaling
    bits : TorchBits
    layout : Layout
    device : torch.device
    n_classes : int
    """

    def __init__(
        self,
        X: FloatArray,
        labels: LabelArray,
        scored: IntArray,
        scaling: Scaling,
        bits: TorchBits,
        layout: Layout,
        device: Any,
        n_classes: int = 2,
    ) -> None:
        self.bits, self._device, self._n_classes = bits, device, n_classes
        self._n_bits = WORD * bits.n_words
        rows = scored[layout.rows]
        self.truth: LabelArray = labels[rows]
        self._columns = upload_columns(X, rows, scaling, device, self._n_bits)
        truth = np.pad(self.truth.astype(np.int64), (0, self._n_bits - len(rows)))
        truth_there = torch.as_tensor(truth).to(device)
        self._truth = truth_there == 1 if n_classes == 2 else truth_there

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
            least = torch.tensor(thresholds[part], device=self._device)
            for rows in _blocks(self._n_bits, n_outputs_of(self._n_classes)):
                logits = (weights @ self._columns[:, rows])[: n * n_outputs_of(self._n_classes)]
                judged = self._judged_two if self._n_classes == 2 else self._judged_many
                pair = judged(logits, rows, least)
                words.append([self._packed(one) for one in pair])
            if words:
                accepted, correct = (torch.cat(one, dim=1) for one in zip(*words, strict=True))
                self.bits.store(slots[part], accepted, correct)

    def _judged_two(self, logits: Any, rows: slice, least: Any) -> tuple[Any, Any]:
        first = logits <= -least[:, :1]
        second = logits >= least[:, 1:].clamp(min=_POSITIVE)
        return first | second, torch.where(self._truth[rows], second, first)

    def _judged_many(self, logits: Any, rows: slice, least: Any) -> tuple[Any, Any]:
        winner, confidence = _likeliest(logits.reshape(-1, self._n_classes, logits.shape[1]))
        sure = confidence >= least.gather(1, winner)
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
