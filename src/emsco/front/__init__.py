"""Pareto fronts: the result of a search, and the rules that choose one design from it."""

from emsco.front.front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.preferences import check_preference

__all__ = ["ParetoFront", "ParetoPoint", "check_preference"]
