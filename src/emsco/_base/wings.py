"""Doors from the core to the wings, which it must not import: each opens when it is first used.

So `import emsco` needs neither a web page nor ONNX. This table is the whole list of what the core
asks a wing for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

DOORS = {
    "explorer": "emsco.app.explorer",  # front.to_html: asked in emsco.front
    "onnx": "emsco.app.onnx",  # cascade.to_onnx: asked in emsco.cascade
}


def open_wing(door: str) -> Any:
    """Return the module behind a door."""
    return import_module(DOORS[door])
