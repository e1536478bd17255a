"""Rows, labels, weights and files on their way in; data frames on their way out."""
