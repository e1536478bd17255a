"""Compiled inner loops, in Python that Cython compiles ahead of time: setup.py says how.

Import a kernel as any function: `from emsco._kernels.judgement import judge_rows`. Arguments are
contiguous arrays of the types in `arrays.pxd`. Uncompiled, a kernel is its own slow twin, which the
tests run (tests/_kernels/plain.py). Kernels that gain from a later x86 are there once more, in a
folder by its name, to be found first where the machine is one.
"""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_features__ as cpu_has

_HERE = Path(__file__).parent

if not any((_HERE / f"_memory{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
    raise ImportError(
        "emsco's kernels must be compiled before emsco is imported, and are not: in the folder of "
        "its sources, run: python -m pip install -e ."
    )

if cpu_has.get("AVX2") and cpu_has.get("FMA3"):
    __path__.insert(0, str(_HERE / "avx2"))
if cpu_has.get("AVX512_ICL"):
    __path__.insert(0, str(_HERE / "avx512"))
