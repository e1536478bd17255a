"""Designs scored on held-out rows, ranked, and kept on disk."""
