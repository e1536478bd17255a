"""Compiled inner loops: the only package that imports Numba, when a kernel is first called.

Import a kernel as any function: `from emsco._kernels.judgement import judge_rows`. Each has a plain
NumPy twin in the tests. Numba's cache on disk watches the file of a kernel alone, so what a kernel
calls stands beside it; after a change of `bits.py`, `intrinsics.py` or `compiler.py`, delete the
`__pycache__` folder here.
"""
