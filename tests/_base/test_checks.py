"""Checks of parameters: valid values, and the words for invalid ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from emsco._base.checks import check_number, check_whole, memory_bytes
from emsco.errors import ParameterError

# Whole numbers


@pytest.mark.parametrize("value", [1, 4, np.int16(2), np.uint64(3)])
def test_a_whole_number_within_its_bounds_becomes_an_int(value):
    checked = check_whole("max_stages", value, 1, 4)
    assert type(checked) is int
    assert checked == value


# Numbers in intervals


@pytest.mark.parametrize(
    ("ends", "inside", "outside"),
    [("[]", [0, 0.5, 1], []), ("(]", [0.5, 1], [0]), ("[)", [0, 0.5], [1]), ("()", [0.5], [0, 1])],
)
def test_the_ends_of_an_interval_belong_to_it_as_written(ends, inside, outside):
    for value in inside:
        assert check_number("rate", value, 0, 1, ends) == value
    for value in outside:
        with pytest.raises(ParameterError):
            check_number("rate", value, 0, 1, ends)


@pytest.mark.parametrize("value", [1, np.float32(0.5), Fraction(1, 4)])
def test_a_checked_number_becomes_a_float(value):
    checked = check_number("rate", value, 0, 1)
    assert type(checked) is float
    assert checked == value


# Memory


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1, 1),
        (2e9, 2 * 10**9),
        (np.int64(4096), 4096),
        ("4096", 4096),
        ("7B", 7),
        ("3 KB", 3000),
        ("2 GB", 2 * 10**9),
        ("512MiB", 512 * 2**20),
        ("512mib", 512 * 2**20),
        (" 1.5 KiB ", 1536),
        ("0.5TB", 5 * 10**11),
        ("1GiB", 2**30),
        ("2TiB", 2**41),
        ("3MB", 3 * 10**6),
        ("1e3 kb", 10**6),
    ],
)
def test_memory_is_read_with_and_without_a_unit(value, size):
    assert memory_bytes("memory_limit", value) == size


@pytest.mark.parametrize(
    "value", [1e16, np.float64(1e16), np.float32(1e9), "1e+9"], ids=["float", "64", "32", "text"]
)
def test_memory_may_be_a_number_that_prints_with_an_exponent(value):
    assert memory_bytes("memory_limit", value) == float(value)
