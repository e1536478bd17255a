"""Proofs of emsco: rivals, data sets with costs, comparisons, and the results of the paper."""
