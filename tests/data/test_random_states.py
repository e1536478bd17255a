"""Random states."""

import numpy as np
import pytest
from emsco_lab.rivals import CostOrdered

from emsco import EMSCOClassifier
from emsco.data.random_states import draw_seed
from emsco.errors import ParameterError


@pytest.mark.parametrize("bad", [2**32, -1, 1.5, "a", np.random.default_rng(0)])
def test_what_cannot_seed_a_fit_is_refused_in_one_sentence(bad):
    rule = r"^random_state must be a whole number from 0 to 4294967295, a RandomState or None, got "
    with pytest.raises(ParameterError, match=rule):
        draw_seed(bad)


def test_the_largest_seed_and_random_states_draw():
    assert draw_seed(2**32 - 1) == draw_seed(np.uint64(2**32 - 1))
    assert draw_seed(np.random.RandomState(3)) == draw_seed(3)


@pytest.mark.parametrize("kind", [EMSCOClassifier, CostOrdered])
def test_classifiers_refuse_a_seed_of_more_than_32_bits(kind):
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ParameterError, match=r"^random_state must be .*, got 4294967296\.$"):
        kind(random_state=2**32).fit(X, X[:, 0] > 20)
