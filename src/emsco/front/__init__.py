"""What a search returns: the designs worth choosing from."""

from emsco.front.front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.preferences import check_preference

__all__ = ["ParetoFront", "ParetoPoint", "check_preference"]
