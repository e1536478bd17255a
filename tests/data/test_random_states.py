"""Random states."""

import numpy as np

from emsco.data.random_states import draw_seed


def test_the_largest_seed_and_random_states_draw():
    assert draw_seed(2**32 - 1) == draw_seed(np.uint64(2**32 - 1))
    assert draw_seed(np.random.RandomState(3)) == draw_seed(3)
