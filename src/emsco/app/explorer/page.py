"""Assemble the page: markup, style, scripts, the drawing library and the data, in one file.

The library is Vega, from vl-convert: `pip install 'emsco[explore]'`.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import Any

from emsco.app.explorer.contents import front_contents
from emsco.errors import not_installed
from emsco.front import ParetoFront

_SCRIPTS = (
    "words.js",
    "certificate.js",
    "limits.js",
    "references.js",
    "expected.js",
    "totals.js",
    "scatter.js",
    "cascade.js",
    "classes.js",
    "table.js",
    "page.js",
)
_SPECS = ("scatter", "spending")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def front_page(front: ParetoFront, **about: Any) -> str:
    """Return the page of a front as HTML; `about` are the parameters of `front_contents`."""
    return page_of(front_contents(front, **about))


def page_of(contents: dict[str, Any]) -> str:
    """Return the page with these contents as HTML."""
    theme, library, script, style = _text("theme.js"), _library(), _script(), _text("page.css")
    specs = {name: json.loads(_text(f"{name}.json")) for name in _SPECS}
    parts = {
        "policy": _policy(theme, library, script, style=style),
        "title": _markup(contents["title"]),
        "theme": theme,
        "style": style,
        "data": _data({**contents, "specs": specs}),
        "library": library,
        "script": script,
    }
    # One pass fills all places, so that text inside one part cannot name the place of another.
    return _PLACE.sub(lambda place: parts[place[1]], _text("page.html"))


def check_vega() -> None:
    """Raise an error that says how to install vl-convert, if it is missing."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise not_installed("vl-convert", "'emsco[explore]'") from None


@cache
def _library() -> str:
    """Return Vega as one script; vl-convert needs about two seconds to build it."""
    check_vega()
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return _closed(bundle)


@cache
def _script() -> str:
    return _closed("\n".join(_text(name) for name in _SCRIPTS))


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _closed(script: str) -> str:
    """Escape a script so that it cannot close its own element; JavaScript reads it unchanged."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _data(values: dict[str, Any]) -> str:
    """Return JSON that an HTML parser never takes for markup, whatever names features have."""
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _markup(text: str) -> str:
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def _policy(*scripts: str, style: str) -> str:
    """Return the content policy: the browser may run these scripts and load nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            # Vega compiles its expressions, which needs 'unsafe-eval'.
            f"script-src {' '.join(map(_digest, scripts))} 'unsafe-eval'",
            f"style-src {_digest(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
