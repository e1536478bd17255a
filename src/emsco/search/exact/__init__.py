"""Exact search: the whole front, proven."""
