"""Costs of acquiring features, alone or in groups, with fees, given in Python or in a file."""

from emsco.costs.features import CostsLike, FeatureCosts
from emsco.costs.fees import CostUnits, Fee, Fees, fees_paid
from emsco.costs.prices import RowPrice, is_row_price

__all__ = [
    "CostUnits",
    "CostsLike",
    "FeatureCosts",
    "Fee",
    "Fees",
    "RowPrice",
    "fees_paid",
    "is_row_price",
]
