"""Boosted trees: one model for every subset of the features, or one for each."""
