"""Doors from the core to the wings, which it must not import: each opens when it is first asked.

The core knows a wing by the name of a door and by what it calls behind it. So `import emsco` needs
neither a GPU, nor a cluster, nor a web page.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

DOORS = {
    "cuda": "emsco.scale.cuda.engine",
    "dask": "emsco.scale.dask",
    "explorer": "emsco.app.explorer",
}


def open_wing(door: str) -> Any:
    """Return the module behind a door."""
    return import_module(DOORS[door])
