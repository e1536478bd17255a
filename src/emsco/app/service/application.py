"""The service as a Starlette application: its routes, their OpenAPI document, and its pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any, get_type_hints

from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from emsco.app.service import messages
from emsco.app.service.cases import CaseService
from emsco.app.service.limits import BODY, ROUTE, LimitsMiddleware
from emsco.app.service.messages import JSONAnswer, parse_json
from emsco.errors import FileError

_HOUR = 3600.0
_STATUSES = {
    400: "The body is not valid JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such case.",
    409: "The case is decided, or the id is taken; `case` says how it stands.",
    413: "The body is too large.",
    415: "The body does not say that it is JSON.",
    422: "The body cannot be used; the sentence says why.",
    429: "Too many requests; wait as long as Retry-After says.",
    503: "Nothing was changed, because the service cannot take more or cannot write; ask again.",
}
_PAGES = {
    "/": ("play.html", "text/html"),
    "/docs": ("docs.html", "text/html"),
    "/service.css": ("service.css", "text/css"),
    "/play.js": ("play.js", "text/javascript"),
    "/docs.js": ("docs.js", "text/javascript"),
}
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """A request about cases: its route, the step that answers it, and its types.

    Attributes
    ----------
    method, path : str
    step : callable
        Takes the id of a case if the path has one, then the values of the body if there is one.
        Its docstring and the type that it returns document the request.
    takes : type
        Of the body; None without a body.
    refuses : tuple of int
        Statuses that it may refuse with, besides those of every request.
    status : int
    """

    method: str
    path: str
    step: Callable[..., Awaitable[Any]]
    takes: Any = None
    refuses: tuple[int, ...] = ()
    status: int = 200

    @property
    def gives(self) -> Any:
        """Type of the answer."""
        return get_type_hints(self.step)["return"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body was read."""
        # For metrics: a path with an id would make a series of its own for each case.
        scope[ROUTE] = self.path
        given: list[Any] = list(scope["path_params"].values())
        if self.takes is not None:
            given.append(parse_json(scope[BODY]))
        answer = JSONAnswer(await self.step(*given), self.status)
        await answer(scope, receive, send)

    def document(self, reference: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the OpenAPI document of this request; `reference` names the schema of a type."""

        def content(kind: Any) -> dict[str, Any]:
            return {"application/json": {"schema": reference(kind)}}

        # The first sentence of a docstring is the title, and the rest its description.
        summary, _, more = " ".join((self.step.__doc__ or "").split()).partition(". ")
        of_body = () if self.takes is None else (400, 413, 415)
        # Whoever checks health need not know the token.
        of_all = (429,) if self.path == "/health" else (401, 429)
        responses = {
            str(self.status): {"description": "The answer.", "content": content(self.gives)}
        }
        for status in sorted({*self.refuses, *of_body, *of_all}):
            responses[str(status)] = {
                "description": _STATUSES[status],
                "content": content(messages.Error),
            }
        document: dict[str, Any] = {"summary": summary.rstrip("."), "responses": responses}
        if more:
            document["description"] = more
        if self.takes is not None:
            document["requestBody"] = {"required": True, "content": content(self.takes)}
        if "{id}" in self.path:
            of_case = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            document["parameters"] = [of_case]
        return document


def make_application(service: CaseService, own_host: str = "") -> LimitsMiddleware:
    """Return the ASGI application of a service.

    Parameters
    ----------
    service : CaseService
    own_host : str
        Name or address that the service listens on.
    """
    case = "/cases/{id}"
    endpoints = [  # in the order of the documentation
        _Endpoint("GET", "/cascade", service.describe),
        _Endpoint("POST", "/cases", service.open, messages.Opening, (409, 422, 503), 201),
        _Endpoint("POST", f"{case}/values", service.give, messages.Given, (404, 409, 422, 503)),
        _Endpoint("POST", f"{case}/reject", service.reject, messages.Reason, (404, 409, 422)),
        _Endpoint("GET", case, service.look, refuses=(404,)),
        _Endpoint("DELETE", case, service.delete, refuses=(404, 503)),
        _Endpoint("POST", "/batch/open", service.open_many, messages.Openings, (422,)),
        _Endpoint("POST", "/batch/values", service.give_many, messages.ManyGiven, (422,)),
        _Endpoint("POST", "/decide", service.decide, messages.Rows, (422,)),
        _Endpoint("GET", "/health", service.health, refuses=(503,)),
    ]
    document = _openapi(endpoints)

    async def openapi(_request: Request) -> Response:
        return JSONAnswer(document)

    async def metrics(request: Request) -> Response:
        request.scope[ROUTE] = "/metrics"
        return Response(service.metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def tidy() -> None:
        while True:
            with suppress(FileError):  # the disk may be full; the next hour tries again
                await service.expire()
            await asyncio.sleep(_HOUR)

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        """Delete old cases beside the service; in the end, write all that waits."""
        tidying = asyncio.create_task(tidy())
        try:
            yield
        finally:
            tidying.cancel()
            with suppress(asyncio.CancelledError):
                await tidying
            await service.store.close()

    routes = [
        *(Route(one.path, one, methods=[one.method]) for one in endpoints),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        *(_page(path, *page) for path, page in _PAGES.items()),
    ]
    # Starlette's own application would add two more layers to every request.
    router = Router(routes, lifespan=lifespan)
    return LimitsMiddleware(router, service.settings, service.metrics, own_host)


def _openapi(endpoints: list[_Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document; pydantic makes the schemas of bodies and answers."""
    kinds = [messages.Error]
    for endpoint in endpoints:
        kinds += [kind for kind in (endpoint.takes, endpoint.gives) if kind is not None]
    references, schemas = TypeAdapter.json_schemas(
        [(kind, "validation", TypeAdapter(kind)) for kind in kinds],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        document = endpoint.document(lambda kind: references[kind, "validation"])
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = document
    counts = {"description": "The counts.", "content": {"text/plain": {}}}
    paths["/metrics"] = {
        "get": {
            "summary": "Count cases, exits, costs, rejections and requests, for Prometheus",
            "responses": {"200": counts},
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "emsco",
            "version": version("emsco"),
            "summary": "Open a case, be told what to buy, give values, get the decision and why.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _page(path: str, name: str, media_type: str) -> Route:
    """Return the route of a page, its style or its script."""
    content = files(__package__).joinpath("static", name).read_bytes()

    async def answer(request: Request) -> Response:
        request.scope[ROUTE] = path
        return Response(content, media_type=media_type, headers=_PAGE_HEADERS)

    return Route(path, answer)
