"""Purchases as spans: what was bought, where and for how much, and never a value."""

import asyncio
from dataclasses import replace

import pytest
from support.handmade import NAMES, make_cascade, make_protocol, make_rows
from support.services import serving

from emsco import trace_purchases

pytest.importorskip("opentelemetry.sdk")
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

FIRST = {"emsco.stage": 1, "emsco.features": ("age", "pulse"), "emsco.price": 3.5}
SECOND = {"emsco.stage": 2, "emsco.features": ("scan",), "emsco.price": 10.0}


@pytest.fixture
def spans(monkeypatch):
    """Turns spans on, and returns a function that gives those so far."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer", provider.get_tracer)
    trace_purchases()
    yield exporter.get_finished_spans
    trace_purchases(on=False)


def follow(case, row):
    while case.needs:
        case.give({name: row[NAMES.index(name)] for name in case.needs})
    return case


def attributes(spans):
    assert all(span.name == "emsco.purchase" for span in spans)
    return [dict(span.attributes) for span in spans]


def bought(names, ids):
    return make_rows(60)[ids][:, [NAMES.index(name) for name in names]]


def test_a_case_has_a_span_for_each_purchase(spans):
    cascade = make_cascade()
    row = next(row for row in make_rows(60) if cascade.decide(row[None]).stage[0] == 2)
    case = cascade.open()
    with pytest.raises(ValueError, match="values must have 'age'"):
        case.give({})  # a refused value is no purchase
    follow(case, row.tolist())
    assert attributes(spans()) == [FIRST, SECOND]
    assert all(span.end_time >= span.start_time for span in spans())
    cascade.resume(case.to_json())
    assert len(spans()) == 2  # a case that is read again buys nothing


def test_a_span_has_the_delay_and_the_price_of_its_stage_on_any_path(spans):
    cascade = make_protocol()
    slow = replace(cascade, costs=cascade.costs.with_delays((1.0, 3.0, 7.0, 9.0)))
    cases = [follow(slow.open(), row) for row in make_rows(20).tolist()]
    told = attributes(spans())
    for name, expected in (("price", "cost"), ("delay", "delay")):
        total = sum(one[f"emsco.{name}"] for one in told)
        assert total == pytest.approx(sum(getattr(case.decision, expected) for case in cases))


@pytest.mark.parametrize("how", ["run", "arun"])
def test_many_rows_have_a_span_for_each_call(spans, how):
    cascade, ids = make_cascade(), list(range(60))

    async def bought_later(names, some):
        return bought(names, some)

    if how == "run":
        decisions = cascade.run(ids, bought)
    else:
        decisions = asyncio.run(cascade.arun(ids, bought_later, batch_size=None))
    first, *others = attributes(spans())
    assert first == {**FIRST, "emsco.price": 60 * 3.5, "emsco.rows": 60, "emsco.rows_failed": 0}
    total = sum(one["emsco.price"] for one in [first, *others])
    assert total == pytest.approx(decisions.cost.sum())


def test_rows_that_got_nothing_are_counted_and_nobody_is_told_why(spans):
    def fails(names, ids):
        raise ValueError("pulse was 71")

    with pytest.warns(UserWarning, match="could not be acquired"):
        make_cascade().run([1, 2], fails, retries=0)
    (span,) = spans()
    assert span.attributes["emsco.rows_failed"] == 2
    assert span.attributes["emsco.price"] == 0
    assert not span.status.is_ok
    assert "pulse was" not in span.to_json()


def test_a_case_of_a_service_has_its_spans(spans, tmp_path, without_fsync):
    with serving(make_cascade(), tmp_path / "cases.sqlite") as service:
        _, case = service.post("/cases", {})
        service.post(f"/cases/{case['id']}/values", {"values": {"age": 0.1, "pulse": 0.1}})
    assert attributes(spans()) == [FIRST]
