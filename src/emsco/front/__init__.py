"""Pareto fronts: the result of a search, and the rules that choose one design from it."""

from emsco.front.certificate import Certificate, CertificatePlan
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.rules import check_preference

__all__ = ["Certificate", "CertificatePlan", "ParetoFront", "ParetoPoint", "check_preference"]
