"""Answers to the questions of a branch: the stage that each row goes to next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.data.encoding import Encoding
from emsco.designs.design import Branch
from emsco.designs.questions import Question


@dataclass(frozen=True, slots=True, eq=False)
class BranchReader:
    """Asks the questions of a branch about encoded rows.

    Attributes
    ----------
    branch : Branch
    encoding : Encoding
    labels : sequence
        The classes as plain values.
    """

    branch: Branch
    encoding: Encoding
    labels: Sequence[object]

    def parts(
        self, rows: FloatArray, winner: IntArray, confidence: FloatArray
    ) -> tuple[IntArray, BoolArray]:
        """Return the part of each row, and whether it is the usual one for lack of a value.

        `winner` and `confidence` are those of the stage before the branch.
        """
        part = np.full(len(rows), len(self.branch.questions))
        is_lacking = np.zeros(len(rows), dtype=np.bool_)
        # The last question first: what an earlier one says stands above it.
        for k, question in reversed([*enumerate(self.branch.questions)]):
            yes, lacking = self._asked(question, rows, winner, confidence)
            np.copyto(part, k, where=yes)
            is_lacking &= ~yes
            if lacking.any():
                part[lacking] = self.branch.usual
                is_lacking |= lacking
        return part, is_lacking

    def go_on(self, rows: FloatArray, winner: IntArray, confidence: FloatArray) -> IntArray:
        """Return the next stage of each row."""
        part, _ = self.parts(rows, winner, confidence)
        stages: IntArray = np.array(self.branch.starts).take(part)
        return stages

    def go_on_one(self, row: Sequence[float], winner: int, confidence: float) -> tuple[int, str]:
        """Return the next stage of a single row, and why it goes there."""
        one = np.array([row]), np.array([winner]), np.array([confidence])
        (part,), (is_lacking,) = self.parts(*one)
        why = self.branch.ways[part]
        if is_lacking:
            why = f"like most rows ({why}): the value asked about is missing or unknown"
        return self.branch.starts[part], why

    def _asked(
        self, question: Question, rows: FloatArray, winner: IntArray, confidence: FloatArray
    ) -> tuple[BoolArray, BoolArray]:
        """Return whose answer is yes, and of which rows the value is missing or unknown."""
        nobody = np.zeros(len(rows), dtype=np.bool_)
        yes: AnyArray
        if question.column is None:
            if question.at_most is not None:
                return confidence <= question.at_most, nobody
            yes = np.array([label in (question.among or ()) for label in self.labels])
            return yes[winner], nobody
        code = self.encoding.code_of[question.column]
        inputs = self.encoding.inputs_of(question.column)
        values = rows[:, inputs.start : inputs.start + code.n_values]
        missing = np.isnan(values[:, 0])
        if question.is_about_missing:
            return missing, nobody
        if code.kind != "category":
            if question.at_most is not None:
                return values[:, 0] <= question.at_most, missing
            wanted = [float(value) for value in question.among or ()]
            return np.isin(values[:, 0], wanted), missing
        places = [code.places[value] for value in question.among or ()]
        # A category that was not seen in training is 0 in all inputs.
        return values[:, places].any(axis=1) & ~missing, missing | ~values.any(axis=1)
