"""Warn once, not once for every fit of a grid search."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from types import FrameType

_FITS_MANY = ("joblib", "sklearn")  # packages that fit clones again and again
_NUMBER = re.compile(r"(?<!['\w])\d[\d.,]*")  # but not in a name, nor in quotes


def warn_once(said: Iterable[Warning], stacklevel: int = 1) -> None:
    """Warn as `warnings.warn` does, but of the same thing only once in a grid search.

    Python forgets what it has said whenever its filters change, which they do in every fit of a
    scikit-learn grid. So the module that started the grid remembers, where Python does: in
    ``__warningregistry__``. Numbers do not count, since they differ from fold to fold. Filters such
    as "always" and "error" work as ever.

    Parameters
    ----------
    said : iterable of Warning
        All that one step has to say. They may differ in numbers alone.
    stacklevel : int
        As for `warnings.warn`, from where this is called.
    """
    fresh = list(said)
    grid = _line_of_grid()
    if grid is not None:
        registry = grid.f_globals.setdefault("__warningregistry__", {})
        keys = [(type(one), _NUMBER.sub("#", str(one)), grid.f_lineno, "grid") for one in fresh]
        fresh = [
            one
            for one, key in zip(fresh, keys, strict=True)
            if key not in registry or _action(one) != "default"
        ]
        registry.update(dict.fromkeys(keys, True))
    for one in fresh:
        warnings.warn(one, stacklevel=stacklevel + 1)


def _line_of_grid() -> FrameType | None:
    """Return the frame that called scikit-learn, if it called this fit; else None."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and _package(frame) == "emsco":
        frame = frame.f_back
    if frame is None or _package(frame) not in _FITS_MANY:
        return None
    while frame.f_back is not None and _package(frame) in _FITS_MANY:
        frame = frame.f_back
    return frame


def _package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def _action(warning: Warning) -> str:
    """Return what the filters say about a warning; those for some modules or lines do not count."""
    for action, message, category, module, line in warnings.filters:
        if module is not None or line or not isinstance(warning, category):
            continue
        if message is None or re.match(message, str(warning)):
            return action
    return "default"
