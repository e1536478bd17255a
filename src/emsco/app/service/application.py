"""The service as a FastAPI application, with limits in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from emsco.app.service.cases import Desk
from emsco.app.service.endpoints import Endpoint, Endpoints, answer_of
from emsco.app.service.limits import Gatekeeper
from emsco.app.service.messages import Answer, Call, RefusalError
from emsco.app.service.middleware import Front
from emsco.app.service.page import PAGES, page
from emsco.app.service.schemas import SCHEMAS, STATUSES, of_schema
from emsco.errors import FileError

_HOUR = 3600.0
_WORDS = {
    404: "there must be something at {path!r}, got nothing; /docs lists what there is.",
    405: "{path!r} must be asked with another method, got {method}; /docs lists what there is.",
}


def make_application(desk: Desk, own_host: str = "", *, shortcut: bool = True) -> Front:
    """Return the ASGI application of a desk.

    Parameters
    ----------
    desk : Desk
    own_host : str
        Name or address that the service listens on.
    shortcut : bool
        Whether frequent requests go around FastAPI; answers are the same.
    """
    app = FastAPI(
        title="emsco",
        version=version("emsco"),
        summary="Open a case, be told what to buy, give values, get the decision and why.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(desk),
    )
    endpoints = Endpoints(desk)
    for endpoint in endpoints.all():
        _add(app, endpoint)
    for path in PAGES:
        app.add_api_route(path, _page_route(path), methods=["GET"], include_in_schema=False)
    app.exception_handler(HTTPException)(_refuse)
    app.openapi = _documented(app)  # type: ignore[method-assign]
    return Front(app, endpoints, Gatekeeper(desk.settings, own_host), shortcut=shortcut)


def _add(app: FastAPI, endpoint: Endpoint) -> None:
    """Add a route for an endpoint, with its schemas."""

    async def route(request: Request) -> Response:
        call = Call(await request.body(), request.path_params.get("id", ""))
        return _response(await answer_of(endpoint.handler, call))

    words = " ".join((endpoint.handler.__doc__ or "").split())
    first, _, rest = words.partition(". ")
    app.add_api_route(
        endpoint.path,
        route,
        methods=[endpoint.method],
        name=getattr(endpoint.handler, "__name__", endpoint.path),
        summary=first.rstrip("."),
        description=rest or None,
        status_code=endpoint.status,
        response_class=Response,
        openapi_extra=_documentation(endpoint),
    )


def _documentation(endpoint: Endpoint) -> dict[str, Any]:
    """Return the part of the OpenAPI document about bodies and answers."""
    gives = {"schema": of_schema(endpoint.gives)} if endpoint.gives else {}
    media = "application/json" if endpoint.gives else "text/plain"
    said = {"description": "The answer.", "content": {media: gives}}
    takes = (400, 413, 415) if endpoint.takes else ()
    common = () if endpoint.path == "/health" else (401,)
    error = {"application/json": {"schema": of_schema("Error")}}
    found: dict[str, Any] = {"responses": {str(endpoint.status): said}}
    for status in sorted({*common, *takes, *endpoint.refuses, 429}):
        found["responses"][str(status)] = {"description": STATUSES[status], "content": error}
    if endpoint.takes:
        content = {"application/json": {"schema": of_schema(endpoint.takes)}}
        found["requestBody"] = {"required": True, "content": content}
    if "{id}" in endpoint.path:
        place = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        found["parameters"] = [place]
    return found


def _documented(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return what makes the OpenAPI document: FastAPI's, with the schemas."""
    plain = app.openapi

    def document() -> dict[str, Any]:
        found = plain()
        found["components"] = {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        }
        return found

    return document


def _page_route(path: str) -> Callable[[], Any]:
    async def route() -> Response:
        return _response(page(path))

    return route


async def _refuse(request: Request, error: Any) -> Response:
    """Say in one sentence that there is nothing here, or not by this method."""
    words = _WORDS.get(error.status_code, "the request must be one that /docs lists, got another.")
    path = request.url.path[:60]
    said = words.format(path=path, method=request.method[:10])
    return _response(RefusalError(error.status_code, said, headers=error.headers).answer())


def _response(answer: Answer) -> Response:
    headers = {**answer.headers, "content-type": answer.media}
    return Response(answer.body, answer.status, headers)


def _lifespan(desk: Desk) -> Callable[[FastAPI], Any]:
    """Return what runs beside the service: old cases go, and all that waits is written."""

    @asynccontextmanager
    async def beside(_app: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(desk))
        try:
            yield
        finally:
            tidying.cancel()
            with suppress(asyncio.CancelledError):
                await tidying
            await desk.store.close()

    return beside


async def _tidy(desk: Desk) -> None:
    """Delete old cases, every hour."""
    while True:
        with suppress(FileError):  # the disk may be full; the next hour tries again
            await desk.expire()
        await asyncio.sleep(_HOUR)
