"""Reference points of a picture: what you would get without a cascade, with a name for each."""

from __future__ import annotations

from dataclasses import dataclass

from emsco._base.objectives import Objectives
from emsco.trust.by_class import ByClass

__all__ = ["ReferenceMark"]


@dataclass(frozen=True, slots=True)
class ReferenceMark(Objectives):
    """Coverage, accuracy and cost without a cascade, and their name.

    The accuracy is by the metric of the figures it stands beside.

    Attributes
    ----------
    title : str
        The reference in a few words, such as "everything".
    correct : float or None
        Share of labels that are correct, where the accuracy is another metric.
    by_class : ByClass or None
        How rows of each class were labelled, if counted.
    """

    title: str
    correct: float | None = None
    by_class: ByClass | None = None
