"""Reference points of a picture: what you would get without a cascade, with a name for each."""

from __future__ import annotations

from dataclasses import dataclass

from emsco._base.objectives import Objectives

__all__ = ["ReferenceMark"]


@dataclass(frozen=True, slots=True)
class ReferenceMark(Objectives):
    """Coverage, accuracy and cost without a cascade, and their name.

    The accuracy is by the metric of the figures it stands beside.

    Attributes
    ----------
    title : str
        The reference in a few words, such as "everything".
    """

    title: str
