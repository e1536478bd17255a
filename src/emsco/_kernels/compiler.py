"""How kernels are compiled: `kernel` for what Python calls, `helper` for what kernels call.

Both only take note of a function. Numba is imported, and the function compiled or read from
Numba's cache on disk, when a kernel is first called; `import emsco` waits for neither. To a type
checker a kernel is the function that it decorates.

Wrappers that nobody calls are left out: they took a fifth of the time to compile. For the same
reason kernels are handed their scratch arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
_FROM_PYTHON = {"cache": True, "nogil": True}
_FROM_KERNELS = {"no_cpython_wrapper": True}

_lock = Lock()


class Kernel(Generic[P, R]):
    """A function that Numba compiles when it is first called.

    Parameters
    ----------
    function : callable
    options : dict
        What `numba.njit` is to be told.
    """

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._compiled: Callable[P, R] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        return (self._compiled or self.compiled)(*args, **kwargs)

    @property
    def compiled(self) -> Callable[P, R]:
        """Numba's own function, for callers to whom one more Python call matters."""
        prepare_numba()
        from numba import njit

        with _lock:  # threads that are first together share one
            if self._compiled is None:
                compiled = njit(**self._options)(self._function)
                _forget_constants(compiled)
                self._compiled = compiled
            return self._compiled


def kernel(**options: Any) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorate a function that Python calls; it releases the GIL, and is cached on disk."""
    return lambda function: Kernel(function, {**_OPTIONS, **_FROM_PYTHON, **options})


def helper(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that kernels call, and Python cannot."""
    return lambda function: Kernel(function, {**_OPTIONS, **_FROM_KERNELS, **options})


def _forget_constants(compiled: Any) -> None:
    """Compile a function for integers, not once more for each constant that a kernel hands it."""
    from numba.types import unliteral

    for_types = compiled.get_call_template

    def for_types_alone(args: Any, kws: dict[str, Any]) -> Any:
        named = {name: unliteral(kind) for name, kind in kws.items()}
        return for_types([unliteral(kind) for kind in args], named)

    compiled.get_call_template = for_types_alone


@cache
def prepare_numba() -> None:
    """Teach Numba the bit tricks, and to see compiled functions where kernels call kernels."""
    from numba import typeof
    from numba.extending import typeof_impl

    from emsco._kernels import intrinsics

    intrinsics.register()
    typeof_impl.register(Kernel)(lambda called, _context: typeof(called.compiled))
