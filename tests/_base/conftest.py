"""Fixtures that several tests of files use."""

from __future__ import annotations

import pytest


@pytest.fixture
def without_fsync(monkeypatch):
    """Do not wait for the disk: these tests do not pull the plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)
