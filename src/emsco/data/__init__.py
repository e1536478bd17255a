"""Rows, labels, weights and files on their way in, and frames on their way out."""
