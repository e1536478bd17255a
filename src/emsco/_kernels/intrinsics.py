"""Compiled code for the functions of `bits`: one instruction each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from emsco._kernels.bits import double_from_bits, lowest_bit, popcount, single_from_bits


def register() -> None:
    """Make the functions known to Numba; each takes and gives one type, and casts to it."""
    _lower(
        double_from_bits,
        types.float64(types.int64),
        lambda builder, bits: builder.bitcast(bits, ir.DoubleType()),
    )
    _lower(
        single_from_bits,
        types.float32(types.int32),
        lambda builder, bits: builder.bitcast(bits, ir.FloatType()),
    )
    _lower(popcount, types.uint64(types.uint64), lambda builder, word: builder.ctpop(word))
    zero_is_fine = ir.Constant(ir.IntType(1), 0)
    _lower(
        lowest_bit,
        types.uint32(types.uint32),
        lambda builder, word: builder.cttz(word, zero_is_fine),
    )


def _lower(function: Callable[..., Any], signature: Any, emit: Callable[[Any, Any], Any]) -> None:
    type_callable(function)(lambda _context: lambda _argument: signature)
    lower_builtin(function, *signature.args)(
        lambda _context, builder, _signature, args: emit(builder, args[0])
    )
