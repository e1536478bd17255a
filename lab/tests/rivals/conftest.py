import numpy as np
import pandas as pd
import pytest

NAMES = ["age", "pulse", "scan", "blood", "gait", "noise"]


@pytest.fixture(scope="session")
def table():
    """120 rows of two noisy classes, as (X, y)."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, size=120)
    X = rng.normal(size=(120, 6)) + y[:, None] * np.array([0.3, 0.1, 1.2, 0.8, 0.5, 0.0])
    return pd.DataFrame(X, columns=NAMES), y
