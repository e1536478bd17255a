"""Costs of acquiring features, alone or in groups, given in Python or in a file."""

from emsco.costs.features import CostsLike, CostUnits, FeatureCosts

__all__ = ["CostUnits", "CostsLike", "FeatureCosts"]
