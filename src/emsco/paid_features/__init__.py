"""Models and services as features: ask the expensive ones only where the cheap ones are unsure."""

from emsco.paid_features.answers import Answer, Price
from emsco.paid_features.collection import Bill, Collected, Estimate, PaidFeatures, Use
from emsco.paid_features.features import PaidFeature
from emsco.paid_features.models import ModelCascade, cascade_of

__all__ = [
    "Answer",
    "Bill",
    "Collected",
    "Estimate",
    "ModelCascade",
    "PaidFeature",
    "PaidFeatures",
    "Price",
    "Use",
    "cascade_of",
]
