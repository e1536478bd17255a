"""Pareto fronts: the result of a search, and the rules that choose one design from it."""

from emsco.front.certificate import Certificate
from emsco.front.front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.preferences import check_preference
from emsco.front.prospects import CertificatePlan

__all__ = ["Certificate", "CertificatePlan", "ParetoFront", "ParetoPoint", "check_preference"]
