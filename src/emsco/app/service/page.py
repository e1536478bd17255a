"""The pages of the service: one to play a case by hand, one with the documentation."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from emsco.app.service.messages import Answer

_HTML, _CSS, _JS = (f"text/{kind}; charset=utf-8" for kind in ("html", "css", "javascript"))
PAGES = {
    "/": ("play.html", _HTML),
    "/docs": ("docs.html", _HTML),
    "/service.css": ("service.css", _CSS),
    "/play.js": ("play.js", _JS),
    "/docs.js": ("docs.js", _JS),
}


@cache
def page(path: str) -> Answer:
    """Return a page, its style or its script."""
    name, media = PAGES[path]
    content = files(__package__).joinpath("static", name).read_bytes()
    return Answer(content, media=media)
