"""Compiled inner loops, in Python that Cython compiles ahead of time: setup.py says how.

Import a kernel as any function: `from emsco._kernels.judgement import answer_rows`. Arguments are
contiguous arrays of the types in `arrays.pxd`. Uncompiled, a kernel is its own slow twin, which
tests run (tests/support/plain.py). Kernels that gain from a later x86 are there once more, in a
folder by its name, to be found first where the machine is one. `EMSCO_CPU`, which is base, avx2 or
avx512, is the last level that is used.
"""

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_features__ as cpu_has

_HERE = Path(__file__).parent

if not any((_HERE / f"_memory{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
    raise ImportError(
        "emsco's kernels must be compiled before emsco is imported, and are not: in the folder of "
        "its sources, run: python -m pip install -e ."
    )

if cpu_has.get("SSE2") and not (cpu_has.get("SSE42") and cpu_has.get("POPCNT")):
    raise ImportError("emsco needs an x86 with SSE4.2 and POPCNT, as made from 2009 on.")

_last = ("base", "avx2", "avx512").index(os.environ.get("EMSCO_CPU", "avx512"))
if _last > 0 and cpu_has.get("AVX2"):
    __path__.insert(0, str(_HERE / "avx2"))
if _last > 1 and cpu_has.get("AVX512_ICL"):  # which has all that setup.py names, and more
    __path__.insert(0, str(_HERE / "avx512"))
