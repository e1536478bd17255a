"""Designs: ordered partitions of the features into stages, their space and their constraints."""

from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.design import Design
from emsco.designs.space import DesignSpace, default_max_stages

__all__ = [
    "Blocks",
    "Constraints",
    "Design",
    "DesignSpace",
    "default_max_stages",
]
