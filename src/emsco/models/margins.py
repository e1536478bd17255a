"""Margins: how sure a model is of the truth about a row.

A margin is the log-odds of the confidence beyond those of a guess, negative if the label is wrong.
So a label has a positive margin if it is right, even where there are many classes and the likeliest
has less than half of the probability.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray, SingleArray, WordArray
from emsco.models.layout import pack

__all__ = ["bits_of_margins", "margins_of"]

_SUREST = 1 - 1e-12


def margins_of(
    winner: IntArray | LabelArray, confidence: FloatArray, truth: LabelArray, n_classes: int
) -> SingleArray:
    """Margins of answers: the likeliest class of each row and its probability."""
    odds = _beyond_a_guess(confidence, n_classes)
    margins: SingleArray = np.where(winner == truth, odds, -odds).astype(np.float32)
    return margins


def bits_of_margins(margins: SingleArray, truth: LabelArray, thresholds: FloatArray) -> WordArray:
    """Accepted and correct rows that follow from margins: (2, n_subsets, n_words).

    `truth` has the class of each row. Which class a wrong label names is not known if there are
    more than two; then the highest threshold of the others counts.
    """
    n_classes = len(thresholds)
    others = np.array([np.delete(thresholds, c).max() for c in range(n_classes)])
    own, other = (_beyond_a_guess(least, n_classes) for least in (thresholds, others))
    correct = (margins > 0) & (margins >= own[truth])
    accepted = correct | ((margins <= 0) & (-margins >= other[truth]))
    return np.stack([pack(accepted), pack(correct)])


def _beyond_a_guess(confidence: FloatArray, n_classes: int) -> FloatArray:
    """Log-odds of probabilities, less those of 1 / number of classes."""
    sure = np.clip(confidence, 0.0, _SUREST)
    with np.errstate(divide="ignore"):
        odds: FloatArray = np.log(sure / (1 - sure)) + np.log(n_classes - 1)
    return odds
