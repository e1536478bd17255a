"""Settings of a fit that tests share."""

from __future__ import annotations

from types import MappingProxyType

from emsco.fitting import FitSettings

# Logistic stages, scored on a third of the rows: the quickest fit. For tests of anything else.
PLAIN = MappingProxyType({"estimator": "logistic", "cv": 1 / 3, "refit": "first"})

# The same with one threshold for all stages. For tests that read designs off a front or count them.
ONE_THRESHOLD = MappingProxyType({**PLAIN, "min_confidence": 0.75})

# The paper's space of designs: one threshold, up to half as many stages as features, and every
# feature is bought in the end. For tests that count designs or read figures off them by hand.
PAPER_SPACE = MappingProxyType(
    {
        **ONE_THRESHOLD,
        "max_stages": None,
        "prefer": "balanced",
        "allow_exclusion": False,
    }
)


def change_settings(patch, change):
    """Every fit has the settings that `change` makes of its own."""
    check = FitSettings.from_parameters
    patch.setattr(FitSettings, "from_parameters", lambda *given: change(check(*given)))
