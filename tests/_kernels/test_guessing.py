"""Guesses of margins, compared with a loop over squares of neighbours."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from emsco._kernels.judgement import guess_margins

N_FEATURES, N_ROWS = 4, 7


def random_case(seed, share):
    """Margins of some of all subsets, and their lines; -1 marks a subset without."""
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(rng.random(2**N_FEATURES) < share)
    place = np.full(2**N_FEATURES, -1)
    place[known] = rng.permutation(len(known))
    return rng.normal(size=(len(known), N_ROWS)).astype(np.float32), place


def squares_of(subset, place):
    """Lines of two neighbours and of the one opposite, in the order of the kernel."""
    pairs = sorted(combinations(range(N_FEATURES), 2), key=lambda pair: pair[::-1])
    for j, i in pairs:
        corners = subset ^ 1 << i, subset ^ 1 << j, subset ^ 1 << i ^ 1 << j
        if all(place[corner] >= 0 for corner in corners):
            yield [place[corner] for corner in corners]


@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("most", [1, 2, 100])
@pytest.mark.parametrize("seed", range(2))
def test_a_guess_is_the_mean_over_squares_of_neighbours(seed, most, share):
    margins, place = random_case(seed, share)
    subsets = np.arange(1, 2**N_FEATURES)
    guessed = np.zeros((len(subsets), N_ROWS), dtype=np.float32)
    squares = np.zeros(len(subsets), dtype=np.int64)
    guess_margins(margins, place, subsets, N_FEATURES, most, guessed, squares)
    for k, subset in enumerate(subsets.tolist()):
        wanted = [
            margins[one] + margins[other] - margins[both]
            for one, other, both in list(squares_of(subset, place))[:most]
        ]
        assert squares[k] == len(wanted)
        mean = np.mean(wanted, axis=0) if wanted else np.zeros(N_ROWS)
        np.testing.assert_allclose(guessed[k], mean, rtol=1e-4, atol=1e-5)
    assert squares.any()
