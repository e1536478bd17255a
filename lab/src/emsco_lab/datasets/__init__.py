"""Data sets by name: the paper's, medical ones with real costs, and others to compare on."""

from emsco_lab.datasets.catalogue import NAMES, load, paper_split
from emsco_lab.datasets.dataset import Dataset, threshold_of

__all__ = ["NAMES", "Dataset", "load", "paper_split", "threshold_of"]
