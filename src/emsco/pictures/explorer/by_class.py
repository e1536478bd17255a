"""Results by class on the explorer page, as plain values that stay short for many designs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emsco.pictures.classes import MOST_LABELS, MOST_LINES
from emsco.pictures.explorer.numbers import rounded
from emsco.trust.by_class import ByClass

__all__ = ["classes_of"]

_MOST_NUMBERS = 100_000  # about 0.4 MB; pages with more have the classes of the shortlist alone


def classes_of(
    scored: Sequence[ByClass | None],
    seen: Sequence[ByClass | None],
    wanted: Sequence[bool],
) -> dict[str, Any] | None:
    """Return the results by class of each design, or None if nobody has counted them.

    Parameters
    ----------
    scored, seen : sequence of ByClass or None
        One entry per design.
    wanted : sequence of bool
        The designs to keep if all of them would make a long file.
    """
    if None in scored or not scored:
        return None
    first = scored[0]
    labels = first.labels[:MOST_LINES] if first is not None else ()
    has_counts = len(labels) <= MOST_LABELS
    per_design = len(labels) * (len(labels) if has_counts else 3)
    kinds = {"scored": scored} | ({} if None in seen else {"seen": seen})
    if len(scored) * per_design * len(kinds) <= _MOST_NUMBERS:
        wanted = [True] * len(scored)
    return {
        "labels": [str(label) for label in labels],
        "more": len(first.labels) - len(labels) if first is not None else 0,
        "has_counts": has_counts,
        **{kind: _columns(found, wanted, has_counts) for kind, found in kinds.items()},
    }


def _columns(
    found: Sequence[ByClass | None], wanted: Sequence[bool], has_counts: bool
) -> dict[str, Any]:
    """Return the rows of each class, and the counts of each design.

    With `has_counts`, these are the rows of each class that got each label, one class after the
    other. Otherwise they are the correct rows, the labelled rows and the given labels by class.
    """
    rows = found[0].rows.tolist()[:MOST_LINES] if found[0] is not None else []
    counts = [
        _numbers(one, has_counts) if keep and one is not None else None
        for one, keep in zip(found, wanted, strict=True)
    ]
    return {"rows": rounded(rows), "counts": counts}


def _numbers(found: ByClass, has_counts: bool) -> list[float]:
    if has_counts:
        return rounded(count for line in found.counts for count in line[:-1])
    columns = (found.correct, found.answered, found.given)
    return rounded(np.concatenate([column[:MOST_LINES] for column in columns]).tolist())
