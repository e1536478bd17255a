"""Kernels as plain Python: their own slow twins, but for what C's types do.

Uncompiled, a local single is a double, whole numbers have no end, `/` and `//` are Python's, and
-1 is the last place. Tests choose inputs on which this makes no difference.
"""

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import cython  # noqa: F401 - makes `cython.cimports`, which this file adds to

import emsco._kernels

ROOM = Path(emsco._kernels.__file__).parent
CIMPORTS = "cython.cimports.emsco._kernels"


class _Types(ModuleType):
    """Any name is a type, which plain Python does not look at."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return object


BITS = {
    "power_of_two": lambda power: 2.0**power,
    "popcount": lambda word: int(word).bit_count(),
    "lowest_bit": lambda word: (int(word) & -int(word)).bit_length() - 1 if word else 32,
}


@cache
def plain(name: str) -> ModuleType:
    """The kernels of a file, uncompiled."""
    for package in ("cython.cimports.emsco", CIMPORTS):
        sys.modules.setdefault(package, ModuleType(package))
    sys.modules.setdefault(f"{CIMPORTS}.arrays", _Types("arrays"))
    bits = sys.modules.setdefault(f"{CIMPORTS}.bits", ModuleType("bits"))
    vars(bits).update(BITS)
    for other in ROOM.glob("*.pxd"):  # kernels that lend functions to others
        if other.stem not in {"arrays", "bits", name}:
            sys.modules.setdefault(f"{CIMPORTS}.{other.stem}", plain(other.stem))
    spec = spec_from_file_location(f"plain_{name}", ROOM / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
