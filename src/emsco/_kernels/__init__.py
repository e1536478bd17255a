"""Compiled inner loops; the only package that imports Numba.

Get its modules through `load`, never by an import at the top of a module: `import emsco` must not
wait for a compiler. Each kernel has a plain NumPy twin in the tests. Numba's cache on disk watches
the file of a kernel alone, so what a kernel calls stands beside it; after a change of `bits.py`,
delete the `__pycache__` folder here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["load"]


@cache
def load(name: str) -> Any:
    """The module of kernels called "fitting", "stepping", "deciding", "breeding" and so on."""
    return import_module(f"emsco._kernels.{name}")
