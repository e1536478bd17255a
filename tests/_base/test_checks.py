"""Checks of parameters: valid values, and the words for invalid ones."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from emsco._base.checks import check_choice, check_number, check_whole, is_number, memory_bytes
from emsco.errors import EMSCOError, ParameterError


@pytest.mark.parametrize(
    "value", [0, 1.5, np.int64(3), np.float32(0.5), Fraction(1, 3), math.nan, math.inf]
)
def test_real_numbers_are_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize("value", [True, np.False_, "1", None, 1j, [1], Decimal(1), np.array([1])])
def test_truth_values_text_and_containers_are_not_numbers(value):
    assert not is_number(value)


# Choices


def test_a_choice_is_handed_back():
    assert check_choice("deploy", "fittest", ("balanced", "fittest")) == "fittest"


def test_a_choice_that_is_mistyped_is_told_what_it_may_mean():
    for value in ("Fittest", "fitest"):
        words = rf"got '{value}'; did you mean 'fittest'\?$"
        with pytest.raises(ParameterError, match=words):
            check_choice("deploy", value, ("balanced", "fittest"))


@pytest.mark.parametrize("value", ["knee", "", None, 1, ["fittest"], ("fittest",)])
def test_a_value_outside_the_choices_is_refused(value):
    with pytest.raises(
        ParameterError, match=r'^deploy must be one of "balanced", "fittest", got .+\.$'
    ):
        check_choice("deploy", value, ("balanced", "fittest"))


# Whole numbers


@pytest.mark.parametrize("value", [1, 4, np.int16(2), np.uint64(3)])
def test_a_whole_number_within_its_bounds_becomes_an_int(value):
    checked = check_whole("max_stages", value, 1, 4)
    assert type(checked) is int
    assert checked == value


@pytest.mark.parametrize("value", [0, 5, -1, 2.0, "2", None, True, np.True_, math.nan, 10**400])
def test_other_values_than_whole_numbers_within_bounds_are_refused(value):
    with pytest.raises(
        ParameterError, match=r"^max_stages must be a whole number from 1 to 4, got .+\.$"
    ):
        check_whole("max_stages", value, 1, 4)


def test_a_whole_number_may_have_no_upper_bound():
    assert check_whole("growth", 10**30, 0) == 10**30
    with pytest.raises(
        ParameterError, match=r"^growth must be a whole number from 0 up, got -1\.$"
    ):
        check_whole("growth", -1, 0)


# Numbers in intervals


@pytest.mark.parametrize(
    ("ends", "inside", "outside"),
    [("[]", [0, 0.5, 1], []), ("(]", [0.5, 1], [0]), ("[)", [0, 0.5], [1]), ("()", [0.5], [0, 1])],
)
def test_the_ends_of_an_interval_belong_to_it_as_written(ends, inside, outside):
    for value in inside:
        assert check_number("rate", value, 0, 1, ends) == value
    for value in outside:
        with pytest.raises(ParameterError, match=f"got {value}"):
            check_number("rate", value, 0, 1, ends)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True, 1j, [0.5]])
def test_other_values_than_numbers_in_the_interval_are_refused(value):
    with pytest.raises(ParameterError, match=r"^rate must be a number in \(0, 1\], got .+\.$"):
        check_number("rate", value, 0, 1, "(]")


@pytest.mark.parametrize(
    ("value", "ends", "end"),
    [
        (90, "[]", "got 90; did you mean 0.9?"),
        (97.5, "()", "got 97.5; did you mean 0.975?"),
        (100, "(]", "got 100; did you mean 1?"),
        (100, "()", "got 100."),
        (50, "[]", "got 50."),
        (2, "[]", "got 2."),
        (101, "[]", "got 101."),
    ],
)
def test_a_share_that_is_given_in_per_cent_is_recognised(value, ends, end):
    with pytest.raises(ParameterError, match=re.escape(end) + "$"):
        check_number("rate", value, 0.5, 1, ends)


def test_a_note_follows_the_interval():
    with pytest.raises(
        ParameterError, match=r"^rate must be a number in \[0\.5, inf\] of all rows, got 0\.$"
    ):
        check_number("rate", 0, 0.5, math.inf, note=" of all rows")


@pytest.mark.parametrize("value", [1, np.float32(0.5), Fraction(1, 4)])
def test_a_checked_number_becomes_a_float(value):
    checked = check_number("rate", value, 0, 1)
    assert type(checked) is float
    assert checked == value


def test_a_whole_number_too_large_for_a_float_is_refused_in_the_same_words():
    with pytest.raises(ParameterError, match=r"^rate must be a number in \[0, 1\], got 1000"):
        check_number("rate", 10**400, 0, 1)


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


BAD_TEXT = ["-1GB", "", "GB", "1 IB", "10 M", "1.2.3 GB", ".", "many", "nan", "1 GB more", "1e-3"]
BAD_TEXT += ["1e400", "9" * 400 + "GiB"]  # beyond the largest float


@pytest.mark.parametrize(
    "value",
    [0, 0.5, -1, math.inf, None, True, np.True_, b"1GB", [1], *BAD_TEXT],
)
def test_other_values_than_amounts_of_memory_are_refused(value):
    words = (
        r"^memory_limit must be a number of bytes above 0, with or without a unit such as "
        r'"512MiB", got .+\.$'
    )
    with pytest.raises(ParameterError, match=words):
        memory_bytes("memory_limit", value)


def test_a_parameter_error_can_be_caught_as_either_kind():
    with pytest.raises(EMSCOError, match="growth must be"):
        check_whole("growth", None, 0)
    with pytest.raises(ValueError, match="growth must be"):
        check_whole("growth", None, 0)
