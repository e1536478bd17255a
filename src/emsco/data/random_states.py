"""Random states: checks of what seeds a fit."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from emsco._base.checks import LARGEST_SEED
from emsco.errors import ParameterError


def random_of(random_state: Any) -> np.random.RandomState:
    """Return the generator that a `random_state` stands for: a seed, a RandomState or None."""
    if not isinstance(random_state, Integral) or 0 <= int(random_state) <= LARGEST_SEED:
        with suppress(ValueError):
            generator: np.random.RandomState = check_random_state(random_state)
            return generator
    raise ParameterError(
        f"random_state must be a whole number from 0 to {LARGEST_SEED}, a RandomState or None, got "
        f"{random_state!r}."
    )


def draw_seed(random_state: Any) -> int:
    """Draw the one number that a fit takes from its `random_state`."""
    return int(random_of(random_state).randint(2**31 - 1))
