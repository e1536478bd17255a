"""Shared ground of all packages: types, arrays, checks, text, documents, progress."""
