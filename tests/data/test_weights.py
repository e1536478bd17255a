"""Sample weights."""

import re

import numpy as np
import pytest

from emsco import EMSCOClassifier
from emsco.data.weights import check_weights
from emsco.errors import DataError


@pytest.mark.parametrize("size", [1e40, 2e15, 1e-101])
def test_weights_that_sums_cannot_hold_are_refused(size):
    words = f"sample_weight must have its largest from 1e-100 to 1e+15, got {size:g} in row 1; "
    with pytest.raises(DataError, match=f"^{re.escape(words)}"):
        check_weights([0.0, size, size / 2], 3)


@pytest.mark.parametrize("size", [1e15, 1.0, 1e-100])
def test_weights_of_any_sensible_size_pass(size):
    given = [size, 0.0, size * 1e-200]
    assert check_weights(given, 3).tolist() == given


def test_a_fit_refuses_weights_of_1e40():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(DataError, match=r"^sample_weight must have its largest"):
        EMSCOClassifier(estimator="logistic").fit(X, X[:, 0] > 0, np.full(60, 1e40))
