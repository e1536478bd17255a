"""Exact search: it finds and proves the whole front."""
