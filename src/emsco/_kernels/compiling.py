"""How kernels are compiled: `kernel` for what Python calls, `helper` for what kernels call.

Wrappers that nobody calls are left out: they took a fifth of the time to compile. For the same
reason kernels are handed their scratch arrays.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

__all__ = ["helper", "kernel"]

kernel: Callable[..., Any] = partial(
    njit, cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True
)
helper: Callable[..., Any] = partial(
    njit, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True
)
