"""Data sets by name: the paper's, medical ones with real costs, and others to compare on."""

from emsco.lab.datasets.dataset import Dataset
from emsco.lab.datasets.loading import NAMES, breast_cancer_costs, load, paper_split

__all__ = ["NAMES", "Dataset", "breast_cancer_costs", "load", "paper_split"]
