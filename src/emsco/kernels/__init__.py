"""Compiled inner loops; the only package that imports Numba.

Import its modules inside functions, never at the top of a module: `import emsco` must not wait
for a compiler. Each kernel has a plain NumPy twin in the tests. Numba's cache on disk watches the
file of a kernel alone, so what a kernel calls stands beside it.
"""
