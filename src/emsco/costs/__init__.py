"""What it costs to acquire each feature, alone or in groups; and files of costs."""

from emsco.costs.features import CostsLike, CostUnits, FeatureCosts

__all__ = ["CostUnits", "CostsLike", "FeatureCosts"]
