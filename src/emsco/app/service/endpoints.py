"""What the service can be asked, and the answer to each request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

from emsco.app.service.cases import Desk
from emsco.app.service.messages import Answer, Call, RefusalError, json_answer, parse_body, plain
from emsco.app.service.metrics import sample
from emsco.cascade import Cascade
from emsco.errors import EMSCOError

Handler: TypeAlias = Callable[[Call], Awaitable[Answer]]

_LOG = logging.getLogger("emsco.app.service")
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One thing that the service can be asked.

    Attributes
    ----------
    method, path : str
    handler : callable
    takes, gives : str or None
        Names of the schemas of the body and of the answer; None for another body.
    refuses : tuple of int
        Statuses that it may refuse with, besides those of every request.
    """

    method: str
    path: str
    handler: Handler
    takes: str | None = None
    gives: str | None = None
    refuses: tuple[int, ...] = ()
    status: int = 200


class Endpoints:
    """Everything that a desk can be asked over HTTP."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._about = describe(desk.cascade)

    def all(self) -> list[Endpoint]:
        """Return the endpoints, in the order of the documentation."""
        of_case = "/cases/{id}"
        return [
            Endpoint("GET", "/cascade", self.cascade, None, "Cascade"),
            Endpoint("POST", "/cases", self.open, "Opening", "Case", (409, 422, 503), 201),
            Endpoint(
                "POST", f"{of_case}/values", self.give, "Values", "Case", (404, 409, 422, 503)
            ),
            Endpoint("POST", f"{of_case}/reject", self.reject, "Reason", "Case", (404, 409, 422)),
            Endpoint("GET", of_case, self.look, None, "WholeCase", (404,)),
            Endpoint("DELETE", of_case, self.delete, None, "Deleted", (404, 503)),
            Endpoint("POST", "/batch/open", self.open_many, "Openings", "Cases", (422,)),
            Endpoint("POST", "/batch/values", self.give_many, "ManyValues", "Cases", (422,)),
            Endpoint("POST", "/decide", self.decide, "Rows", "Decisions", (422,)),
            Endpoint("GET", "/metrics", self.metrics),
            Endpoint("GET", "/health", self.health, None, "Health", (503,)),
        ]

    async def cascade(self, _call: Call) -> Answer:
        """Say what the cascade reads, stage by stage, and what that costs."""
        return json_answer(self._about)

    async def open(self, call: Call) -> Answer:
        """Open a case. The answer names its id, what to buy first and what that costs."""
        return json_answer(await self.desk.open(parse_body(call.body)), 201)

    async def give(self, call: Call) -> Answer:
        """Give a value for each name that the case needs. The answer is the decision, or what to
        buy next. Giving the same values again changes nothing.
        """  # noqa: D205
        return json_answer(await self.desk.give(call.id, parse_body(call.body)))

    async def reject(self, call: Call) -> Answer:
        """End a case without a label, for example if a value cannot be had."""
        return json_answer(await self.desk.reject(call.id, parse_body(call.body)))

    async def look(self, call: Call) -> Answer:
        """Say how a case stands, and which values it was given."""
        return json_answer(await self.desk.look(call.id))

    async def delete(self, call: Call) -> Answer:
        """Delete a case with its values."""
        return json_answer(await self.desk.delete(call.id))

    async def open_many(self, call: Call) -> Answer:
        """Open many cases. Each has its own answer, in order: a case, or an error with a status."""
        return json_answer(await self.desk.open_many(parse_body(call.body)))

    async def give_many(self, call: Call) -> Answer:
        """Give values to many cases. Each has its own answer, in order."""
        return json_answer(await self.desk.give_many(parse_body(call.body)))

    async def decide(self, call: Call) -> Answer:
        """Decide rows whose values are known. Rows are not kept; a row needs values for the stages
        that it reaches, and other names in it are ignored.
        """  # noqa: D205
        return json_answer(await self.desk.decide(parse_body(call.body)))

    async def metrics(self, _call: Call) -> Answer:
        """Count cases, exits, costs, rejections and requests, in the format of Prometheus."""
        desk = self.desk
        about = {"cascade": desk.cascade.stages.identity, "version": version("emsco")}
        gauges = {
            "emsco_cases_open": desk.n_open,
            "emsco_commits_total": desk.store.n_commits,
            "emsco_commit_failures_total": desk.store.n_failures,
            sample("emsco_service_info", **about): 1,
        }
        return Answer(desk.metrics.text(gauges).encode(), media=_TEXT)

    async def health(self, _call: Call) -> Answer:
        """Say whether the service can write cases."""
        if self.desk.store.is_failing:
            raise RefusalError(
                503, "the last change must be on the disk, and could not be written."
            )
        return json_answer({"status": "ok"})


async def answer_of(handler: Handler, call: Call) -> Answer:
    """Answer a call; whatever goes wrong is one sentence."""
    try:
        return await handler(call)
    except RefusalError as error:
        return error.answer()
    except EMSCOError as error:
        return RefusalError(422, str(error)).answer()
    except Exception:
        _LOG.exception("a request failed")
        return RefusalError(500, "the service must answer, and failed; its log says why.").answer()


def describe(cascade: Cascade) -> dict[str, Any]:
    """Return what clients need to know about a cascade, as plain values."""
    stages, labels = cascade.stages, cascade.stages.labels
    codes = {code.name: code for code in cascade.encoding.codes}
    told, paid = [], 0.0
    for j, (buys, needs, cost) in enumerate(
        zip(stages.buys, stages.columns, stages.costs, strict=True)
    ):
        one: dict[str, Any] = {"stage": j + 1, "buys": list(buys), "needs": list(needs)}
        one |= {"cost": cost - paid, "cost_so_far": cost}
        least = zip(labels, stages.thresholds[j].tolist(), strict=True)
        one["thresholds"] = [{"label": label, "confidence": p} for label, p in least]
        if stages.delays:
            one["delay_so_far"] = plain(stages.delays[j])
        told.append(one)
        paid = cost
    return {
        "fingerprint": stages.identity,
        "labels": list(labels),
        "stages": told,
        "columns": {
            name: {
                "kind": codes[name].kind,
                "categories": list(codes[name].categories),
                "range": codes[name].range,
            }
            for names in stages.columns
            for name in names
        },
        "prices_by_row": list(stages.prices.features),
        "missing_values": cascade.encoding.gaps,
    }
