"""Fixtures that several tests of plots use."""

import pytest
from support.handmade import (
    make_front,
    make_rows,
)

from emsco import Design, FeatureCosts
from emsco.plotting.flow import Flow

LONG = (
    "age",
    "left ventricular ejection fraction at rest",
    "creatinine_phosphokinase_in_micrograms_per_litre",
    "$price_of_all$",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
    "x" * 90,
)


@pytest.fixture(scope="module")
def front():
    X = make_rows(60)
    return make_front().with_seen(X, (X[:, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def flow():
    costs = FeatureCosts.from_array([1, 2, 4, 8, 16, 32], LONG)
    return Flow.from_design(Design([0, 1, 0, 1, 2, 2], LONG), costs, 100, [60, 30, 2], [57, 30, 1])
