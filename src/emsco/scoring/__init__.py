"""Scores of designs, their ranking, and the journal that keeps them on disk."""
