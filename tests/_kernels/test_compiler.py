"""Kernels wait for their first call; compiled or not, a bit trick gives the same."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from emsco._kernels import bits, compiler
from emsco._kernels.compiler import Kernel, helper, kernel

WORDS = [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF]


@helper()
def doubled(x):
    return x + x


@kernel()
def quadrupled(x: float) -> float:
    """Four times as much."""
    total: float = doubled(doubled(x))
    return total


@kernel()
def octupled(x: float) -> float:
    return quadrupled(x) + quadrupled(x)


@kernel()
def counted(words, counts):
    for i in range(len(words)):
        counts[i] = bits.popcount(words[i])


@kernel()
def as_doubles(numbers, doubles):
    for i in range(len(numbers)):
        doubles[i] = bits.double_from_bits(numbers[i])


@kernel()
def as_singles(numbers, singles):
    for i in range(len(numbers)):
        singles[i] = bits.single_from_bits(numbers[i])


def test_a_kernel_calls_helpers_and_kernels():
    assert (quadrupled(1.5), octupled(1.5)) == (6.0, 12.0)


def test_threads_that_call_first_share_one_compiled_function():
    fresh: Kernel[[float], float] = kernel(cache=False)(lambda x: x + 1.0)
    compiled, barrier = [], threading.Barrier(8)

    def look():
        barrier.wait()
        compiled.append(fresh.compiled)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 8
    assert len({id(one) for one in compiled}) == 1
    assert fresh(1.0) == 2.0


def test_compiled_bit_counts_equal_the_plain_ones():
    words = np.array(WORDS, dtype=np.uint64)
    counts = np.zeros(len(words), dtype=np.int64)
    counted(words, counts)
    plain = [int(bits.popcount(word)) for word in words]
    assert counts.tolist() == plain == [word.bit_count() for word in WORDS]


@pytest.mark.parametrize(
    ("convert", "plain", "whole", "real"),
    [
        (as_doubles, bits.double_from_bits, np.int64, np.float64),
        (as_singles, bits.single_from_bits, np.int32, np.float32),
    ],
)
def test_compiled_numbers_of_bits_equal_the_plain_ones(convert, plain, whole, real):
    wanted = np.array([0.0, 1.0, -1.5, 1e-30, 3e30, np.inf], dtype=real)
    numbers = np.zeros_like(wanted)
    convert(wanted.view(whole), numbers)
    assert numbers.tolist() == wanted.tolist() == [plain(number) for number in wanted.view(whole)]


def test_kernels_are_imported_without_their_compiler():
    folder = Path(compiler.__file__).parent
    every = [file.stem for file in folder.glob("[!_]*.py") if file.stem != "intrinsics"]
    assert len(every) > 8
    code = f"""if True:
        import sys
        from importlib import import_module
        for name in {every}:
            import_module("emsco._kernels." + name)
        print({{"numba", "llvmlite"}} & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
