"""Costs of acquiring features, alone or in groups, with fees, given in Python or in a file.

`emsco.costs.paid` says what a row has paid.
"""

from emsco.costs.features import CostsLike, FeatureCosts, Fee, fees_paid
from emsco.costs.paid import CostUnits
from emsco.costs.prices import GivenPrices
from emsco.costs.stage_prices import StagePrices

__all__ = [
    "CostUnits",
    "CostsLike",
    "FeatureCosts",
    "Fee",
    "GivenPrices",
    "StagePrices",
    "fees_paid",
]
