"""Data sets of the paper, and one that comes with scikit-learn, by name."""

from emsco.datasets.loading import NAMES, Dataset, breast_cancer_costs, load, paper_split

__all__ = ["NAMES", "Dataset", "breast_cancer_costs", "load", "paper_split"]
