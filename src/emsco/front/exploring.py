"""A front as the contents of its explorer page."""

from __future__ import annotations

from typing import Any

from emsco._base.checks import refused
from emsco.app.explorer import CertifiedDesigns, Explored
from emsco.front import records
from emsco.front.certificate import Certificate
from emsco.front.certifying import Certifiable


def explored_front(front: Certifiable, **about: Any) -> Explored:
    """Record a front for its page; `about` are the further fields of `Explored`."""
    return Explored(
        designs=records.explored_designs(front.points, front.seen, front.costs),
        metric=front.metric,
        best_first=records.best_first(front.points, front.balanced_scores()),
        references=records.reference_marks(front.references, front.metric),
        seen_references=records.reference_marks(front.seen_references),
        costs=front.costs,
        min_confidence=front.min_confidence,
        proven=front.proven,
        **about,
    )


def certified_designs(front: Certifiable, certificate: Certificate) -> CertifiedDesigns:
    """Record what a certificate says of the designs of a front.

    Raises
    ------
    ParameterError
        If the certificate is for designs of another front, or for other models.
    """
    for test in certificate.tests:
        if not _is_of(front, test.number, test.cascade):
            got = f"one for a design {test.number} that differs"
            raise refused("certificate", "be for designs of this front", certificate, got=got)
    return CertifiedDesigns(
        designs=certificate.best_first,
        promises=tuple(promise.sentence for promise in certificate.promises),
        delta=certificate.delta,
        n_rows=certificate.rows.n_tested,
        date=certificate.date,
    )


def _is_of(front: Certifiable, number: int, identity: str) -> bool:
    """Tell whether the design at a position decides just as the tested cascade did."""
    return number < len(front.points) and front.cascade(number).stages.identity == identity
