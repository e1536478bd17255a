"""Purchases as spans of OpenTelemetry, for cases, `run`, `arun` and the service; off by default.

A span says what was bought, at which stage and for how much. It never has a value of a feature, nor
the message of an error, which may quote one.
"""

from __future__ import annotations

from typing import Any

from emsco.cascade.stages import Stages
from emsco.errors import not_installed

NAME = "emsco.purchase"

tracer: Any = None  # None: no spans are recorded


def trace_purchases(on: bool = True) -> None:
    """Record a span of OpenTelemetry for each purchase from now on, in this process.

    A span is named ``emsco.purchase``. Its attributes are ``emsco.stage``, ``emsco.features`` (what
    the stage buys: features and groups), ``emsco.price`` and ``emsco.delay``; spans of `run` and
    `arun` also have ``emsco.rows`` and ``emsco.rows_failed``, and their price is that of all rows
    whose values could be used. Spans go where your OpenTelemetry SDK sends them. They never have
    values of features.

    Parameters
    ----------
    on : bool
        False records no more spans.

    Examples
    --------
    >>> trace_purchases()
    >>> trace_purchases(on=False)
    """
    global tracer
    if not on:
        tracer = None
        return
    try:
        from opentelemetry import trace
    except ImportError:
        raise not_installed("opentelemetry-api", "'emsco[telemetry]'") from None
    tracer = trace.get_tracer("emsco")


def attributes_of(stages: Stages, stage: int) -> dict[str, Any]:
    """Return what is known of a purchase before it is paid."""
    facts: dict[str, Any] = {"emsco.stage": stage + 1, "emsco.features": stages.buys[stage]}
    if stages.delays:
        before = stages.stage_before(stage)
        waited = stages.delays[before] if before >= 0 else 0.0
        facts["emsco.delay"] = stages.delays[stage] - waited
    return facts


def mark_failed(span: Any) -> None:
    """Mark a purchase of which some rows got nothing that they could use."""
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)
