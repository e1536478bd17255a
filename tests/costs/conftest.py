"""Fixtures that several tests of costs use."""

from __future__ import annotations

import pytest


@pytest.fixture
def costs_file(tmp_path):
    """Return a function that writes a costs file and returns its path."""

    def write(content, name="costs.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
